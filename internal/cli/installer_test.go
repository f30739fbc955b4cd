package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/metrics"
	"github.com/operator-status/operator-status/internal/operator"
)

// applets is an installer that no other package knows: each ConfigMap with the label is an operator, which states the version
// that runs and the one that is to be installed next.
type applets struct{}

const appletLabel = "example.com/applet"

func (applets) Name() string { return "Applets" }

func (applets) Kinds() []installer.Kind {
	return []installer.Kind{
		{
			GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Plural: "ConfigMaps", Selector: appletLabel, Named: true,
			AddToScheme: corev1.AddToScheme, List: func() installer.List { return &corev1.ConfigMapList{} },
		},
		{
			GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.ProbeKind), Plural: "Probes",
			AddToScheme: v1alpha1.AddToScheme, List: func() installer.List { return &v1alpha1.ProbeList{} },
		},
	}
}

func (applets) Operators(c installer.Cluster) []operator.Operator {
	probes := map[string]*v1alpha1.Probe{}
	for _, probe := range installer.Values[v1alpha1.Probe](c) {
		probes[probe.Namespace+"/"+probe.Name] = &probe
	}
	var out []operator.Operator
	for _, applet := range installer.Values[corev1.ConfigMap](c) {
		running, next := applet.Data["running"], applet.Data["next"]
		op := operator.Operator{
			Namespace: applet.Namespace, Name: applet.Name, State: operator.Running, Installed: running, Version: strings.TrimPrefix(running, "foo."),
			UpToDate: metav1.ConditionTrue, Upgradeable: metav1.ConditionTrue,
		}
		if next != running {
			op.Update, op.UpToDate = next, metav1.ConditionFalse
		}
		probe := probes[applet.Namespace+"/"+running]
		in := gate.Inputs{
			Request: &operator.Request{
				Ref: operator.Ref{Kind: "ConfigMap", Namespace: applet.Namespace, Name: applet.Name}, Resource: "configmap",
				Annotations: applet.Annotations,
			},
			Running: &operator.Version{Ref: operator.Ref{Kind: "Applet", Namespace: applet.Namespace, Name: running}},
			Target:  next, Probe: probe,
		}
		decision := gate.Evaluate(in.AsReported())
		for _, h := range decision.Holds {
			if b := installer.HeldBy(h, probe); decision.Held {
				b.Steps = append(b.Steps, installer.StepsOverriding(h)...)
				op.Blockers, op.Upgradeable = append(op.Blockers, b), metav1.ConditionFalse
			}
		}
		out = append(out, op)
	}
	return out
}

// applet returns the ConfigMap and the Probe of the operator foo, whose next version is held if the Probe does not allow it.
func applet(upgradeable metav1.ConditionStatus, allowed string) []client.Object {
	applet := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "foo", Labels: map[string]string{appletLabel: ""}},
		Data:       map[string]string{"running": "foo.v1", "next": "foo.v2"},
	}
	if allowed != "" {
		applet.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: allowed}
	}
	probe := &v1alpha1.Probe{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.ProbeKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "foo.v1"},
		Spec:       &v1alpha1.ProbeSpec{},
	}
	probe.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSynced},
		{Type: v1alpha1.ConditionUpgradeable, Status: upgradeable, Reason: "Because", Message: "Migrating"},
	}
	probe.Status.Reader = "manager-0"
	probe.Status.ProbeResources = []v1alpha1.ProbeResourceStatus{{Resource: "foos.example.com", Kind: "Foo", Namespace: "apps", Name: "a", Blocking: true}}
	return []client.Object{applet, probe}
}

// TestAnyInstaller verifies that an installer is a folder: its operators are found, and their updates held and released, by the
// command line, the gate and the metrics, none of which knows it.
func TestAnyInstaller(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	cases := map[string]struct {
		reason      string
		upgradeable metav1.ConditionStatus
		allowed     string
		code        int
		held        float64
		why         []string
	}{
		"Held": {
			reason: "A Probe that does not allow the update holds it.", upgradeable: no, code: exitHeld, held: 1,
			why: []string{
				"apps/foo: foo.v1 is running, and is to be updated to foo.v2.", "Held by Probe apps/foo.v1 (ProbeNotUpgradeable)",
				"kubectl get foos.example.com -n apps a -o yaml", "kubectl annotate configmap -n apps foo operatorstatus.io/allow-upgrade=foo.v2",
			},
		},
		"Released": {reason: "A Probe that allows the update releases it.", upgradeable: yes, why: []string{"Nothing blocks it."}},
		"Overridden": {reason: "The annotation on the installer's own object overrides the Probe.", upgradeable: no, allowed: "foo.v2",
			why: []string{"Nothing blocks it."}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := applet(tc.upgradeable, tc.allowed)
			for _, args := range [][]string{{"why", "foo"}, {"check"}} {
				out, code := runWith(t, objects, args...)
				if code != tc.code {
					t.Errorf("%s\n%v: exit code %d, want %d\n%s", tc.reason, args, code, tc.code, out)
				}
				for _, text := range tc.why {
					if args[0] == "why" && !strings.Contains(out, text) {
						t.Errorf("%s\n%q is missing in:\n%s", tc.reason, text, out)
					}
				}
			}
			for _, args := range [][]string{{"get", "-o", "jsonpath={.items[0].installer} {.items[0].metadata.name}"}, {"__complete", "why", ""}, {"tree", "foo"}} {
				if out, code := runWith(t, objects, args...); code != exitOK || !strings.Contains(out, "foo") {
					t.Errorf("%v does not print the operator: exit code %d\n%s", args, code, out)
				}
			}
			if got := heldOperators(t, objects); got != tc.held {
				t.Errorf("%s\nthe metric of held operators is %v, want %v", tc.reason, got, tc.held)
			}
		})
	}
}

// runWith runs the command line with the installer, on an archive of objects.
func runWith(t *testing.T, objects []client.Object, args ...string) (string, int) {
	t.Helper()
	folder := t.TempDir()
	var manifests []string
	for _, object := range objects {
		manifest, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, string(manifest))
	}
	if err := os.WriteFile(filepath.Join(folder, "manifests.yaml"), []byte(strings.Join(manifests, "---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	var out bytes.Buffer
	root := command(installer.Installers{applets{}}, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out}, 0, nil)
	if args[0] == "__complete" {
		args = append([]string{args[0], args[1], "--from=" + folder}, args[2:]...)
	} else {
		args = append([]string{args[0], "--from=" + folder}, args[1:]...)
	}
	root.SetArgs(args)
	code := exitCode(root.ExecuteContext(t.Context()), &out)
	return out.String(), code
}

// heldOperators returns the number of operators whose update is held, as the metrics of the manager report it.
func heldOperators(t *testing.T, objects []client.Object) float64 {
	t.Helper()
	s, err := scheme(applets{}.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	leading := make(chan struct{})
	close(leading)
	collector := metrics.NewOperators(installer.Installers{applets{}}, fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build(), leading)
	for _, kind := range collector.Kinds() {
		collector.Add(kind)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "operator_status_blocked_operators" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == string(operator.Held) { // impact is its only label
				return metric.GetGauge().GetValue()
			}
		}
	}
	t.Fatal("operator_status_blocked_operators has no value for held operators")
	return 0
}
