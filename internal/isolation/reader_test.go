package isolation

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
)

func TestReaderOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*appsv1.Deployment)
		want   string
	}{
		"Ready": {"A single ready pod of the current template is the reader.", func(*appsv1.Deployment) {}, "reader"},
		"NotReady": {"A pod that is not ready is ignored, since it may have missed changes.",
			func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 0 }, gate.NoReader},
		"OldPod": {"A pod of an earlier template is not the reader, since its requests differ.",
			func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }, gate.NoReader},
		"TwoPods":    {"Two pods are not the reader, since both would write the status.", func(d *appsv1.Deployment) { d.Status.Replicas = 2 }, gate.NoReader},
		"NotYetSeen": {"A status of an earlier spec is ignored.", func(d *appsv1.Deployment) { d.Generation = 3 }, gate.NoReader},
		"Foreign":    {"A Deployment without the annotation of readers is ignored.", func(d *appsv1.Deployment) { d.Spec.Template.Annotations = nil }, gate.NoReader},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			d.Spec.Template.Annotations = map[string]string{annotationReader: "reader"}
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1}
			tc.change(d)
			if got := ReaderOf(d); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestName verifies that the name is valid for the label, the pods and the host name that are made of it.
func TestName(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"foo", "foo.v1.0.0", "foo-v1.0.0", strings.Repeat("a", 253), strings.Repeat("a.", 120) + "b", strings.Repeat("a", 29) + ".b"} {
		got := Name(&v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if errs := validation.IsDNS1123Label(got); len(errs) > 0 {
			t.Errorf("%q of Probe %q is invalid: %v", got, name, errs)
		}
		if len(got) > validation.DNS1123LabelMaxLength-len("-0123456789-abcde") { // the suffix that a Deployment adds for a pod
			t.Errorf("%q of Probe %q is too long for the name of a pod", got, name)
		}
		if seen[got] {
			t.Errorf("Probe %q has the name %q of another", name, got)
		}
		seen[got] = true
	}
}

// TestIdentity verifies that everything that the pod depends on changes the identity.
func TestIdentity(t *testing.T) {
	base := func() Pod {
		return Pod{Probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Name: "foo", UID: "1"}}, Account: "a", Image: "i", Plan: "p"}
	}
	for name, change := range map[string]func(*Pod){
		"account": func(p *Pod) { p.Account = "b" },
		"image":   func(p *Pod) { p.Image = "j" },
		"plan":    func(p *Pod) { p.Plan = "q" },
		"probe":   func(p *Pod) { p.Probe.UID = "2" },
		"moved":   func(p *Pod) { p.Account, p.Image = "", "ai" },
	} {
		other := base()
		change(&other)
		if other.Identity() == base().Identity() {
			t.Errorf("another %s has the same identity", name)
		}
	}
	if again := base(); again.Identity() != base().Identity() {
		t.Error("the identity of the same pod differs")
	}
}
