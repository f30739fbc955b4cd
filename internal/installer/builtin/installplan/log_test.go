package installplan

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// TestDebugLog verifies that the log explains why a plan does not move.
func TestDebugLog(t *testing.T) {
	begun := running("foo.v2")
	begun.Annotations = map[string]string{v1alpha1.AnnotationInstallPlan: plan().Name}
	cases := map[string]struct {
		reason  string
		phase   olm.InstallPlanPhase
		there   []client.Object
		content *record.Content // stored for the plan
		level   int
		want    []string // the beginning of each line
	}{
		"Problem": {
			reason: "The problem and the delay are named.",
			there:  []client.Object{group()}, level: 1,
			want: []string{
				`"level"=1 "msg"="Next action" "action"="Resolve" "after"="Begin"`,
				`"level"=1 "msg"="Next action" "action"="Report" "after"="Resolve" "catalogUnread"=true "problem"="ConstraintsNotSatisfiable"`,
				`"level"=1 "msg"="Requeuing the InstallPlan" "action"="Report" "requeueAfter"="15m0s" "phase"="Planning" "catalogUnread"=true "problem"="ConstraintsNotSatisfiable"`,
			},
		},
		"Held": {
			reason: "The reason of the gate is named.",
			phase:  olm.InstallPlanPhaseInstalling, there: []client.Object{group(), running("foo.v1"), probing("foo.v1", "False", "Foo is busy")}, level: 1,
			content: &record.Content{Bundles: []record.Bundle{bundle("foo.v2", "foo.v1", csv("foo.v2"))}},
			want: []string{
				`"level"=1 "msg"="Next action" "action"="ReadStored" "after"="Begin" "phase"="Installing"`,
				`"level"=1 "msg"="Next action" "action"="EvaluateKept" "after"="ReadStored" "phase"="Installing" "storedContent"="Kept"`,
				`"level"=1 "msg"="Next action" "action"="Wait" "after"="EvaluateKept" "phase"="Installing" "storedContent"="Kept" "held"="ProbeNotUpgradeable"`,
			},
		},
		"Resumed": {
			reason: "The error is named that stops a plan that has begun.",
			phase:  olm.InstallPlanPhaseInstalling, there: []client.Object{begun}, level: 1,
			content: &record.Content{Bundles: []record.Bundle{bundle("foo.v2", "foo.v1", csv("foo.v2"))}},
			want: []string{
				`"level"=1 "msg"="Next action" "action"="ReadStored" "after"="Begin" "phase"="Installing"`,
				`"level"=1 "msg"="Next action" "action"="Resume" "after"="ReadStored" "phase"="Installing" "storedContent"="Kept" "begun"=true`,
				`"level"=1 "msg"="Next action" "action"="Retry" "after"="Resume" "phase"="Installing" "storedContent"="Kept" "begun"=true ` +
					`"error"="Namespace default has no OperatorGroup`,
			},
		},
		"Lost": {
			reason: "The state of the stored content is named.",
			phase:  olm.InstallPlanPhaseInstalling, there: []client.Object{group(), begun}, level: 1,
			want: []string{
				`"level"=1 "msg"="Next action" "action"="ReadStored" "after"="Begin" "phase"="Installing"`,
				`"level"=1 "msg"="Next action" "action"="Fail" "after"="ReadStored" "phase"="Installing" "storedContent"="Lost"`,
			},
		},
		"Off": {reason: "Nothing is logged by default.", there: []client.Object{group()}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := plan()
			p.UID, p.Status.Phase = "uid", tc.phase
			p.Spec = olm.InstallPlanSpec{
				CatalogSource: "community", CatalogSourceNamespace: "olm", Approval: olm.ApprovalAutomatic, Approved: true,
				ClusterServiceVersionNames: []string{"foo.v2"},
			}
			c := cluster(t, interceptor.Funcs{SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
				return nil
			}}, tc.there...)
			r := &Reconciler{
				Client: c, Reader: c, Catalogs: shelf{}, Records: &record.Store{Client: c, Live: c, Namespace: "system"}, OptIns: optIns(c),
				Trust: apply.Trust{GlobalNamespace: "olm"}, ProbeReader: func(context.Context) (string, error) { return "", nil }, Now: time.Now,
			}
			r.readings = newReadings(r.Catalogs, r.Trust.Trusts, func(types.NamespacedName) {})
			if tc.content != nil {
				if err := r.Records.KeepContent(t.Context(), client.ObjectKeyFromObject(p), p.UID, tc.content); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			logger := funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{Verbosity: tc.level})
			_, _ = r.advance(log.IntoContext(t.Context(), logger), p)
			logged := len(got) == len(tc.want)
			for i := 0; logged && i < len(got); i++ {
				logged = strings.HasPrefix(got[i], tc.want[i])
			}
			if !logged {
				t.Errorf("%s\ngot\n%s\nwant\n%s", tc.reason, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}
