package installplan

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// shelf is a Catalogs with one bundle, foo.v1, whose manifests fail with err.
type shelf struct{ err error }

func (s shelf) Visible(string) []catalog.Catalog {
	b := &catalog.Bundle{Name: "foo.v1", Package: "foo", Version: semver.MustParse("1.0.0")}
	stable := &catalog.Channel{Name: "stable", Entries: map[string]*catalog.Entry{b.Name: {Bundle: b}}}
	foo := &catalog.Package{Name: "foo", DefaultChannel: "stable", Channels: map[string]*catalog.Channel{"stable": stable}}
	return []catalog.Catalog{{
		Key: types.NamespacedName{Namespace: "olm", Name: "community"}, Healthy: true,
		Content: &catalog.Content{Packages: map[string]*catalog.Package{"foo": foo}},
	}}
}

func (s shelf) VisibleBy(*operatorsv1.OperatorGroup, string) []catalog.Catalog { return s.Visible("") }

func (s shelf) Manifests(context.Context, types.NamespacedName, *catalog.Bundle) (*store.Manifests, error) {
	return nil, s.err
}

// unreachable returns the error of a Store for a bundle whose catalog is not available yet; unreadable returns that for
// an invalid bundle.
func unreachable() error {
	_, err := store.NewStore("olm").Manifests(context.Background(), types.NamespacedName{Namespace: "olm", Name: "community"}, &catalog.Bundle{Name: "foo.v1"})
	return err
}

func unreadable() error {
	return catalog.Errorf(v1alpha1.ReasonNotACatalog, "it contains no file-based catalog: no olm.package")
}

func TestBundlesThatCannotBeHad(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   []string // phase, reason and message of the plan
		again  bool
	}{
		"Permanent": {
			reason: "Until the bundle changes, trying again is of no use.",
			err:    unreadable(),
			want: []string{"Planning", v1alpha1.ReasonNotACatalog,
				"Bundle foo.v1 of CatalogSource olm/community: it contains no file-based catalog: no olm.package"},
		},
		"Passing": {
			reason: "A temporary error is retried, and reported in the status until it is gone.",
			err:    unreachable(),
			want: []string{"Planning", v1alpha1.ReasonUnreachable,
				"Bundle foo.v1 of CatalogSource olm/community: bundle foo.v1: CatalogSource olm/community not found or not read yet"},
			again: true,
		},
		"OurOwn": {
			reason: "An error that is not about the bundle is only logged.",
			err:    errors.New("boom"),
			want:   []string{"", "", ""},
			again:  true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := plan()
			p.Spec = olm.InstallPlanSpec{
				CatalogSource: "community", CatalogSourceNamespace: "olm", Approval: olm.ApprovalAutomatic, Approved: true,
				ClusterServiceVersionNames: []string{"foo.v1"},
			}
			c := cluster(t, interceptor.Funcs{SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
				return nil
			}}, group())
			r := &Reconciler{Client: c, Reader: c, Catalogs: shelf{tc.err}, Records: &record.Store{Client: c, Live: c}, Trust: apply.Trust{GlobalNamespace: "olm"},
				Now: time.Now}
			r.readings = newReadings(r.Catalogs, r.Trust.Trusts, func(types.NamespacedName) {})
			_, err := r.advance(t.Context(), p)
			if (err != nil) != tc.again {
				t.Errorf("%s: the error is %v", tc.reason, err)
			}
			resolved := p.Status.GetCondition(olm.InstallPlanResolved)
			if got := resolved.Status == corev1.ConditionFalse; got != (tc.want[0] != "") {
				t.Errorf("Resolved is %s", resolved.Status)
			}
			if diff := cmp.Diff(tc.want, []string{string(p.Status.Phase), string(resolved.Reason), p.Status.Message}); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPresent verifies that a version whose installation has never begun is present with the one that runs in its place.
func TestPresent(t *testing.T) {
	running := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
	running.Status.Phase = olm.CSVPhaseReplacing
	running.Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: olm.CSVPhaseSucceeded}}
	written := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v2"}}
	written.Spec.Replaces, written.Status.Phase = running.Name, olm.CSVPhasePending
	got, err := present(t.Context(), nil, map[string]*v1alpha1.ClusterServiceVersion{running.Name: running, written.Name: written}, nil)
	if err != nil || len(got) != 1 || got[0].Name != "foo.v2" || got[0].Running == nil || got[0].Running.Name != "foo.v1" {
		t.Errorf("got %+v, %v", got, err)
	}
}
