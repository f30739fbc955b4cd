package installers

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestForeignDefinition verifies that a user of one namespace cannot hold the CustomResourceDefinition of another operator by naming it in
// a Probe: the workload that the Probe is about does not serve it.
func TestForeignDefinition(t *testing.T) {
	cluster.StartManager(t)
	victim := story.New(t, cluster, kubeconfig, "victim")
	cluster.Apply(t, victim.Namespace, victim.Manifests(story.First))
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.victim.example.com"}}
	cluster.AwaitCRD(t, crd.Name)

	namespace := cluster.Namespace(t, "tenant")
	cluster.Create(t, workloadOf("Deployment", namespace, "mine"))
	probe := &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"},
		Spec: &v1alpha1.ProbeSpec{
			Operator:       &v1alpha1.ProbedOperator{Installer: string(holdv1alpha1.InstallerWorkload), Name: "mine"},
			ProbeResources: []v1alpha1.ProbeResource{{Name: crd.Name, Upgradeable: "!Migrating"}},
		},
	}
	cluster.Create(t, probe)
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: namespace, Name: "mine"}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldName()}}
	cluster.Await(t, hold, func() string {
		enforced := meta.FindStatusCondition(hold.Status.Conditions, holdv1alpha1.ConditionEnforced)
		if enforced == nil || !strings.Contains(enforced.Message, "but not changes of "+crd.Name) {
			return "it does not name the CustomResourceDefinition that it does not hold"
		}
		return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotRead", "Enforced=True/PolicyBound") // nor may the account read it
	})
	if got := hold.Status.Denied.CustomResourceDefinitions; len(got) > 0 {
		t.Errorf("it holds %s", got)
	}
	if err := changed(crd, func(crd *apiextensions.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "another"
	})(t); err != nil {
		t.Error(err)
	}
	image := []byte(container(`"image":"example.com/neighbour:2"`))
	cluster.Await(t, hold, func() string { // the API server reads the index soon after the manager
		if plain().Patch(t.Context(), workloadOf("Deployment", namespace, "mine"), client.RawPatch(types.StrategicMergePatchType, image)) == nil {
			return "its own image is not held"
		}
		return ""
	})
	cluster.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "free"}})
}

// TestHeldByUser verifies that a user holds an operator that no Probe names, and that a hold of an operator that does not exist, or in
// the namespace of operator-status, holds nothing.
func TestHeldByUser(t *testing.T) {
	cluster.StartManager(t)
	o := story.New(t, cluster, kubeconfig, "frozen")
	cluster.Apply(t, o.Namespace, o.Manifests(story.First))
	o.AwaitImage(t, story.First)
	cases := map[string]struct {
		reason string
		of     holdv1alpha1.OperatorReference
		want   []string
	}{
		"Installed": {"An operator needs no Probe.", holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: o.Namespace, Name: o.Name},
			[]string{"Held=True/HeldByUser", "Enforced=True/PolicyBound"}},
		"NotInstalled": {"A first installation is never held.",
			holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: o.Namespace, Name: o.Name},
			[]string{"Held=False/OperatorNotFound", "Enforced=False/NotHeld"}},
		"Self": {"Updates of operator-status itself cannot be held.",
			holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: "operator-status-system", Name: "operator-status-controller-manager"},
			[]string{"Held=False/Reserved", "Enforced=False/NotHeld"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "of-user-" + strings.ToLower(name)}}
			hold.Spec = holdv1alpha1.UpgradeHoldSpec{Operator: tc.of, HoldTerms: holdv1alpha1.HoldTerms{Message: "audit"}}
			cluster.Create(t, hold)
			cluster.Await(t, hold, func() string {
				if lacking := testcluster.Lacking(hold.Status.Conditions, tc.want...); lacking != "" {
					return tc.reason + " " + lacking
				}
				return ""
			})
			if err := cluster.Client.Delete(t.Context(), hold); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestHoldCommand verifies that a user holds and releases the updates of an operator that OLM does not install with the command line.
func TestHoldCommand(t *testing.T) {
	manager := cluster.StartManager(t)
	o := story.New(t, cluster, kubeconfig, "commanded")
	cluster.Apply(t, o.Namespace, o.Manifests(story.First))
	o.AwaitImage(t, story.First)
	run := func(want int, words string, args ...string) {
		t.Helper()
		out, err := command("kubectl-operator_status", append(args, "--namespace="+o.Namespace)...).CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want || !strings.Contains(string(out), words) {
			t.Errorf("kubectl operator-status %s exits with %d, want %d and %q: %s", strings.Join(args, " "), code, want, words, out)
		}
	}
	image := func() error {
		d := workloadOf("Deployment", o.Namespace, o.Name)
		return plain().Patch(t.Context(), d, client.RawPatch(types.StrategicMergePatchType, []byte(container(`"image":"example.com/other:2"`))))
	}
	name := "held." + holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: o.Namespace, Name: o.Name}.HoldName()
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	run(1, "has passed", "hold", o.Name, "--until=2026-01-01")
	run(1, "neither a date", "hold", o.Name, "--until=friday")
	run(0, name+" created: updates of "+o.Namespace+"/"+o.Name+" wait until it is released (dry run)", "hold", o.Name, "--dry-run=client")
	run(0, "Nothing blocks it", "why", o.Name)
	run(0, name+" created", "hold", o.Name, "--message=audit")
	run(0, name+" changed: updates of "+o.Namespace+"/"+o.Name+" wait until "+until, "hold", o.Name, "--message=audit", "--until="+until)
	run(2, "UpgradeHold "+name+" holds the updates for admin until "+until+": audit", "why", o.Name)
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cluster.Await(t, hold, func() string {
		if image() == nil {
			return "it is not enforced yet"
		}
		return ""
	})
	run(0, name+" deleted", "release", o.Name)
	cluster.AwaitGone(t, hold)
	run(0, "is not held by a user", "release", o.Name)
	manager.Terminate(t)
	run(0, "operator-status does not report on it: does it run?", "hold", o.Name)
	run(0, name+" deleted", "release", o.Name)
}
