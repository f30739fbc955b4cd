package installers

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestPolicies verifies that the command line makes a Probe from a policy for an operator that OLM did not install, and that one manifest
// holds one update after another.
func TestPolicies(t *testing.T) {
	manager := cluster.StartManager(t)
	o := story.New(t, cluster, kubeconfig, "bank-vaults")
	vaults := strings.NewReplacer(o.Name+".example.com", "vault.banzaicloud.com", "Widget", "Vault", "widget", "vault")
	cluster.Apply(t, o.Namespace, vaults.Replace(o.Manifests(story.First)))
	o.AwaitImage(t, story.First)
	run := func(args ...string) string {
		t.Helper()
		out, err := command("kubectl-operator_status", args...).Output()
		if err != nil {
			t.Fatalf("kubectl operator-status %s: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	checkApplied := func(want string) {
		t.Helper()
		got := strings.Join(strings.Fields(run("policies", "vault")), " ")
		if !strings.HasSuffix(got, "vault "+o.Namespace+" "+o.Name+" Workload "+want) {
			t.Errorf("kubectl operator-status policies prints %s, want %s", got, want)
		}
	}
	checkApplied("No")
	cluster.Apply(t, "", run("policies", "vault", "-o", "yaml"))
	checkApplied("Yes")

	vault := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "vault.banzaicloud.com/v1", "kind": "Vault"}}
	vault.SetNamespace(o.Namespace)
	vault.SetName("example")
	live := cluster.Rediscovered(t).Client
	if err := live.Create(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	setHealthy := func(status string) {
		t.Helper()
		vault.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Healthy", "status": status}}}
		if err := live.Status().Update(t.Context(), vault); err != nil {
			t.Fatal(err)
		}
	}
	update := func(version string, options ...client.PatchOption) error {
		return cluster.Client.Patch(t.Context(), workloadOf("Deployment", o.Namespace, o.Name), client.RawPatch(types.StrategicMergePatchType,
			[]byte(container(`"image":"example.com/`+o.Name+`:`+version+`"`))), options...)
	}
	reference := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: o.Namespace, Name: o.Name}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: reference.HoldName()}}
	for _, version := range []string{story.Second, "1.2.0"} {
		setHealthy("False")
		cluster.Await(t, hold, func() string {
			if update(version, client.DryRunAll) == nil {
				return "the update is not denied yet"
			}
			return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
		})
		if err := update(version); err == nil || !strings.Contains(err.Error(), "Healthy is False") {
			t.Errorf("the update to %s returns %v", version, err)
		}
		setHealthy("True")
		cluster.AwaitGone(t, hold)
		cluster.Await(t, vault, func() string {
			if err := update(version); err != nil {
				return err.Error()
			}
			return ""
		})
		o.AwaitImage(t, version)
	}
	manager.CheckAlive(t)
}
