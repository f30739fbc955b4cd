package real

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/isolation"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// foos is a kind of custom resources with a namespace and a service account that may read them.
type foos struct{ namespace, group string }

func newFoos(t *testing.T, name string) *foos {
	t.Helper()
	f := &foos{namespace: cluster.Namespace(t, name), group: name + ".example.com"}
	cluster.Apply(t, f.namespace, builder.CRD("foos", f.group)+fmt.Sprintf(`
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: foo-operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: foo-operator}
rules: [{apiGroups: [%[1]s], resources: [foos], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: foo-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: foo-operator}
subjects: [{kind: ServiceAccount, name: foo-operator, namespace: %[2]s}]
`, f.group, f.namespace))
	cluster.AwaitCRD(t, "foos."+f.group)
	return f
}

// probe creates a Probe of the foos.
func (f *foos) probe(t *testing.T, change ...func(*v1alpha1.ProbeSpec)) *v1alpha1.Probe {
	t.Helper()
	p := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "foo-operator.v1.0.0"}, Spec: &v1alpha1.ProbeSpec{
		ServiceAccountName: "foo-operator", Namespaces: []string{f.namespace},
		ProbeResources: []v1alpha1.ProbeResource{{Name: "foos." + f.group, Upgradeable: "!Migrating"}},
	}}
	for _, c := range change {
		c(p.Spec)
	}
	cluster.Create(t, p)
	t.Cleanup(func() {
		if t.Failed() {
			describePods(t, f.namespace)
		}
	})
	return p
}

// createMigrating creates a Foo that is Migrating.
func (f *foos) createMigrating(t *testing.T, name string) {
	t.Helper()
	cluster.Rediscovered(t).Apply(t, f.namespace,
		fmt.Sprintf("apiVersion: %s/v1\nkind: Foo\nmetadata: {name: %s}\nstatus: {conditions: [{type: Migrating, status: \"True\"}]}\n",
			f.group, name))
}

func (f *foos) await(t *testing.T, p *v1alpha1.Probe, want ...string) {
	t.Helper()
	cluster.Await(t, p, func() string { return testcluster.Lacking(p.Status.Conditions, want...) })
}

func withIsolation(spec *v1alpha1.ProbeSpec) { spec.Isolation = v1alpha1.IsolationPod }

// TestIsolation verifies that a pod of its own reads for a Probe, that the Probe reports when it does not, and that
// nothing of it is left when the Probe is deleted.
func TestIsolation(t *testing.T) {
	deployManager(t, 1)
	f := newFoos(t, "isolation")
	cluster.PermitIsolation(t, f.namespace)
	p := f.probe(t, withIsolation)
	f.await(t, p, "PodReady=True/PodReady", "Synced=True/Synced", "Upgradeable=True/NoResources")
	f.createMigrating(t, "a")
	f.await(t, p, "Upgradeable=False/NotUpgradeable", "PodReady=True/PodReady")

	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: isolation.Name(p)}}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	if live, err := isolation.LiveReader(t.Context(), cluster.Client, p, "shared"); err != nil || live != p.Status.Reader {
		t.Errorf("the live reader is %s (%v), and the status is of reader %s", live, err, p.Status.Reader)
	}
	pods := podsOf(t, d)
	if len(pods) != 1 {
		t.Fatalf("the Probe has %d pods, want 1", len(pods))
	}
	thaw := freeze(t, &pods[0])
	f.await(t, p, "PodReady=False/PodNotReady", "Upgradeable=False/NotUpgradeable")
	if live, err := isolation.LiveReader(t.Context(), cluster.Client, p, "shared"); err != nil || live == p.Status.Reader {
		t.Errorf("the frozen pod is still the live reader %s (%v)", live, err)
	}
	thaw()
	f.await(t, p, "PodReady=True/PodReady")

	// An account that does not exist cannot run a pod: the old one is deleted, and the Probe reports why.
	before := p.DeepCopy()
	p.Spec.ServiceAccountName = "nobody"
	if err := cluster.Client.Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	f.await(t, p, "PodReady=False/NoIdentity", "Synced=False/NoIdentity")
	cluster.AwaitGone(t, d)
	before = p.DeepCopy()
	p.Spec.ServiceAccountName = "foo-operator"
	if err := cluster.Client.Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	f.await(t, p, "PodReady=True/PodReady", "Synced=True/Synced")
	if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionUpgradeable) {
		t.Error("the Probe allows the update while a Foo is migrating")
	}

	if err := cluster.Client.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, d)
	cluster.AwaitGone(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: d.Name}})
	cluster.AwaitGone(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: d.Name}})
}
