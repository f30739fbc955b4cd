package installers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestPolicies verifies that the policy that the command line prints for an operator that OLM did not install holds one update after
// another, also if its Probe is changed or deleted.
func TestPolicies(t *testing.T) {
	manager := cluster.StartManager(t)
	o := story.New(t, cluster, kubeconfig, "bank-vaults")
	o.Kind = schema.GroupKind{Group: "vault.banzaicloud.com", Kind: "Vault"}
	cluster.Apply(t, o.Namespace, o.Manifests(story.First))
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
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "vault"}}
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), policy); err != nil {
			t.Error(err)
		}
	})
	awaitListed := func(status metav1.ConditionStatus) {
		t.Helper()
		want := holdv1alpha1.PolicyOperator{Installer: holdv1alpha1.InstallerWorkload, Namespace: o.Namespace, Name: o.Name, Upgradeable: status}
		cluster.Await(t, policy, func() string {
			if diff := cmp.Diff([]holdv1alpha1.PolicyOperator{want}, policy.Status.Operators); diff != "" {
				return diff
			}
			return testcluster.Lacking(policy.Status.Conditions, "Matched=True/OperatorsFound")
		})
	}

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
			// the API server reads the message a moment after the status has it
			if err := update(version, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "Healthy is False") {
				return fmt.Sprintf("the update returns %v", err)
			}
			return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
		})
		if err := update(version); err == nil || !strings.Contains(err.Error(), "Healthy is False") {
			t.Errorf("the update to %s returns %v", version, err)
		}
		awaitListed(metav1.ConditionFalse)
		tamper(t, reference, func() error { return update(version) })
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
	awaitListed(metav1.ConditionTrue)
	manager.CheckAlive(t)
}

// tamper changes and deletes the Probe of a held operator, and verifies that no update goes through meanwhile.
func tamper(t *testing.T, of holdv1alpha1.OperatorReference, update func() error) {
	t.Helper()
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.ProbeName()}}
	ctx, stop := context.WithCancel(t.Context())
	attempts := 0
	var attacker sync.WaitGroup
	attacker.Go(func() {
		for ; ctx.Err() == nil; attempts++ {
			if update() == nil {
				t.Error("an update has gone through")
			}
		}
	})
	defer func() {
		stop()
		attacker.Wait()
		t.Logf("%d attempts to update were denied", attempts)
	}()
	corrected := func() string {
		if len(probe.Spec.ProbeResources) == 0 || probe.Spec.ProbeResources[0].Upgradeable == "Any" {
			return "its spec is not corrected"
		}
		return testcluster.Lacking(probe.Status.Conditions, "Upgradeable=False/NotUpgradeable")
	}
	for range 10 {
		for _, patch := range []string{
			`[{"op":"replace","path":"/spec/probeResources/0/upgradeable","value":"Any"}]`, `[{"op":"add","path":"/spec/namespaces","value":["default"]}]`,
			`[{"op":"remove","path":"/spec/probeResources"}]`,
		} {
			if err := cluster.Client.Patch(t.Context(), probe, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
				t.Fatal(err)
			}
			cluster.Await(t, probe, corrected)
		}
		if err := cluster.Client.Delete(t.Context(), probe); err != nil {
			t.Fatal(err)
		}
		cluster.Await(t, probe, corrected)
	}
}
