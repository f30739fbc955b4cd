package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestPoliciesInGit has Argo CD sync config/policies from one repository and an operator from another one, and verifies that the
// policies, which do not change, hold three updates in a row.
func TestPoliciesInGit(t *testing.T) {
	cluster.StartManager(t)
	o := story.New(t, cluster, filepath.Join(clusterDir, "kubeconfig"), "database")
	o.Kind = schema.GroupKind{Group: "k8s.mariadb.com", Kind: "MariaDB"}
	s := argued(t, o, newRepository(t), "ServerSideApply=true")
	s.Install(t, o, story.First)
	o.AwaitImage(t, story.First)

	policies := newRepository(t)
	if err := os.CopyFS(policies.folder, os.DirFS(filepath.Join(testcluster.Root(), "config", "policies"))); err != nil {
		t.Fatal(err)
	}
	policies.git(t, "add", ".")
	policies.git(t, "commit", "--quiet", "--message=Add the policies")
	head := policies.head(t)
	cluster.Rediscovered(t).Apply(t, "argocd", application(t, "policies", policies, "default"))
	app := builder.Object("argoproj.io/v1alpha1", "Application", "argocd", "policies")
	cluster.Await(t, app, func() string {
		if status, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status"); status != "Synced" { // none if not found
			return "it is " + status
		}
		return ""
	})

	custom := builder.Object(o.Kind.Group+"/v1", o.Kind.Kind, o.Namespace, "example")
	live := cluster.Rediscovered(t).Client
	if err := live.Create(t.Context(), custom); err != nil {
		t.Fatal(err)
	}
	setReady := func(status string) {
		t.Helper()
		custom.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}}
		if err := live.Status().Update(t.Context(), custom); err != nil {
			t.Fatal(err)
		}
	}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: s.Reference(o).HoldName()}}
	for _, version := range []string{story.Second, "1.2.0", "1.3.0"} {
		setReady("False")
		cluster.Await(t, hold, func() string {
			return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
		})
		s.Install(t, o, version)
		cluster.Await(t, s.state, func() string {
			if report := s.Report(t, o); !strings.Contains(report, "is held: ") || !strings.Contains(report, "Ready is False") {
				return "Argo CD does not report that the update is held: " + report
			}
			return ""
		})
		setReady("True")
		cluster.AwaitGone(t, hold)
		o.AwaitImage(t, version)
	}
	if policies.head(t) != head {
		t.Error("the policies have changed")
	}
}
