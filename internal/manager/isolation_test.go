package manager_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// isolated returns a Probe whose Foos a pod of its own reads.
func isolated(namespace, group string) *v1alpha1.Probe {
	out := userProbe(namespace, "foo.v1.0.0", v1alpha1.ProbeResource{Name: "foos." + group, Upgradeable: "!Migrating"})
	out.Spec.Isolation = v1alpha1.IsolationPod
	return out
}

// awaitReader waits until a Probe has a Deployment other than before, and returns it.
func awaitReader(t *testing.T, p *v1alpha1.Probe, before *appsv1.Deployment) *appsv1.Deployment {
	t.Helper()
	d, list := &appsv1.Deployment{}, &appsv1.DeploymentList{}
	cluster.Await(t, p, func() string {
		if err := cluster.Client.List(t.Context(), list, client.InNamespace(p.Namespace)); err != nil || len(list.Items) != 1 {
			return "there is not one Deployment"
		}
		if d = &list.Items[0]; before != nil && cmp.Equal(before.Spec.Template, d.Spec.Template) {
			return "the Deployment is as before"
		}
		return ""
	})
	return d
}

// setReady stands in for the Deployment controller, which does not run here: it reports that the only pod is ready, or not.
func setReady(t *testing.T, d *appsv1.Deployment, ready int32) {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), key(d), d); err != nil {
		t.Fatal(err)
	}
	d.Status.ObservedGeneration, d.Status.Replicas, d.Status.UpdatedReplicas = d.Generation, 1, 1
	d.Status.ReadyReplicas, d.Status.AvailableReplicas = ready, ready
	if err := cluster.Client.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// TestIsolation verifies the pod of a Probe: it reads as the operator's account, may write the status of this Probe
// and nothing else, and is removed and rolled with its dependencies.
func TestIsolation(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	const group = "isolation.example.com"
	namespace := cluster.Namespace(t, "isolation")
	cluster.PermitIsolation(t, namespace)
	cluster.Apply(t, namespace, builder.CRD("foos", group))
	account(t, cluster, namespace, group)
	cluster.StartManager(t, "--probe-reader-image=example.com/operator-status@sha256:1")
	p := isolated(namespace, group)
	cluster.Create(t, p)
	at := key(p)

	awaitProbe(t, cluster, at, "PodReady=False/PodNotReady", "Upgradeable=Unknown/NotRead", "Synced=Unknown/Syncing")
	d := awaitReader(t, p, nil)
	if got := d.Spec.Template.Spec.ServiceAccountName; got != "foo-operator" {
		t.Errorf("the pod runs as %s", got)
	}
	if !metav1.IsControlledBy(d, p) {
		t.Error("the Deployment is not controlled by the Probe, so it would not be deleted with it")
	}
	reader := cluster.StartProbeReader(t, d.Spec.Template, namespace)
	first := awaitProbe(t, cluster, at, "PodReady=False/PodNotReady", "Upgradeable=True/NoResources", "Synced=True/Synced")
	setReady(t, d, 1)
	awaitProbe(t, cluster, at, "PodReady=True/PodReady", "Synced=True/Synced")

	o := foo(t, cluster, group, namespace, "a", "Migrating=True")
	awaitProbe(t, cluster, at, "Upgradeable=False/NotUpgradeable", "PodReady=True/PodReady")
	idle := cluster.AwaitIdle(t, time.Second, manager.UserAgent)
	setConditions(t, cluster, o, "Migrating=True", "Other=True")
	cluster.Create(t, newFoo(group, namespace, "b"))
	awaitProbe(t, cluster, at, "Upgradeable=False/NotUpgradeable", "PodReady=True/PodReady")
	for _, r := range cluster.RequestsOf(t, idle, manager.UserAgent) {
		if r.By(manager.ReaderAgent) && r.ObjectRef.Resource == "foos" && r.Verb != "watch" {
			t.Errorf("a change of a custom resource caused a read: %s", r)
		}
	}

	t.Run("Rights", func(t *testing.T) { checkReaderRights(t, p, d) })

	setConditions(t, cluster, o, "Migrating=False")
	awaitProbe(t, cluster, at, "Upgradeable=True/SomeUnknown")
	setReady(t, d, 0)
	if got := awaitProbe(t, cluster, at, "PodReady=False/PodNotReady", "Upgradeable=True/SomeUnknown"); !strings.Contains(message(got, "PodReady"), d.Name) {
		t.Errorf("the message does not name the Deployment: %s", message(got, "PodReady"))
	}

	// A new spec needs a new pod. The old one's report is of the old generation.
	reader.Kill(t)
	update(t, p, func() { p.Spec.ProbeResources[0].Upgradeable = "Ready" })
	d = awaitReader(t, p, d)
	reader = cluster.StartProbeReader(t, d.Spec.Template, namespace)
	second := awaitProbe(t, cluster, at, "Upgradeable=True/SomeUnknown", "Synced=True/Synced")
	if first.Status.Reader == second.Status.Reader {
		t.Errorf("two pods have the same identity %s", first.Status.Reader)
	}

	// A pod that may no longer read reports that, and no longer allows anything.
	if err := cluster.Client.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "foo-operator-of-" + namespace}}); err != nil {
		t.Fatal(err)
	}
	reader.Kill(t)
	awaitDenied(t, "system:serviceaccount:"+namespace+":foo-operator", group)
	reader = cluster.StartProbeReader(t, d.Spec.Template, namespace)
	awaitProbe(t, cluster, at, "Synced=False/Forbidden", "Upgradeable=Unknown/NotRead")
	reader.Kill(t)

	update(t, p, func() { p.Spec.Isolation = v1alpha1.IsolationShared })
	cluster.AwaitGone(t, d)
	cluster.AwaitGone(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: d.Name}})
	cluster.AwaitGone(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: d.Name}})
	awaitNoPod(t, p)
}

