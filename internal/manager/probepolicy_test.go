package manager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
	"github.com/operator-status/operator-status/pkg/probe"
)

// TestProbePolicy verifies that a ProbePolicy determines the Probes of the operators that own its CustomResourceDefinitions, in every
// version, and no others.
func TestProbePolicy(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace, other := cluster.Namespace(t, "policy"), cluster.Namespace(t, "policy-other")
	account(t, cluster, namespace, "policy.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "policy.example.com"))
	first := succeeded(t, namespace, "foo-operator.v1", "foos.policy.example.com")
	custom := foo(t, cluster, "policy.example.com", namespace, "foo", "Migrating=True")
	policy := newPolicy("foo", v1alpha1.ProbeResource{Name: "foos.policy.example.com", Upgradeable: "!Migrating"})
	policy.Spec.Match = &holdv1alpha1.OperatorMatch{Namespaces: []string{other}}
	cluster.Create(t, policy)
	awaitPolicy(t, policy, "Matched=False/NoOperatorFound")

	t.Log("a policy for the namespace creates the Probe")
	changePolicy(t, policy, func() { policy.Spec.Match.Namespaces = []string{namespace} })
	p := awaitProbe(t, cluster, key(first), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "the manager", v1alpha1.ManagerPolicy, p.Spec.Manager)
	awaitPolicy(t, policy, "Matched=True/OperatorsFound", holdv1alpha1.PolicyOperator{
		Installer: holdv1alpha1.InstallerOLM, Namespace: namespace, Name: first.Name, Upgradeable: metav1.ConditionFalse,
	})

	t.Log("while the operator is updated, a change of the policy still counts for both versions")
	second := csv(namespace, "foo-operator.v2", "foos.policy.example.com")
	second.Spec.Replaces = first.Name
	cluster.Create(t, second)
	awaitSpec(t, key(second), "!Migrating")
	changePolicy(t, policy, func() { policy.Spec.ProbeResources[0].Upgradeable = "!Migrating && !Paused" })
	awaitSpec(t, key(first), "!Migrating && !Paused")
	awaitSpec(t, key(second), "!Migrating && !Paused")
	awaitProbe(t, cluster, key(second), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	mustDelete(t, first)
	cluster.AwaitGone(t, probeNamed(namespace, first.Name))
	setConditions(t, cluster, custom, "Migrating=False", "Paused=False")
	awaitProbe(t, cluster, key(second), "Upgradeable=True/AllUpgradeable", "Synced=True/Synced")
	awaitPolicy(t, policy, "Matched=True/OperatorsFound", holdv1alpha1.PolicyOperator{
		Installer: holdv1alpha1.InstallerOLM, Namespace: namespace, Name: second.Name, Upgradeable: metav1.ConditionTrue,
	})

	t.Log("the Probe is the policy's: it is created again, and another spec is corrected")
	p = probeNamed(namespace, second.Name)
	mustDelete(t, p)
	p = awaitProbe(t, cluster, key(second), "Upgradeable=True/AllUpgradeable")
	before := p.DeepCopy()
	p.Spec.ProbeResources[0].Upgradeable = "Migrating"
	if err := cluster.Client.Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	awaitSpec(t, key(second), "!Migrating && !Paused")

	t.Log("the Probe ends with the policy")
	mustDelete(t, policy)
	cluster.AwaitGone(t, probeNamed(namespace, second.Name))
	m.CheckAlive(t)
}

// TestFieldNotFound verifies that a policy and its Probes report a comparison of a field that the custom resources cannot have, and no
// longer once they can.
func TestFieldNotFound(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "field")
	account(t, cluster, namespace, "field.example.com")
	cluster.Apply(t, namespace, strings.Replace(builder.CRD("foos", "field.example.com"),
		"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object, properties: {status: {type: object, properties: {phase: {type: string}}}}}", 1))
	operator := succeeded(t, namespace, "foo-operator.v1", "foos.field.example.com")
	policy := newPolicy("field", v1alpha1.ProbeResource{Name: "foos.field.example.com", Upgradeable: `status.phse == "Running"`})
	cluster.Create(t, policy)
	const problem = `status.phse == "Running" can never be true or false of a Foo: in version v1 there is no field status.phse`
	p := awaitProbe(t, cluster, key(operator), "Synced=False/FieldNotFound", "Upgradeable=True/NoResources")
	checkEqual(t, "message", problem, message(p, v1alpha1.ConditionSynced))
	awaitConditions := func(want string) {
		t.Helper()
		cluster.Await(t, policy, func() string { return testcluster.Lacking(policy.Status.Conditions, want) })
	}
	awaitConditions("Valid=False/FieldNotFound")
	checkEqual(t, "message", problem, meta.FindStatusCondition(policy.Status.Conditions, holdv1alpha1.ConditionValid).Message)

	crd := crdNamed("foos.field.example.com")
	add := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/phse","value":{"type":"string"}}]`
	if err := cluster.Client.Patch(t.Context(), crd, client.RawPatch(types.JSONPatchType, []byte(add))); err != nil {
		t.Fatal(err)
	}
	awaitProbe(t, cluster, key(operator), "Synced=True/Synced")
	awaitConditions("Valid=True/Valid")
	m.CheckAlive(t)
}

// TestProbePolicyPrecedence verifies that annotations take precedence over policies for their CustomResourceDefinition, and the Probe of
// a user altogether.
func TestProbePolicyPrecedence(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	namespace := cluster.Namespace(t, "precedence")
	account(t, cluster, namespace, "precedence.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "precedence.example.com", upgradeableNotMigrating)+"---\n"+builder.CRD("bars", "precedence.example.com")+
		"---\n"+builder.CRD("users", "precedence.example.com"))
	mixed := succeeded(t, namespace, "mixed.v1", "foos.precedence.example.com", "bars.precedence.example.com")
	users := succeeded(t, namespace, "users.v1", "users.precedence.example.com")
	own := userProbe(namespace, users.Name, v1alpha1.ProbeResource{Name: "users.precedence.example.com", Upgradeable: "!Migrating"})
	cluster.Create(t, own)
	awaitProbe(t, cluster, key(own), "Synced=True/Synced")
	awaitSpec(t, key(mixed), "!Migrating")

	policy := newPolicy("precedence",
		v1alpha1.ProbeResource{Name: "foos.precedence.example.com", Upgradeable: "Ready"},
		v1alpha1.ProbeResource{Name: "bars.precedence.example.com", Upgradeable: "Ready"},
		v1alpha1.ProbeResource{Name: "users.precedence.example.com", Upgradeable: "Ready"})
	cluster.Create(t, policy)
	p := probeNamed(namespace, mixed.Name)
	cluster.Await(t, p, func() string {
		if p.Spec == nil || len(p.Spec.ProbeResources) != 2 {
			return "the policy has not added its resource"
		}
		return ""
	})
	checkEqual(t, "the resources", []v1alpha1.ProbeResource{
		{Name: "foos.precedence.example.com", Upgradeable: "!Migrating"}, {Name: "bars.precedence.example.com", Upgradeable: "Ready"},
	}, p.Spec.ProbeResources)
	checkEqual(t, "the manager", v1alpha1.ManagerCRDAnnotations, p.Spec.Manager)
	awaitProbe(t, cluster, key(mixed), "Synced=True/Synced")
	awaitPolicy(t, policy, "Matched=True/OperatorsFound", holdv1alpha1.PolicyOperator{
		Installer: holdv1alpha1.InstallerOLM, Namespace: namespace, Name: mixed.Name, Upgradeable: metav1.ConditionTrue,
	})
	awaitSpec(t, key(own), "!Migrating")

	t.Log("the policy applies as soon as the user's Probe is gone")
	mustDelete(t, own)
	awaitSpec(t, key(users), "Ready")
	awaitPolicy(t, policy, "Matched=True/OperatorsFound",
		holdv1alpha1.PolicyOperator{Installer: holdv1alpha1.InstallerOLM, Namespace: namespace, Name: mixed.Name, Upgradeable: metav1.ConditionTrue},
		holdv1alpha1.PolicyOperator{Installer: holdv1alpha1.InstallerOLM, Namespace: namespace, Name: users.Name, Upgradeable: metav1.ConditionTrue})
}

// TestProbePolicyOfAnyInstaller verifies that a policy applies to the workloads that may report on its custom resources, that the order in which
// roles and workloads begin and cease to exist does not matter, and that the Probe of a user takes precedence.
func TestProbePolicyOfAnyInstaller(t *testing.T) {
	m := cluster.StartManager(t)
	namespace, other := cluster.Namespace(t, "anybody"), cluster.Namespace(t, "anybody-other")
	const group, crd, operator = "anybody.example.com", "foos.anybody.example.com", "foo-operator"
	policy := newPolicy("anybody", v1alpha1.ProbeResource{Name: crd, Upgradeable: "!Migrating"})
	cluster.Create(t, policy)
	run := func(name string, owners ...metav1.OwnerReference) *appsv1.Deployment {
		t.Helper()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners}}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
		d.Spec.Template.Spec = corev1.PodSpec{ServiceAccountName: operator, Containers: []corev1.Container{{Name: "a", Image: "example.com/a:1"}}}
		cluster.Create(t, d)
		return d
	}
	bind := func(in string) client.Object {
		t.Helper()
		metadata := metav1.ObjectMeta{Namespace: in, Name: "reports-" + namespace}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: metadata.Name}
		subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: operator}}
		var out client.Object = &rbacv1.ClusterRoleBinding{ObjectMeta: metadata, RoleRef: ref, Subjects: subjects}
		if in != "" {
			out = &rbacv1.RoleBinding{ObjectMeta: metadata, RoleRef: ref, Subjects: subjects}
		}
		cluster.Create(t, out)
		return out
	}
	awaitPolicy(t, policy, "Matched=False/NoOperatorFound")
	deployed := run(operator)
	run("operand", metav1.OwnerReference{APIVersion: group + "/v1", Kind: "Foo", Name: "foo", UID: "1", Controller: new(true)})
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operator}})
	bound := bind(other)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: bound.GetName()}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{"foos", "foos/status"}, Verbs: []string{"get", "list", "watch"}},
	}}
	cluster.Create(t, role)
	cluster.Apply(t, namespace, builder.CRD("foos", group))
	foo(t, cluster, group, other, "foo", "Migrating=True")
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: namespace, Name: operator}
	probe := types.NamespacedName{Namespace: namespace, Name: of.ProbeName()}

	t.Log("who may read only is no operator, and is one once it may report")
	before := role.DeepCopy()
	role.Rules[0].Verbs = append(role.Rules[0].Verbs, "update")
	if err := cluster.Client.Patch(t.Context(), role, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	p := awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "the namespaces", []string{other}, p.Spec.Namespaces)
	listed := holdv1alpha1.PolicyOperator{Installer: of.Installer, Namespace: namespace, Name: operator, Upgradeable: metav1.ConditionFalse}
	awaitPolicy(t, policy, "Matched=True/OperatorsFound", listed)

	t.Log("it is read where the operator may report, and a role that goes does not end the hold")
	everywhere := bind("")
	cluster.Await(t, p, func() string {
		if len(p.Spec.Namespaces) > 0 {
			return "it still reads some namespaces only"
		}
		return ""
	})
	awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	mustDelete(t, bound)
	mustDelete(t, everywhere)
	changePolicy(t, policy, func() { policy.Spec.ProbeResources[0].Upgradeable = "!Migrating && !Paused" })
	awaitSpec(t, probe, "!Migrating && !Paused")
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldName()}}
	cluster.Await(t, hold, func() string {
		if c := meta.FindStatusCondition(hold.Status.Conditions, holdv1alpha1.ConditionHeld); c == nil || c.Status != metav1.ConditionTrue {
			return "the updates are not held"
		}
		return ""
	})
	bind("")
	awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")

	t.Log("the Probe of a user takes precedence while it exists")
	own := userProbe(namespace, "own", v1alpha1.ProbeResource{Name: crd, Upgradeable: "Migrating"})
	own.Spec.Operator = &v1alpha1.ProbedOperator{Installer: "Workload", Name: operator}
	cluster.Create(t, own)
	cluster.AwaitGone(t, probeNamed(probe.Namespace, probe.Name))
	cluster.AwaitGone(t, hold)
	awaitPolicy(t, policy, "Matched=False/NoOperatorFound")
	mustDelete(t, own)
	awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable")

	t.Log("a policy for other installers has none, and neither has an operator that is gone")
	changePolicy(t, policy, func() {
		policy.Spec.Match = &holdv1alpha1.OperatorMatch{Installers: []holdv1alpha1.Installer{"Helm"}}
	})
	cluster.AwaitGone(t, probeNamed(probe.Namespace, probe.Name))
	changePolicy(t, policy, func() { policy.Spec.Match = nil })
	awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable")
	mustDelete(t, deployed)
	cluster.AwaitGone(t, probeNamed(probe.Namespace, probe.Name))
	cluster.AwaitGone(t, hold)
	awaitPolicy(t, policy, "Matched=False/NoOperatorFound")
	m.CheckAlive(t)
}

