package install

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

var now = time.Date(2030, time.May, 4, 12, 0, 0, 0, time.UTC)

// change modifies the plain install of a test case before it is rendered.
type change func(*Install)

// fooCSV returns a CSV that owns the API of Foos and has one Deployment with one container, which runs as service
// account foo.
func fooCSV() *v1alpha1.ClusterServiceVersion {
	return &v1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "foo.v1", UID: "csv-uid"},
		Spec: olm.ClusterServiceVersionSpec{
			InstallModes: []olm.InstallMode{{Type: olm.InstallModeTypeAllNamespaces, Supported: true}},
			CustomResourceDefinitions: olm.CustomResourceDefinitions{
				Owned: []olm.CRDDescription{{Name: "foos.example.com", Version: "v1", Kind: "Foo"}},
			},
			InstallStrategy: olm.NamedInstallStrategy{
				StrategyName: olm.InstallStrategyNameDeployment,
				StrategySpec: olm.StrategyDetailsDeployment{
					DeploymentSpecs: []olm.StrategyDeploymentSpec{{Name: "foo-manager", Spec: appsv1.DeploymentSpec{
						Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "foo"}},
						Template: corev1.PodTemplateSpec{
							ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "foo"}},
							Spec:       corev1.PodSpec{ServiceAccountName: "foo", Containers: []corev1.Container{{Name: "manager", Image: "foo:1"}}},
						},
					}}},
				},
			},
		},
	}
}

func rule(verb, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{resource}}
}

func grants(account string, rules ...rbacv1.PolicyRule) olm.StrategyDeploymentPermissions {
	return olm.StrategyDeploymentPermissions{ServiceAccountName: account, Rules: rules}
}

func withPermissions(permissions ...olm.StrategyDeploymentPermissions) change {
	return func(in *Install) { in.CSV.Spec.InstallStrategy.StrategySpec.Permissions = permissions }
}

func withClusterPermissions(permissions ...olm.StrategyDeploymentPermissions) change {
	return func(in *Install) { in.CSV.Spec.InstallStrategy.StrategySpec.ClusterPermissions = permissions }
}

func withTargets(namespaces ...string) change {
	return func(in *Install) { in.Targets = namespaces }
}

// ungranted returns an install to which no InstallPlan has granted anything.
func ungranted(in Install) Install {
	in.Grant = Grant{}
	return in
}

// plain returns an install of fooCSV with changes, for all namespaces. Everything that it asks for is granted, and it
// has its certificates.
func plain(t *testing.T, changes ...change) Install {
	t.Helper()
	in := Install{
		CSV:   fooCSV(),
		Group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "group"}},
		CRDs:  map[string]types.UID{"foos.example.com": "crd-uid"},
	}
	for _, c := range changes {
		c(&in)
	}
	in.Grant = GrantOf(&in.CSV.Spec)
	certs, err := Certify(in.CSV, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	in.Certificates = certs
	return in
}

