package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func ref(name string, uid types.UID, created bool) Reference {
	return Reference{Version: "v1", Kind: "PriorityClass", Name: name, UID: uid, Created: created}
}

func TestRemember(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		known, next Reference
		want        []Reference
	}{
		"Another":  {"References to different objects are both kept.", ref("a", "1", true), ref("b", "2", false), []Reference{ref("a", "1", true), ref("b", "2", false)}},
		"Written":  {"The UID of a created object is added to its reference.", ref("a", "", true), ref("a", "1", false), []Reference{ref("a", "1", true)}},
		"Again":    {"An object stays recorded as created if it is written again.", ref("a", "1", true), ref("a", "1", false), []Reference{ref("a", "1", true)}},
		"Intent":   {"The UID stays recorded if the object is about to be written again.", ref("a", "1", false), ref("a", "", true), []Reference{ref("a", "1", false)}},
		"Replaced": {"An object with another UID is recorded as not created.", ref("a", "1", true), ref("a", "2", false), []Reference{ref("a", "2", false)}},
	} {
		t.Run(name, func(t *testing.T) {
			grant := Grant{OutsideNamespace: []Reference{tc.known}}
			grant.Remember(tc.next)
			if diff := cmp.Diff(tc.want, grant.OutsideNamespace); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInherit(t *testing.T) {
	grant := Grant{OutsideNamespace: []Reference{ref("same", "1", false), ref("recreated", "2", false), ref("adopted", "3", false), ref("new", "4", true)}}
	grant.Inherit(&Grant{OutsideNamespace: []Reference{ref("same", "1", true), ref("recreated", "0", true), ref("adopted", "3", false)}})
	want := []Reference{ref("same", "1", true), ref("recreated", "2", false), ref("adopted", "3", false), ref("new", "4", true)}
	if diff := cmp.Diff(want, grant.OutsideNamespace); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestKeepUnplanned verifies that the record of a CSV that was applied by hand never replaces the grant of an InstallPlan.
func TestKeepUnplanned(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	s := &Store{Client: c, Live: c, Namespace: "system"}
	csv := types.NamespacedName{Namespace: "default", Name: "foo.v1"}
	first, second := &Grant{OutsideNamespace: []Reference{ref("a", "", true)}}, &Grant{OutsideNamespace: []Reference{ref("a", "1", true)}}
	for _, kept := range []*Grant{first, second} {
		if err := s.KeepUnplanned(t.Context(), csv, kept); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Grant(t.Context(), csv); err != nil || !cmp.Equal(got, kept) {
			t.Errorf("the record is %+v, %v; want %+v", got, err, kept)
		}
	}
	planned := &Grant{Plan: "install-1"}
	if err := s.KeepGrant(t.Context(), csv, planned); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepUnplanned(t.Context(), csv, first); !apierrors.IsConflict(err) {
		t.Errorf("beside the grant of an InstallPlan it returns %v, want a conflict", err)
	}
	if got, err := s.Grant(t.Context(), csv); err != nil || !cmp.Equal(got, planned) {
		t.Errorf("the grant is %+v, %v; want %+v", got, err, planned)
	}
}