// awaitNoPod waits until the manager reads for a Probe.
func awaitNoPod(t *testing.T, p *v1alpha1.Probe) {
	t.Helper()
	cluster.Await(t, p, func() string {
		if meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPodReady) != nil {
			return "PodReady is still there"
		}
		return ""
	})
}

// kubectl returns the command in a message.
func kubectl(t *testing.T, message string) string {
	t.Helper()
	_, command, found := strings.Cut(message, "kubectl ")
	if !found {
		t.Fatalf("no command in %q", message)
	}
	return "kubectl " + command
}

// checkReaderRights verifies the permissions of the pod's account besides those of the operator: get and update the
// status of its Probe.
func checkReaderRights(t *testing.T, p *v1alpha1.Probe, d *appsv1.Deployment) {
	t.Helper()
	other := isolated(p.Namespace, "isolation.example.com")
	other.Name, other.Spec.Isolation = "other.v1.0.0", v1alpha1.IsolationShared
	cluster.Create(t, other)
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = cluster.Token(t, types.NamespacedName{Namespace: p.Namespace, Name: d.Spec.Template.Spec.ServiceAccountName})
	as, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme(), Mapper: cluster.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	live := func(p *v1alpha1.Probe) *v1alpha1.Probe {
		out := p.DeepCopy()
		if err := cluster.Client.Get(t.Context(), key(p), out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, tt := range map[string]struct {
		do      func() error
		allowed bool
	}{
		"its status":        {func() error { return as.Status().Update(t.Context(), live(p), client.DryRunAll) }, true},
		"its spec":          {func() error { return as.Update(t.Context(), live(p), client.DryRunAll) }, false},
		"another's status":  {func() error { return as.Status().Update(t.Context(), live(other), client.DryRunAll) }, false},
		"another Probe":     {func() error { return as.Get(t.Context(), key(other), &v1alpha1.Probe{}) }, false},
		"all Probes":        {func() error { return as.List(t.Context(), &v1alpha1.ProbeList{}, client.InNamespace(p.Namespace)) }, false},
		"its own deletion":  {func() error { return as.Delete(t.Context(), live(p), client.DryRunAll) }, false},
		"its Role":          {func() error { return as.Delete(t.Context(), &rbacv1.Role{ObjectMeta: d.ObjectMeta}) }, false},
		"other Deployments": {func() error { return as.List(t.Context(), &appsv1.DeploymentList{}) }, false},
	} {
		err := retry.RetryOnConflict(retry.DefaultRetry, tt.do) // with writes by the manager and the reader
		if tt.allowed && err != nil || !tt.allowed && !apierrors.IsForbidden(err) {
			t.Errorf("%s, which is allowed: %t: %v", name, tt.allowed, err)
		}
	}
}

// TestIsolationOfUpdate verifies that a Probe of annotations keeps the isolation that a user set, also over an update.
func TestIsolationOfUpdate(t *testing.T) {
	const group = "kept.example.com"
	cluster.InstallOLM(t)
	namespace := cluster.Namespace(t, "kept")
	cluster.PermitIsolation(t, namespace)
	cluster.Apply(t, namespace, builder.CRD("foos", group, upgradeableNotMigrating))
	account(t, cluster, namespace, group)
	cluster.StartManager(t, "--probe-reader-image=example.com/operator-status@sha256:1")
	cluster.Create(t, csv(namespace, "foo.v1.0.0", "foos."+group))
	p := probeNamed(namespace, "foo.v1.0.0")
	awaitProbe(t, cluster, key(p), "Upgradeable=True/NoResources")
	update(t, p, func() { p.Spec.Isolation = v1alpha1.IsolationPod })
	cluster.Await(t, p, func() string { return testcluster.Lacking(p.Status.Conditions, "PodReady=False/PodNotReady") })
	annotate(t, "foos."+group, "Ready")
	p = awaitSpec(t, key(p), "Ready")
	if p.Spec.Isolation != v1alpha1.IsolationPod {
		t.Error("the annotations have overwritten the isolation of a user")
	}
	next := csv(namespace, "foo.v2.0.0", "foos."+group)
	next.Spec.Replaces = "foo.v1.0.0"
	cluster.Create(t, next)
	p = probeNamed(namespace, "foo.v2.0.0")
	cluster.Await(t, p, func() string {
		if p.Spec == nil || p.Spec.Isolation != v1alpha1.IsolationPod {
			return "the new version's Probe has another isolation"
		}
		return ""
	})
}

// TestIsolationProblems verifies that a Probe reports why no pod reads for it.
func TestIsolationProblems(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	const group = "unisolated.example.com"
	namespace := cluster.Namespace(t, "unisolated")
	cluster.Apply(t, namespace, builder.CRD("foos", group))
	cluster.StartManager(t)
	p := isolated(namespace, group)
	cluster.Create(t, p)

	awaitProbe(t, cluster, key(p), "PodReady=False/NoIdentity", "Synced=False/NoIdentity", "Upgradeable=Unknown/NotRead")
	account(t, cluster, namespace, group)
	awaitProbe(t, cluster, key(p), "PodReady=False/NoImage", "Upgradeable=Unknown/NotRead")
	update(t, p, func() {
		p.Spec.ProbeResources = nil
		for i := range 60 {
			p.Spec.ProbeResources = append(p.Spec.ProbeResources, v1alpha1.ProbeResource{
				Name: "foos." + group, Upgradeable: "!A" + strings.Repeat("b", 900) + strings.Repeat("c", i),
				Important: "A" + strings.Repeat("b", 1000),
			})
		}
	})
	cluster.Await(t, p, func() string { return testcluster.Lacking(p.Status.Conditions, "PodReady=False/PlanTooLarge") })
	if p.Status.ObservedGeneration == p.Generation {
		t.Error("the status is about a spec that no pod has read")
	}
}

// TestIsolationForbidden verifies that a manager that may not run pods in a namespace reports that, with the command that
// permits it, also when it may no longer delete the pod.
func TestIsolationForbidden(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	const group = "unpermitted.example.com"
	namespace := cluster.Namespace(t, "unpermitted")
	cluster.Apply(t, namespace, builder.CRD("foos", group))
	account(t, cluster, namespace, group)
	cluster.StartManager(t, "--probe-reader-image=example.com/operator-status@sha256:1")
	p := isolated(namespace, group)
	cluster.Create(t, p)
	got := awaitProbe(t, cluster, key(p), "PodReady=False/Forbidden", "Upgradeable=Unknown/NotRead")
	update(t, p, func() { p.Spec.Isolation = v1alpha1.IsolationShared })
	awaitNoPod(t, p)

	cluster.Shell(t, kubectl(t, message(got, "PodReady")))
	update(t, p, func() { p.Spec.Isolation = v1alpha1.IsolationPod })
	d := awaitReader(t, p, nil)
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator-status-isolation"}}
	if err := cluster.Client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	update(t, p, func() { p.Spec.Isolation = v1alpha1.IsolationShared })
	got = awaitProbe(t, cluster, key(p), "PodReady=False/Forbidden", "Upgradeable=True/NoResources")
	cluster.Shell(t, kubectl(t, message(got, "PodReady")))
	cluster.AwaitGone(t, d)
	awaitNoPod(t, p)
}

// TestIsolationQuota verifies that a pod that a quota denies is not reported as a lack of permission.
func TestIsolationQuota(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	const group = "scarce.example.com"
	namespace := cluster.Namespace(t, "scarce")
	cluster.Apply(t, namespace, builder.CRD("foos", group))
	account(t, cluster, namespace, group)
	cluster.PermitIsolation(t, namespace)
	none := corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	cluster.Create(t, quota)
	quota.Status.Hard, quota.Status.Used = none, none // no controller of quotas runs here
	if err := cluster.Client.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	cluster.StartManager(t, "--probe-reader-image=example.com/operator-status@sha256:1")
	p := isolated(namespace, group)
	cluster.Create(t, p)
	got := awaitProbe(t, cluster, key(p), "PodReady=False/PodNotReady", "Upgradeable=Unknown/NotRead")
	cluster.Await(t, got, func() string {
		switch text := message(got, "PodReady"); {
		case !strings.Contains(text, "exceeded quota: none"):
			return "the quota is not named: " + text
		case strings.Contains(text, "rolebinding"):
			return "it asks for a permission that exists: " + text
		default:
			return ""
		}
	})
	if err := cluster.Client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	awaitReader(t, p, nil)
}