func rendered(t *testing.T, in Install) Rendered {
	t.Helper()
	out, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func found[T client.Object](t *testing.T, out Rendered, name string) T {
	t.Helper()
	for _, obj := range out.Objects {
		if typed, ok := obj.Object.(T); ok && typed.GetName() == name {
			return typed
		}
	}
	var none T
	t.Fatalf("no %T %s", none, name)
	return none
}

// generated matches the hash at the end of a name.
var generated = regexp.MustCompile(`-([0-9A-Za-z]{36,38}|[0-9a-f]{10})$`)

// listing returns the kind, namespace and name of each object in order, with * for a hash.
func listing(out Rendered) []string {
	var list []string
	for _, obj := range out.Objects {
		list = append(list, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetNamespace()+"/"+generated.ReplaceAllString(obj.GetName(), "-*"))
	}
	return list
}

// always lists the objects of every install of fooCSV.
var always = []string{
	"ClusterRole /foos.example.com-v1-admin",
	"ClusterRole /foos.example.com-v1-edit",
	"ClusterRole /foos.example.com-v1-view",
	"ClusterRole /foos.example.com-v1-crdview",
	"OperatorCondition operators/foo.v1",
	"Role operators/foo.v1",
	"RoleBinding operators/foo.v1",
	"Deployment operators/foo-manager",
}

// byPhase sorts lines of a listing by the phase of their kind.
func byPhase(lines []string) []string {
	phases := []string{"", "RoleBinding ClusterRoleBinding", "Deployment", "ValidatingWebhookConfiguration MutatingWebhookConfiguration"}
	phase := func(line string) int {
		kind, _, _ := strings.Cut(line, " ")
		return max(0, slices.IndexFunc(phases, func(kinds string) bool { return slices.Contains(strings.Fields(kinds), kind) }))
	}
	out := slices.Clone(lines)
	slices.SortStableFunc(out, func(a, b string) int { return phase(a) - phase(b) })
	return out
}

func TestRender(t *testing.T) {
	cases := map[string]struct {
		reason  string
		changes []change
		want    []string // before always, if that is rendered
		instead []string // instead of want and always
		leftOut []string
	}{
		"nothing asked": {
			reason: "An operator without permissions gets its Deployment, its OperatorCondition and the roles for its API.",
		},
		"own namespace": {
			reason:  "An operator of its own namespace gets its ServiceAccount and a Role there.",
			changes: []change{withPermissions(grants("foo", rule("get", "pods"))), withTargets("operators")},
			want: []string{
				"ServiceAccount operators/foo",
				"Role operators/foo.v1-foo-*", "RoleBinding operators/foo.v1-foo-*",
			},
		},
		"two namespaces": {
			reason:  "Each target namespace gets the Role, whatever the order.",
			changes: []change{withPermissions(grants("foo", rule("get", "pods"))), withTargets("b", "operators", "a", "b")},
			want: []string{
				"ServiceAccount operators/foo",
				"Role operators/foo.v1-foo-*", "RoleBinding operators/foo.v1-foo-*",
				"Role a/foo.v1-foo-*", "RoleBinding a/foo.v1-foo-*",
				"Role b/foo.v1-foo-*", "RoleBinding b/foo.v1-foo-*",
			},
		},
		"absent namespace": {
			reason: "A target namespace that does not exist gets no Role.",
			changes: []change{
				withPermissions(grants("foo", rule("get", "pods"))), withTargets("operators", "a", "b"),
				func(in *Install) { in.Absent = []string{"b"} },
			},
			want: []string{
				"ServiceAccount operators/foo",
				"Role operators/foo.v1-foo-*", "RoleBinding operators/foo.v1-foo-*",
				"Role a/foo.v1-foo-*", "RoleBinding a/foo.v1-foo-*",
			},
		},
		"all namespaces": {
			reason:  "An operator of all namespaces gets a ClusterRole for its namespaced permissions, too.",
			changes: []change{withPermissions(grants("foo", rule("get", "pods"))), withTargets("")},
			want: []string{
				"ServiceAccount operators/foo",
				"Role operators/foo.v1-foo-*", "RoleBinding operators/foo.v1-foo-*",
				"ClusterRole /foo.v1-foo-*", "ClusterRoleBinding /foo.v1-foo-*",
			},
		},
		"covered by cluster permissions": {
			reason: "Permissions that the cluster permissions cover are not granted in the cluster twice.",
			changes: []change{
				withPermissions(grants("foo", rule("get", "pods"))),
				withClusterPermissions(grants("foo", rule("*", "*"))),
			},
			want: []string{
				"ServiceAccount operators/foo",
				"Role operators/foo.v1-foo-*", "RoleBinding operators/foo.v1-foo-*",
				"ClusterRole /foo.v1-*", "ClusterRoleBinding /foo.v1-*",
			},
		},
		"covered for another account": {
			reason: "Cluster permissions of another account do not cover permissions.",
			changes: []change{
				withPermissions(grants("foo", rule("get", "pods"))),
				withClusterPermissions(grants("bar", rule("*", "*"))),
			},
			want: []string{
				"ServiceAccount operators/bar", "ServiceAccount operators/foo",
				"Role operators/foo.v1-foo-*", "RoleBinding operators/foo.v1-foo-*",
				"ClusterRole /foo.v1-foo-*", "ClusterRoleBinding /foo.v1-foo-*",
				"ClusterRole /foo.v1-*", "ClusterRoleBinding /foo.v1-*",
			},
		},
		"default account, asked twice": {
			reason:  "The default account is not created, and equal permissions result in one Role.",
			changes: []change{withPermissions(grants("default", rule("get", "pods")), grants("default", rule("get", "pods"))), withTargets("operators")},
			want:    []string{"Role operators/foo.v1-default-*", "RoleBinding operators/foo.v1-default-*"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := rendered(t, plain(t, tc.changes...))
			want := slices.Concat(tc.want, always)
			if tc.instead != nil {
				want = tc.instead
			}
			if diff := cmp.Diff(byPhase(want), listing(out)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.leftOut, out.LeftOut, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nleft out: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRenderGrant verifies that permissions come from the grant alone.
func TestRenderGrant(t *testing.T) {
	in := plain(t, withPermissions(grants("foo", rule("get", "pods"))), withTargets("operators"))
	withPermissions(grants("foo", rule("*", "*")))(&in)
	withClusterPermissions(grants("foo", rule("*", "*")))(&in)
	out := rendered(t, in)
	for _, obj := range out.Objects {
		if _, ok := obj.Object.(*rbacv1.ClusterRoleBinding); ok {
			t.Errorf("%s was bound without a grant", obj.GetName())
		}
		if role, ok := obj.Object.(*rbacv1.Role); ok && strings.HasPrefix(role.Name, "foo.v1-") {
			if diff := cmp.Diff([]rbacv1.PolicyRule{rule("get", "pods")}, role.Rules); diff != "" {
				t.Errorf("rules of the granted role: -want, +got:\n%s", diff)
			}
		}
	}
}

// TestOwnership verifies that an object belongs to its CSV by label, and by owner reference only in the same namespace.
func TestOwnership(t *testing.T) {
	in := plain(t, withPermissions(grants("foo", rule("get", "pods"))), withTargets("operators", "a"))
	no := false
	for _, obj := range rendered(t, in).Objects {
		if obj.GetObjectKind().GroupVersionKind().Empty() {
			t.Errorf("%s has no kind", obj.GetName())
		}
		var refs []metav1.OwnerReference
		owners := []types.NamespacedName{{Namespace: "operators", Name: "foo.v1"}}
		switch {
		case obj.For == "roles for the API foos.example.com v1":
			owners = nil
			refs = []metav1.OwnerReference{{
				APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "foos.example.com", UID: "crd-uid",
				Controller: &no, BlockOwnerDeletion: &no,
			}}
		case obj.GetNamespace() == "operators":
			controller := obj.GetObjectKind().GroupVersionKind().Kind == "OperatorCondition"
			refs = []metav1.OwnerReference{{
				APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "foo.v1", UID: "csv-uid",
				Controller: &controller, BlockOwnerDeletion: &no,
			}}
		}
		if diff := cmp.Diff(refs, obj.GetOwnerReferences()); diff != "" {
			t.Errorf("%s: references: -want, +got:\n%s", obj.GetName(), diff)
		}
		if diff := cmp.Diff(owners, Owners(obj)); diff != "" {
			t.Errorf("%s: owners: -want, +got:\n%s", obj.GetName(), diff)
		}
		if _, ok := obj.Object.(*corev1.ServiceAccount); obj.IfAbsent != ok {
			t.Errorf("%s: only a service account may be created only if absent", obj.GetName())
		}
	}
}

func TestOwners(t *testing.T) {
	foreign := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: "operators", Name: "foo",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "foo"}},
		Labels:          map[string]string{LabelOwner: "group", LabelOwnerKind: "OperatorGroup", LabelOwnerNamespace: "operators"},
	}}
	if owners := Owners(foreign); owners != nil {
		t.Errorf("an object without an owning CSV has the owners %v", owners)
	}
}

func TestRenderRejects(t *testing.T) {
	cases := map[string]struct {
		reason string
		change change
		want   Error
	}{
		"strategy": {
			reason: "An install strategy other than deployment is rejected.",
			change: func(in *Install) { in.CSV.Spec.InstallStrategy.StrategyName = "helm" },
			want:   Error{v1alpha1.CSVReasonInvalidStrategy, `Unknown install strategy "helm": it must be "deployment"`},
		},
		"two deployments of a name": {
			reason: "Two deployments of one name are rejected.",
			change: func(in *Install) {
				s := &in.CSV.Spec.InstallStrategy.StrategySpec
				s.DeploymentSpecs = append(s.DeploymentSpecs, s.DeploymentSpecs[0])
			},
			want: Error{v1alpha1.CSVReasonInvalidStrategy, `The install strategy has two deployments named "foo-manager"`},
		},
		"deployment without a name": {
			reason: "A deployment without a name is rejected.",
			change: func(in *Install) { in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name = "" },
			want:   Error{v1alpha1.CSVReasonInvalidStrategy, "Deployment number 1 of the install strategy has no name"},
		},
		"permissions of nobody": {
			reason: "Permissions without a service account are rejected.",
			change: withPermissions(grants("", rule("get", "pods"))),
			want:   Error{v1alpha1.CSVReasonInvalidStrategy, "Permissions of the install strategy name no service account"},
		},
		"API services": {
			reason: "API services are rejected, and the error contains their names.",
			change: func(in *Install) {
				in.CSV.Spec.APIServiceDefinitions.Owned = []olm.APIServiceDescription{
					{Group: "b.example.com", Version: "v1"}, {Group: "a.example.com", Version: "v1"}, {Group: "a.example.com", Version: "v1"},
				}
			},
			want: Error{v1alpha1.CSVReasonUnsupported, "API services are not supported: v1.a.example.com, v1.b.example.com"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Render(plain(t, tc.change))
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("%s\ngot: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUngranted verifies that an operator without a grant gets no permissions and no webhooks, in its namespace or
// elsewhere.
func TestUngranted(t *testing.T) {
	in := ungranted(plain(t, withPermissions(grants("foo", rule("get", "pods"))), withClusterPermissions(grants("foo", rule("get", "nodes"))), withTargets("a", "operators")))
	want := []string{"OperatorCondition operators/foo.v1", "Role operators/foo.v1", "RoleBinding operators/foo.v1", "Deployment operators/foo-manager"}
	if diff := cmp.Diff(byPhase(want), listing(rendered(t, in))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestPermissions verifies that the permissions that an InstallPlan applies are the ones that the CSV controller keeps.
func TestPermissions(t *testing.T) {
	in := plain(t, withPermissions(grants("foo", rule("get", "pods"))), withClusterPermissions(grants("foo", rule("get", "nodes"))), withTargets("b", "a", "operators"))
	var want, got []Object
	for _, o := range rendered(t, in).Objects {
		if o.Right {
			want = append(want, o)
		}
	}
	got = Permissions(in)
	slices.SortStableFunc(got, func(a, b Object) int { return a.Phase() - b.Phase() })
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 5 {
		t.Errorf("%d objects; -rendered +permissions\n%s", len(got), diff)
	}
}
