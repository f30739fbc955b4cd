package controllers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/operator"
)

// deployment returns a Deployment that runs as the service account of its name.
func deployment(namespace, name string, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	out := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	out.Spec.Template.Spec.ServiceAccountName = name
	out.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "example.com:5000/" + name + ":v1@sha256:0"}}
	for _, c := range change {
		c(out)
	}
	return out
}

// bound returns a role and its binding to service account foo/operator, in a namespace, or in all if that is empty.
func bound(namespace string, rule rbacv1.PolicyRule) []installer.Object {
	const account, accountNamespace = "operator", "foo"
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: account}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: accountNamespace, Name: account}}
	if namespace != "" {
		return []installer.Object{
			&rbacv1.Role{ObjectMeta: metadata, Rules: []rbacv1.PolicyRule{rule}},
			&rbacv1.RoleBinding{ObjectMeta: metadata, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: account}, Subjects: subjects},
		}
	}
	return []installer.Object{
		&rbacv1.ClusterRole{ObjectMeta: metadata, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metadata, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: account}, Subjects: subjects},
	}
}

func definition(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func TestIn(t *testing.T) {
	cases := map[string]struct {
		reason string
		rule   rbacv1.PolicyRule
		in     string // namespace of the role, or empty for all
		change func(*appsv1.Deployment)
		want   []string // CustomResourceDefinitions, or none if it is no operator
	}{
		"Status":    {reason: "An operator reports on its custom resources.", rule: rule("example.com", "foos/status", "get", "update"), want: []string{"foos.example.com"}},
		"Patch":     {reason: "It may patch their status.", rule: rule("example.com", "foos/status", "patch"), want: []string{"foos.example.com"}},
		"Group":     {reason: "It may do everything in its own group.", rule: rule("example.com", "*", "*"), want: []string{"bars.example.com", "foos.example.com"}},
		"AllStatus": {reason: "Or report on everything there.", rule: rule("example.com", "*/status", "update"), want: []string{"bars.example.com", "foos.example.com"}},
		"Namespace": {reason: "It may be the operator of one namespace.", rule: rule("example.com", "foos/status", "update"), in: "foo", want: []string{"foos.example.com"}},
		"Reads":     {reason: "Who only reads is no operator.", rule: rule("example.com", "foos/status", "get", "list", "watch")},
		"Uses":      {reason: "Nor is who creates custom resources.", rule: rule("example.com", "foos", "create", "update")},
		"Admin":     {reason: "Nor is an administrator, who may do everything.", rule: rule("*", "*", "*")},
		"AdminOfOthers": {
			reason: "Nor is one that was installed together with something else.", rule: rule("*", "*", "*"),
			change: func(d *appsv1.Deployment) { d.Labels = map[string]string{"app.kubernetes.io/part-of": "bar"} },
		},
		"AdminTogether": {
			reason: "An administrator is the operator of CustomResourceDefinitions that were installed together with it.",
			rule:   rule("*", "*", "*"), want: []string{"foos.example.com"},
			change: func(d *appsv1.Deployment) { d.Labels = map[string]string{"app.kubernetes.io/part-of": "foo"} },
		},
		"StatusOfAll": {
			reason: "Also one that may report on everything.", rule: rule("*", "*/status", "patch"), in: "foo", want: []string{"foos.example.com"},
			change: func(d *appsv1.Deployment) { d.Labels = map[string]string{"app.kubernetes.io/part-of": "foo"} },
		},
		"TogetherOnly": {
			reason: "Who may not report on custom resources is no operator, whatever it was installed with.", rule: rule("*", "*", "get", "create"),
			change: func(d *appsv1.Deployment) { d.Labels = map[string]string{"app.kubernetes.io/part-of": "foo"} },
		},
		"OtherKind": {reason: "A kind without CustomResourceDefinition counts for nothing.", rule: rule("apps", "deployments/status", "update")},
		"OfOLM": {
			reason: "OLM describes its operators.", rule: rule("example.com", "foos/status", "update"),
			change: func(d *appsv1.Deployment) {
				d.Labels, d.OwnerReferences = map[string]string{"olm.owner": "foo.v1"}, []metav1.OwnerReference{{Kind: "ClusterServiceVersion", Name: "foo.v1"}}
			},
		},
		"OtherAccount": {
			reason: "The account of the pods counts.", rule: rule("example.com", "foos/status", "update"),
			change: func(d *appsv1.Deployment) { d.Spec.Template.Spec.ServiceAccountName = "" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := deployment("foo", "operator")
			if tc.change != nil {
				tc.change(d)
			}
			c := installer.Cluster{Objects: append(bound(tc.in, tc.rule), d, deployment("foo", "other"), deployment("bar", "operator"))}
			for _, crd := range []string{"foos.example.com", "bars.example.com", "bazes.other.example.com"} {
				metadata := metav1.ObjectMeta{Name: crd}
				if crd == "foos.example.com" {
					metadata.Labels = map[string]string{"app.kubernetes.io/part-of": "foo"}
				}
				c.Objects = append(c.Objects, &metav1.PartialObjectMetadata{ObjectMeta: metadata})
			}
			var got []string
			for _, w := range In(c) {
				if w.String() != "Deployment foo/operator" {
					t.Errorf("%s\n%s is an operator", tc.reason, w.Ref)
				}
				got = w.Definitions
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNamespaces verifies in which namespaces a controller serves CustomResourceDefinitions.
func TestNamespaces(t *testing.T) {
	foos, bars := rule("example.com", "foos/status", "update"), rule("example.com", "bars/status", "update")
	cases := map[string]struct {
		reason  string
		objects [][]installer.Object
		of      []string
		want    []string // or nil for all
	}{
		"All":       {"A ClusterRoleBinding counts everywhere.", [][]installer.Object{bound("", foos)}, []string{"foos.example.com"}, nil},
		"Some":      {"A RoleBinding counts in its namespace.", [][]installer.Object{bound("b", foos), bound("a", foos)}, []string{"foos.example.com"}, []string{"a", "b"}},
		"AlsoAll":   {"A ClusterRoleBinding counts beside a RoleBinding.", [][]installer.Object{bound("a", foos), bound("", foos), bound("b", foos)}, []string{"foos.example.com"}, nil},
		"OneOf":     {"Each CustomResourceDefinition has its own.", [][]installer.Object{bound("a", foos), bound("", bars)}, []string{"foos.example.com"}, []string{"a"}},
		"OneInAll":  {"Several are served in all namespaces if one is.", [][]installer.Object{bound("a", foos), bound("", bars)}, []string{"bars.example.com", "foos.example.com"}, nil},
		"NotServed": {"Others do not count.", [][]installer.Object{bound("a", foos)}, []string{"bars.example.com", "foos.example.com"}, []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			definitions := Definitions{"foos.example.com": nil, "bars.example.com": nil}
			w, _ := installer.WorkloadOf(deployment("foo", "operator"))
			rights := RightsIn(installer.Cluster{Objects: slices.Concat(tc.objects...)}, definitions)[w.Account()]
			if diff := cmp.Diff(tc.want, rights.Served(w, definitions).Namespaces(tc.of)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUserRoles verifies that the roles that Kubernetes has for users make no operator, whatever was added to them, but that cluster-admin,
// which is one of them, makes one of who was installed together with CustomResourceDefinitions.
func TestUserRoles(t *testing.T) {
	for _, tc := range []struct {
		role string
		rule rbacv1.PolicyRule
		want int
	}{{"edit", rule("example.com", "foos/status", "update"), 0}, {"cluster-admin", rule("*", "*", "*"), 1}} {
		objects := bound("", tc.rule)
		objects[0].SetLabels(map[string]string{LabelBootstrapping: "rbac-defaults"})
		release := map[string]string{"meta.helm.sh/release-name": "foo", "meta.helm.sh/release-namespace": "foo"}
		objects = append(objects, deployment("foo", "operator"), &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"}})
		for _, o := range objects[2:] {
			o.SetAnnotations(release)
		}
		if got := In(installer.Cluster{Objects: objects}); len(got) != tc.want {
			t.Errorf("role %s makes these operators, want %d: %v", tc.role, tc.want, got)
		}
	}
}

// TestAccounts verifies which service accounts the subjects of a binding are.
func TestAccounts(t *testing.T) {
	subjects := []rbacv1.Subject{
		{Kind: "ServiceAccount", Namespace: "foo", Name: "a"}, {Kind: "ServiceAccount", Name: "b"},
		{Kind: "User", Name: "system:serviceaccount:foo:c"}, {Kind: "User", Name: "system:serviceaccount"}, {Kind: "User", Name: "foo:c"},
		{Kind: "Group", Name: "system:serviceaccounts:foo"},
	}
	want := []types.NamespacedName{{Namespace: "foo", Name: "a"}, {Namespace: "bar", Name: "b"}, {Namespace: "foo", Name: "c"}}
	if diff := cmp.Diff(want, Accounts("bar", subjects)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDescribe(t *testing.T) {
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: "foo", Name: "operator"}
	hold := func(name string, of holdv1alpha1.OperatorReference, status metav1.ConditionStatus, labels map[string]string) *holdv1alpha1.UpgradeHold {
		out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: holdv1alpha1.UpgradeHoldSpec{Operator: of}}
		out.Status.Conditions = []metav1.Condition{{Type: holdv1alpha1.ConditionHeld, Status: status}}
		out.Status.Holds = []holdv1alpha1.HoldCause{{Reason: "Because", By: "Probe foo/" + name, Message: "busy"}}
		return out
	}
	reported := map[string]string{holdv1alpha1.LabelReported: "true"}
	other := of
	other.Name = "other"
	cases := map[string]struct {
		reason   string
		objects  []installer.Object
		unread   []string
		want     metav1.ConditionStatus // Upgradeable
		blockers []string
		limited  []string // Unread
	}{
		"Free": {reason: "Nothing holds it.", want: metav1.ConditionTrue},
		"Reported": {reason: "Its conditions hold it.", objects: []installer.Object{hold("a", of, "True", reported)}, want: metav1.ConditionFalse,
			blockers: []string{"Held by Probe foo/a: kubectl get upgradehold.operatorstatus.io a -o jsonpath='{.status.message}'"}},
		"ByUser": {reason: "A user holds it.", objects: []installer.Object{hold("a", of, "True", nil)}, want: metav1.ConditionFalse,
			blockers: []string{"Held by Probe foo/a: kubectl delete upgradehold.operatorstatus.io a"}},
		"Expired": {reason: "A hold that has ended is none.", objects: []installer.Object{hold("a", of, "False", nil)}, want: metav1.ConditionTrue},
		"Other":   {reason: "Another operator is held.", objects: []installer.Object{hold("a", other, "True", nil)}, want: metav1.ConditionTrue},
		"Unread": {
			reason: "Nothing is concluded from UpgradeHolds that may not be read.", objects: []installer.Object{definition("upgradeholds.operatorstatus.io")},
			unread: []string{upgradeHolds}, want: metav1.ConditionUnknown, limited: []string{upgradeHolds},
		},
		"UnreadProbes": {
			reason: "Nor from Probes, one of which may not be able to read.", objects: []installer.Object{definition("probes.operators.coreos.com")},
			unread: []string{"Probes"}, want: metav1.ConditionTrue, limited: []string{"Probes"},
		},
		"NotServed": {
			reason: "A user without rights may not read kinds that do not exist, either.", objects: []installer.Object{definition("foos.example.com")},
			unread: []string{upgradeHolds, "Probes"}, want: metav1.ConditionTrue,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, _ := installer.WorkloadOf(deployment("foo", "operator", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }))
			got := describe(of, []installer.Workload{w}, installer.Cluster{Objects: tc.objects, Unread: tc.unread})
			if got.Upgradeable != tc.want || got.State != operator.Running || got.Version != "v1" || !slices.Equal(got.Unread, tc.limited) {
				t.Errorf("%s\ngot %+v", tc.reason, got)
			}
			var blockers []string
			for _, b := range got.Blockers {
				blockers = append(blockers, string(b.Impact)+" by "+b.By+": "+b.Steps[0].Command)
			}
			if diff := cmp.Diff(tc.blockers, blockers); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnread verifies that an operator is not judged without the object that applied it, if the cluster has objects of its kind.
func TestUnread(t *testing.T) {
	const helmReleases, kustomizations = "helmreleases.helm.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io"
	extension := map[string]string{"olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "extension"}
	cases := map[string]struct {
		reason string
		labels map[string]string
		crd    string
		want   []string
	}{
		"HelmRelease":   {"Flux applied it.", map[string]string{"helm.toolkit.fluxcd.io/name": "foo"}, helmReleases, []string{"HelmReleases"}},
		"Kustomization": {"Flux applied it in another way.", map[string]string{"kustomize.toolkit.fluxcd.io/name": "foo"}, kustomizations, []string{"Kustomizations"}},
		"Other":         {"The kind of another object does not matter.", map[string]string{"helm.toolkit.fluxcd.io/name": "foo"}, kustomizations, nil},
		"Application":   {"Argo CD applied it.", map[string]string{"argocd.argoproj.io/instance": "foo"}, "applications.argoproj.io", []string{"Applications"}},
		"OtherCluster":  {"Argo CD may run in another cluster.", map[string]string{"argocd.argoproj.io/instance": "foo"}, "foos.example.com", nil},
		"Extension":     {"OLM v1 applied it.", extension, "clusterextensions.olm.operatorframework.io", []string{"ClusterExtensions"}},
		"None":          {"Nobody else did.", nil, helmReleases, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, _ := installer.WorkloadOf(deployment("foo", "operator"))
			w.Labels = tc.labels
			c := installer.Cluster{
				Objects: []installer.Object{definition(tc.crd)}, Unread: []string{"Applications", "ClusterExtensions", "HelmReleases", "Kustomizations"},
			}
			if diff := cmp.Diff(tc.want, describe(Owner(w), []installer.Workload{w}, c).Unread); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOwner(t *testing.T) {
	helms := map[string]string{"meta.helm.sh/release-name": "release", "meta.helm.sh/release-namespace": "bar"}
	extension := map[string]string{"olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "extension"}
	cases := map[string]struct {
		reason              string
		labels, annotations map[string]string
		want, installer     string
	}{
		"Workload": {reason: "Without a mark, it is the operator itself.", want: "Workload foo/operator"},
		"Helm":     {reason: "It belongs to its release, wherever that is.", annotations: helms, want: "Helm bar/release", installer: "Helm"},
		"OLMv1":    {reason: "OLM v1 marks it as Helm does.", labels: extension, annotations: helms, want: "OLMv1 foo/extension", installer: "OLM v1"},
		"Flux": {
			reason: "Flux installs releases of Helm.", labels: map[string]string{"helm.toolkit.fluxcd.io/name": "foo"}, annotations: helms,
			want: "Helm bar/release", installer: "Flux",
		},
		"ArgoCD": {
			reason: "Argo CD applies charts without release.", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "foo"},
			want: "Workload foo/operator", installer: "Argo CD",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, _ := installer.WorkloadOf(deployment("foo", "operator"))
			w.Labels, w.Annotations = tc.labels, tc.annotations
			of := Owner(w)
			if got := fmt.Sprintf("%s %s/%s", of.Installer, of.Namespace, of.Name); got != tc.want || installerOf(of, w) != tc.installer {
				t.Errorf("%s\ngot %s, installed by %q, want %s, %q", tc.reason, got, installerOf(of, w), tc.want, tc.installer)
			}
		})
	}
}

func TestTree(t *testing.T) {
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: "foo", Name: "release"}
	release := func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"meta.helm.sh/release-name": "release", "meta.helm.sh/release-namespace": "foo"}
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 1, 1, 1
	}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "audit"}, Spec: holdv1alpha1.UpgradeHoldSpec{Operator: of}}
	hold.Status.Conditions = []metav1.Condition{{Type: holdv1alpha1.ConditionHeld, Status: metav1.ConditionTrue, Message: "An audit"}}
	hold.Status.Holds = []holdv1alpha1.HoldCause{{Reason: holdv1alpha1.ReasonHeldByUser, By: "UpgradeHold audit", Message: "An audit"}}
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "probe"}, Spec: &v1alpha1.ProbeSpec{
		Operator: &v1alpha1.ProbedOperator{Installer: "Helm", Name: "release"},
	}}
	c := installer.Cluster{Objects: append(bound("", rule("example.com", "*", "*")), deployment("foo", "operator", release),
		deployment("foo", "other"), hold, probe, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"}})}
	operators := Installer{}.Operators(c)
	if len(operators) != 1 {
		t.Fatalf("got the operators %v", operators)
	}
	got, ok := Installer{}.Trees(c)(operators[0])
	want := operator.Node{Name: "Helm release foo/release", State: "Held", Message: "An audit", Children: []operator.Node{
		{Name: "Deployment foo/operator", State: "Available", Children: []operator.Node{{Name: "1 CustomResourceDefinition", State: "Served"}}},
		{Name: "Probe foo/probe", State: "Upgradeable=Unknown"},
		{Name: "UpgradeHold audit", State: "Held=True", Message: "An audit"},
	}}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("found: %t, -want +got\n%s", ok, diff)
	}
	subscribed := operator.Operator{Namespace: "foo", Name: "subscribed", Reference: holdv1alpha1.SubscribedOperator("foo", "subscribed")}
	if _, ok := (Installer{}).Trees(c)(subscribed); ok {
		t.Error("it knows the objects of an operator of OLM")
	}
}

// TestExtensions verifies which operators are described because of their ClusterExtension: those that OLM v1 has not installed.
func TestExtensions(t *testing.T) {
	extension := func(name, reason string) *olmv1.ClusterExtension {
		out := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: name}}
		out.Spec.Namespace = "foo"
		out.Status.Conditions = []metav1.Condition{{Type: "Progressing", Status: metav1.ConditionTrue, Reason: reason, Message: "no bundles found"}}
		return out
	}
	objects := []installer.Object{extension("absent", "Retrying"), extension("content", "Succeeded")}
	for namespace, want := range map[string][]string{"": {"absent"}, "foo": {"absent"}, "bar": nil} {
		var got []string
		c := installer.Cluster{Objects: objects, Namespace: namespace}
		for _, op := range (Installer{}).Operators(c) {
			got = append(got, op.Name)
			if op.Installer != "OLM v1" || op.State != operator.NotInstalled || op.Unfinished == nil || !op.Unfinished.Broken {
				t.Errorf("an operator that could not be installed is %+v", op)
			}
			if node, ok := (Installer{}).Trees(c)(op); !ok || node.Name != "ClusterExtension absent" {
				t.Errorf("its tree is %+v, %t", node, ok)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in namespace %q, -want +got\n%s", namespace, diff)
		}
	}
}
