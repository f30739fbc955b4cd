package installers

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestUpgradeHoldPolicy verifies that one policy holds the updates of operators that Helm and kubectl install, also of one that is
// installed later, but no first installation and no other workload, and that its windows, one allowed version and its end release them.
func TestUpgradeHoldPolicy(t *testing.T) {
	manager := cluster.StartManager(t)
	applied, released, later := story.New(t, cluster, kubeconfig, "hand"), story.New(t, cluster, kubeconfig, "chart"), story.New(t, cluster, kubeconfig, "later")
	helm := func(version string) error {
		out, err := command("helm", "upgrade", "--install", released.Name, neighbour.Chart(t, released, version), "--namespace="+released.Namespace).CombinedOutput()
		if err != nil {
			return &failure{string(out)}
		}
		return nil
	}
	if err := helm(story.First); err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, applied.Namespace, applied.Manifests(story.First))
	released.AwaitImage(t, story.First)
	applied.AwaitImage(t, story.First)
	cluster.Apply(t, applied.Namespace, strings.ReplaceAll(application, "NAMESPACE", applied.Namespace))

	policy := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "freeze"}}
	policy.Spec.Message = "end of the year"
	policy.Spec.Match = &holdv1alpha1.OperatorMatch{
		Installers: []holdv1alpha1.Installer{holdv1alpha1.InstallerHelm, holdv1alpha1.InstallerWorkload},
		Namespaces: []string{applied.Namespace, released.Namespace, later.Namespace},
	}
	cluster.Create(t, policy)
	await := func(operators, held int32, conditions ...string) {
		t.Helper()
		cluster.Await(t, policy, func() string {
			if policy.Status.Summary != (holdv1alpha1.UpgradeHoldPolicySummary{Operators: operators, Held: held}) {
				return "it counts other operators"
			}
			return testcluster.Lacking(policy.Status.Conditions, conditions...)
		})
	}
	image := func(o story.Op, version string, options ...client.PatchOption) func() error {
		return func() error {
			return cluster.Client.Patch(t.Context(), workloadOf("Deployment", o.Namespace, o.Name), client.RawPatch(types.StrategicMergePatchType,
				[]byte(container(`"image":"example.com/`+o.Name+`:`+version+`"`))), options...)
		}
	}
	awaitDenied := func(update func() error, words ...string) {
		t.Helper()
		cluster.Await(t, policy, func() string {
			err := update()
			if err == nil {
				return "the update is not denied"
			}
			for _, word := range words {
				if !strings.Contains(err.Error(), word) {
					return "the update is denied without " + word + ": " + err.Error()
				}
			}
			return ""
		})
	}
	awaitAllowed := func(update func() error) {
		t.Helper()
		cluster.Await(t, policy, func() string {
			if err := update(); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	held := []string{"is held: UpgradeHold freeze.", "of UpgradeHoldPolicy freeze", "end of the year", "kubectl annotate upgradehold"}
	await(2, 2, "Matched=True/OperatorsFound", "Held=True/HeldByUser")
	awaitDenied(image(applied, story.Second, client.DryRunAll), held...)
	cluster.AwaitNoneTerminating(t)
	awaitDenied(func() error { return helm(story.Second) }, held...)
	if err := image(story.Op{Namespace: applied.Namespace, Name: "application"}, story.Second)(); err != nil {
		t.Errorf("an update of a workload that is no operator returns %v", err)
	}

	t.Log("an operator that is installed later is held from then on")
	cluster.Apply(t, later.Namespace, later.Manifests(story.First))
	later.AwaitImage(t, story.First)
	await(3, 3)
	awaitDenied(image(later, story.Second, client.DryRunAll), held...)

	t.Log("updates go through in a window")
	policy.Spec.UpdateWindows = []holdv1alpha1.UpdateWindow{{Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	if err := cluster.Client.Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	await(3, 0, "Held=False/UpdateWindow")
	awaitAllowed(image(applied, story.Second))
	awaitAllowed(func() error { return helm(story.Second) })
	applied.AwaitImage(t, story.Second)
	released.AwaitImage(t, story.Second)
	change(t, policy, func() { policy.Spec.UpdateWindows = nil })
	await(3, 3, "Held=True/HeldByUser")

	t.Log("an administrator lets one version of one operator pass, also if the hold is deleted")
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: applied.Namespace, Name: applied.Name}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldNameFor(policy.Name)}}
	if err := cluster.Client.Delete(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	awaitDenied(image(applied, "1.2.0", client.DryRunAll), held...)
	cluster.Await(t, hold, func() string {
		return testcluster.Lacking(hold.Status.Conditions, "Held=True/HeldByUser", "Enforced=True/PolicyBound")
	})
	out, err := command("kubectl-operator_status", "release", applied.Name, "--namespace="+applied.Namespace).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "is selected by UpgradeHoldPolicy freeze, which goes on. To allow one version: kubectl annotate") {
		t.Errorf("kubectl operator-status release returns %v and prints %s", err, out)
	}
	change(t, hold, func() {
		hold.Annotations = map[string]string{"operatorstatus.io/allow-upgrade": "example.com/hand:1.2.0"}
	})
	awaitDenied(image(applied, "1.3.0", client.DryRunAll), held...)
	awaitAllowed(image(applied, "1.2.0"))
	awaitDenied(image(later, story.Second, client.DryRunAll), held...)

	t.Log("the end of the policy is that of its holds")
	if err := cluster.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, hold)
	cluster.Await(t, workloadOf("Deployment", later.Namespace, later.Name), func() string {
		if err := image(later, story.Second)(); err != nil {
			return err.Error()
		}
		return ""
	})
	manager.CheckAlive(t)
}

// application is a workload whose service account reports on no custom resources.
const application = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: application, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: application}}
  template:
    metadata: {labels: {app: application}}
    spec:
      containers:
      - {name: manager, image: "example.com/application:1.0.0"}
`

// failure is the output of a program that failed.
type failure struct{ output string }

func (f *failure) Error() string { return f.output }

func change[O client.Object](t *testing.T, o O, change func()) {
	t.Helper()
	before := o.DeepCopyObject().(O)
	change()
	if err := cluster.Client.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