// TestAnnotatedWithoutOLM verifies that the annotations of a CustomResourceDefinition hold the updates of the workloads that serve it, unless
// a ClusterServiceVersion owns it, and that no change of them ends a hold.
func TestAnnotatedWithoutOLM(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "annotated")
	const group, crd, operator = "annotated.example.com", "foos.annotated.example.com", "foo-operator"
	account(t, cluster, namespace, group)
	role := &rbacv1.ClusterRole{}
	if err := cluster.Client.Get(t.Context(), types.NamespacedName{Name: "foo-operator-of-" + namespace}, role); err != nil {
		t.Fatal(err)
	}
	before := role.DeepCopy()
	role.Rules[0].Verbs = append(role.Rules[0].Verbs, "update")
	if err := cluster.Client.Patch(t.Context(), role, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	d := deploymentOf(namespace, operator)
	cluster.Create(t, d)
	cluster.Apply(t, namespace, builder.CRD("foos", group))
	custom := foo(t, cluster, group, namespace, "foo", "Migrating=True", "Upgrading=False")
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: namespace, Name: operator}
	probe := types.NamespacedName{Namespace: namespace, Name: of.ProbeName()}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldName()}}

	t.Log("it is annotated while the operator runs")
	annotate(t, crd, "!Migrating")
	p := awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "the manager", v1alpha1.ManagerCRDAnnotations, p.Spec.Manager)
	cluster.Await(t, hold, func() string { return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable") })

	t.Log("another annotation, or none, does not end the hold, and is reported")
	for _, upgradeable := range []string{"!Upgrading", ""} {
		annotate(t, crd, upgradeable)
		p = awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable", "AnnotationsDiffer=True/ChangedSinceInstallation")
	}
	checkEqual(t, "the resources", v1alpha1.ProbeResource{Name: crd, Upgradeable: "!Migrating"}, p.Spec.ProbeResources[len(p.Spec.ProbeResources)-1])
	annotate(t, crd, "!Upgrading")
	mustDelete(t, p)
	awaitSpec(t, probe, "!Upgrading")
	awaitProbe(t, cluster, probe, "Upgradeable=True/AllUpgradeable", "Synced=True/Synced")
	cluster.AwaitGone(t, hold)

	t.Log("while an update is allowed, the annotation that it has now counts")
	annotate(t, crd, "!Migrating")
	awaitSpec(t, probe, "!Migrating")
	awaitProbe(t, cluster, probe, "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	setConditions(t, cluster, custom, "Migrating=False")
	awaitProbe(t, cluster, probe, "Upgradeable=True/AllUpgradeable")

	t.Log("a restart keeps the Probe, also before the ClusterServiceVersions are known")
	p = probeNamed(probe.Namespace, probe.Name)
	if err := cluster.Client.Get(t.Context(), probe, p); err != nil {
		t.Fatal(err)
	}
	m.Kill(t)
	m = cluster.StartManager(t)
	again := probeNamed(probe.Namespace, probe.Name)
	cluster.Await(t, again, func() string {
		if again.Status.Reader == p.Status.Reader {
			return "the new manager has not read its custom resources"
		}
		return testcluster.Lacking(again.Status.Conditions, "Upgradeable=True/AllUpgradeable")
	})
	checkEqual(t, "the UID", p.UID, again.UID)

	t.Log("it is the declaration of a ClusterServiceVersion that owns it")
	owner := csv(namespace, "foo-operator.v1", crd)
	cluster.Create(t, owner)
	cluster.AwaitGone(t, probeNamed(probe.Namespace, probe.Name))
	mustDelete(t, owner)
	awaitProbe(t, cluster, probe, "Upgradeable=True/AllUpgradeable")
	annotate(t, crd, "")
	cluster.AwaitGone(t, probeNamed(probe.Namespace, probe.Name))
	m.CheckAlive(t)
}

// deploymentOf returns the Deployment of an operator that runs as the service account of its name.
func deploymentOf(namespace, name string) *appsv1.Deployment {
	out := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	out.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	out.Spec.Template.Labels = out.Spec.Selector.MatchLabels
	out.Spec.Template.Spec = corev1.PodSpec{ServiceAccountName: name, Containers: []corev1.Container{{Name: "a", Image: "example.com/a:1"}}}
	return out
}

// markPartOf marks a CustomResourceDefinition as a part of an application.
func markPartOf(t *testing.T, crd, application string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"app.kubernetes.io/part-of":%q}}}`, application))
	if err := cluster.Client.Patch(t.Context(), &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd}}, patch); err != nil {
		t.Fatal(err)
	}
}

// TestAdministrator verifies that an administrator is the operator of the CustomResourceDefinitions that were installed together with it,
// also if they are marked later.
func TestAdministrator(t *testing.T) {
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "administrator")
	const group, crd, operator = "administrator.example.com", "foos.administrator.example.com", "foo-operator"
	cluster.Account(t, namespace, operator, "cluster-admin")
	d := deploymentOf(namespace, operator)
	d.Labels = map[string]string{"app.kubernetes.io/part-of": namespace}
	cluster.Create(t, d)
	cluster.Apply(t, namespace, builder.CRD("foos", group))
	foo(t, cluster, group, namespace, "foo", "Migrating=True")
	annotate(t, crd, "!Migrating")

	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: namespace, Name: operator}
	markPartOf(t, crd, namespace)
	awaitProbe(t, cluster, types.NamespacedName{Namespace: namespace, Name: of.ProbeName()}, "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldName()}}
	cluster.Await(t, hold, func() string { return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable") })
	m.CheckAlive(t)
}

// TestReportedWithoutOLM verifies that an operator that no ClusterServiceVersion describes holds its updates with pkg/probe, while one of its
// objects does.
func TestReportedWithoutOLM(t *testing.T) {
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "reported")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "operator"}}
	d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
	d.Spec.Template.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "example.com/a:1"}}}
	cluster.Create(t, d)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"}, Spec: d.Spec.Template.Spec}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	cluster.Create(t, pod)
	own := probe.New(cluster.Client, discovery.NewDiscoveryClientForConfigOrDie(cluster.Config), probe.WithNamespace(namespace), probe.WithPodName(pod.Name))
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: namespace, Name: d.Name}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldName()}}
	a, b := probe.Object{Resource: "foos.example.com", Kind: "Foo", Name: "a"}, probe.Object{Resource: "foos.example.com", Kind: "Foo", Name: "b"}
	for _, object := range []probe.Object{a, b} {
		if err := own.Hold(t.Context(), object, "migrating"); err != nil {
			t.Fatal(err)
		}
	}
	awaitHeldFor := func(name string) {
		t.Helper()
		cluster.Await(t, hold, func() string {
			if c := meta.FindStatusCondition(hold.Status.Conditions, holdv1alpha1.ConditionHeld); c == nil || !strings.Contains(c.Message, "Waiting for Foo "+name) {
				return "it does not wait for " + name
			}
			return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable")
		})
	}
	awaitHeldFor("a")
	if err := own.Release(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	awaitHeldFor("b")
	if err := own.Release(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, hold)
	m.CheckAlive(t)
}

func newPolicy(name string, resources ...v1alpha1.ProbeResource) *holdv1alpha1.ProbePolicy {
	return &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: holdv1alpha1.ProbePolicySpec{ProbeResources: resources}}
}

func changePolicy(t *testing.T, policy *holdv1alpha1.ProbePolicy, change func()) {
	t.Helper()
	before := policy.DeepCopy()
	change()
	if err := cluster.Client.Patch(t.Context(), policy, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func awaitPolicy(t *testing.T, policy *holdv1alpha1.ProbePolicy, condition string, operators ...holdv1alpha1.PolicyOperator) {
	t.Helper()
	cluster.Await(t, policy, func() string {
		switch {
		case testcluster.Lacking(policy.Status.Conditions, condition) != "":
			return testcluster.Lacking(policy.Status.Conditions, condition)
		case policy.Status.ObservedGeneration != policy.Generation:
			return "the status is of an earlier generation"
		case !slices.Equal(policy.Status.Operators, operators) || int(policy.Status.Summary.Operators) != len(operators):
			return "it lists other operators"
		}
		return ""
	})
}
