package tenant

import (
	"fmt"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestNamespaceOfOthers verifies that a PlatformOperator installs nothing into a namespace that another user created
// first, who could use the operator's service accounts, nor into reserved namespaces.
func TestNamespaceOfOthers(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	squatted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "squatted", Labels: map[string]string{"owner": "intruder"}}}
	cluster.Create(t, squatted)
	for name, tc := range map[string]struct {
		namespace, reason string
		words             []string
	}{
		"squatted": {"", platformv1alpha1.ReasonConflict, []string{"Namespace squatted", "kubectl annotate namespace squatted", "spec.namespace"}},
		"system":   {"kube-system", platformv1alpha1.ReasonNamespaceReserved, []string{"kube-system", "--reserved-namespaces"}},
		"manager":  {"operator-status-system", platformv1alpha1.ReasonNamespaceReserved, []string{"operator-status-system"}},
	} {
		t.Run(name, func(t *testing.T) {
			op := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
			op.Spec.Package.Name, op.Spec.Namespace = name, tc.namespace
			cluster.Create(t, op)
			t.Cleanup(func() { deletes(t, op) })
			cluster.Await(t, op, func() string {
				for _, c := range op.Status.Conditions {
					if c.Type == platformv1alpha1.ConditionSynced && c.Reason == tc.reason && contains(c.Message, tc.words...) {
						return ""
					}
				}
				return "it does not report that it installs nothing"
			})
			in := client.InNamespace(op.GetNamespaceToInstallIn())
			for _, list := range []client.ObjectList{&v1alpha1.SubscriptionList{}, &operatorsv1.OperatorGroupList{}} {
				if err := cluster.Client.List(t.Context(), list, in); err != nil {
					t.Fatal(err)
				}
				if found := meta.LenList(list); found > 0 {
					t.Errorf("%d in %T", found, list)
				}
			}
		})
	}
}

// author returns a client of a user who may write PlatformOperators and has further rules in a namespace.
func author(t *testing.T, user, namespace string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	name, in := metav1.ObjectMeta{Name: user}, metav1.ObjectMeta{Namespace: namespace, Name: user}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	ref := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: user}
	}
	cluster.Create(t,
		&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{platformv1alpha1.GroupVersion.Group}, Resources: []string{"platformoperators"}, Verbs: []string{"*"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: name, RoleRef: ref("ClusterRole"), Subjects: subjects},
		&rbacv1.Role{ObjectMeta: in, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: in, RoleRef: ref("Role"), Subjects: subjects})
	return as(t, user)
}

// impersonates is the right to impersonate the service account `installer`.
var impersonates = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"installer"},
	Verbs: []string{"impersonate"}}

// installer creates a service account that has no rights yet.
func installer(t *testing.T, namespace string) (*corev1.ServiceAccount, rbacv1.Subject) {
	t.Helper()
	out := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "installer"}}
	cluster.Create(t, out)
	return out, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: out.Name}
}

// composing returns a PlatformOperator with the manifests as spec.resources, each named after its kind.
func composing(t *testing.T, name, namespace, account string, manifests ...string) *platformv1alpha1.PlatformOperator {
	t.Helper()
	out := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.Package.Name, out.Spec.Namespace, out.Spec.ServiceAccountName = name, namespace, account
	for _, manifest := range manifests {
		text := jsonOf(t, manifest)
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		out.Spec.Resources = append(out.Spec.Resources, platformv1alpha1.Resource{
			Name: strings.ToLower(o.GetKind()), Manifest: runtime.RawExtension{Raw: []byte(text)},
		})
	}
	return out
}

// synced waits until Synced of a PlatformOperator is current, has that reason, and its message contains the words.
func synced(t *testing.T, op *platformv1alpha1.PlatformOperator, reason string, words ...string) {
	t.Helper()
	cluster.Await(t, op, func() string {
		c := meta.FindStatusCondition(op.Status.Conditions, platformv1alpha1.ConditionSynced)
		if c == nil || c.ObservedGeneration != op.Generation || c.Reason != reason || !contains(c.Message, words...) {
			return fmt.Sprintf("Synced is %+v; want %s, and %q", c, reason, words)
		}
		return ""
	})
}

const (
	settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}`
	reader   = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`
	takeover = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: takeover},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: author}]}`
)

// TestNamesAccount verifies that a user who may write PlatformOperators can name a service account, or change the resources
// applied as one, only with the right to impersonate it.
func TestNamesAccount(t *testing.T) {
	namespace := cluster.Namespace(t, "names")
	refused := []string{"impersonate serviceaccounts installer in namespace " + namespace}
	may, mayNot := author(t, namespace+"-may", namespace, impersonates), author(t, namespace+"-not", namespace)
	for name, tc := range map[string]struct {
		reason string
		by     client.Client
		before string // the account that an admin has already set; "-" to create the PlatformOperator
		change func(*platformv1alpha1.PlatformOperator)
		want   []string
	}{
		"name": {"It would have the account's rights.", mayNot, "", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" },
			refused},
		"allowed": {"He has them already.", may, "", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, nil},
		"other": {"He may impersonate that account alone.", may, "", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "default" },
			[]string{"serviceaccounts default"}},
		"another": {"What it applies is what its rights are used for.", mayNot, "installer", func(op *platformv1alpha1.PlatformOperator) { op.Spec.Resources = nil },
			refused},
		"channel": {"That is none of the account's.", mayNot, "installer", func(op *platformv1alpha1.PlatformOperator) { op.Spec.Package.Channel = "beta" }, nil},
		"manager": {"The manager would name it on behalf of any author.", as(t, "system:serviceaccount:operator-status-system:operator-status-controller-manager"),
			"", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, refused},
		"composer": {"So would the account as which it applies them.", as(t, "system:serviceaccount:operator-status-system:operator-status-composer"),
			"", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, []string{"forbidden"}},
		"no more": {"Without the account there is nothing to be had of it.", mayNot, "installer",
			func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "" }, nil},
		"created": {"It is no matter how it comes to be.", mayNot, "-", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" },
			refused},
		"creating": {"Nor here.", may, "-", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			account := tc.before
			if account == "-" {
				account = ""
			}
			op := composing(t, namespace+"-"+strings.ReplaceAll(name, " ", "-"), namespace, account, settings)
			write := func() error { return tc.by.Create(t.Context(), op) }
			if tc.before != "-" {
				cluster.Create(t, op)
				before := op.DeepCopy()
				write = func() error { return tc.by.Patch(t.Context(), op, client.MergeFrom(before)) }
			}
			t.Cleanup(func() { deletes(t, op) })
			tc.change(op)
			err := write()
			if tc.want == nil && err != nil || tc.want != nil && (!apierrors.IsForbidden(err) || !contains(err.Error(), tc.want...)) {
				t.Errorf("%s: %v; want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// composesAll allows every kind in spec.resources of PlatformOperators that name no account.
func composesAll(t *testing.T) {
	t.Helper()
	all := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "compose-all", Labels: map[string]string{"operatorstatus.io/aggregate-to-compose": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	cluster.Create(t, all)
	t.Cleanup(func() { deletes(t, all) })
}

// TestResourcesOfManager verifies that a user who may write PlatformOperators can neither grant rights through them, even
// if every kind is allowed, nor have an account named on another PlatformOperator.
func TestResourcesOfManager(t *testing.T) {
	composesAll(t)
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "granting")
	attacker := author(t, namespace, namespace)
	nested := fmt.Sprintf(`{apiVersion: platform.openshift.io/v1alpha1, kind: PlatformOperator, metadata: {name: %s-inner},
  spec: {package: {name: nested}, namespace: %[1]s, serviceAccountName: installer}}`, namespace)
	for name, tc := range map[string]struct {
		manifest, reason string
		words            []string
	}{
		"binding": {takeover, platformv1alpha1.ReasonServiceAccountRequired, []string{"ClusterRoleBinding takeover", "spec.serviceAccountName"}},
		"role":    {reader, platformv1alpha1.ReasonServiceAccountRequired, []string{"Role " + namespace + "/reader", "--default-resources-account"}},
		"nested":  {nested, platformv1alpha1.ReasonApplyFailed, []string{"PlatformOperator " + namespace + "-inner", "impersonate"}},
	} {
		t.Run(name, func(t *testing.T) {
			op := composing(t, namespace+"-"+name, namespace, "", tc.manifest, settings)
			if err := attacker.Create(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { deletes(t, op) })
			synced(t, op, tc.reason, tc.words...)
			cluster.Await(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}}, func() string { return "" }) // still applied
		})
	}
	absent(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "takeover"}})
	absent(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}})
	absent(t, &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-inner"}})
}

// TestResourcesOfOthers verifies that a user who may write PlatformOperators cannot use spec.resources to write the kinds
// that the manager writes itself, such as the Subscriptions and OperatorGroups of others, or reserved namespaces.
func TestResourcesOfOthers(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace, victim := cluster.Namespace(t, "reaching"), cluster.Namespace(t, "victim")
	attacker := author(t, namespace, namespace)
	const composer = "system:serviceaccount:operator-status-system:operator-status-composer"
	refusesResource(t, attacker, namespace, "subscription", `{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: held, namespace: `+victim+`,
  annotations: {operatorstatus.io/allow-upgrade: foo.v2}}, spec: {name: foo, source: catalog, sourceNamespace: olm}}`,
		platformv1alpha1.ReasonForbidden, "Subscription "+victim+"/held", composer, "operatorstatus.io/aggregate-to-compose")
	refusesResource(t, attacker, namespace, "group", `{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: second, namespace: `+victim+`}, spec: {}}`,
		platformv1alpha1.ReasonForbidden, "OperatorGroup "+victim+"/second", composer)
	refusesResource(t, attacker, namespace, "namespace", `{apiVersion: v1, kind: Namespace, metadata: {name: `+victim+`-more}}`,
		platformv1alpha1.ReasonForbidden, composer)
	absent(t, &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "held"}})
	absent(t, &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "second"}})
	absent(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: victim + "-more"}})
}

// refusesResource has an author write a PlatformOperator with a resource, and waits until that is refused.
func refusesResource(t *testing.T, by client.Client, namespace, name, manifest, reason string, words ...string) {
	t.Helper()
	op := composing(t, namespace+"-"+name, namespace, "", manifest)
	op.Spec.Resources[0].Name = "reached"
	if err := by.Create(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deletes(t, op) })
	synced(t, op, reason, words...)
}

// TestResourcesReserved verifies that spec.resources reach no reserved namespace, even if every kind is allowed.
func TestResourcesReserved(t *testing.T) {
	composesAll(t)
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "reserved")
	attacker := author(t, namespace, namespace)
	for name, reserved := range map[string]string{"system": "kube-system", "managers": "operator-status-system"} {
		refusesResource(t, attacker, namespace, name, `{apiVersion: v1, kind: ConfigMap, metadata: {name: reached, namespace: `+reserved+`}}`,
			platformv1alpha1.ReasonNamespaceReserved, "ConfigMap "+reserved+"/reached", "--reserved-namespaces")
		absent(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: reserved, Name: "reached"}})
	}
	refusesResource(t, attacker, namespace, "labels", `{apiVersion: v1, kind: Namespace, metadata: {name: kube-system, labels: {reached: "true"}}}`,
		platformv1alpha1.ReasonNamespaceReserved, "Namespace kube-system")
}

// TestResourcesOfAccount verifies that objects are applied and deleted with the rights of the service account only.
func TestResourcesOfAccount(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "account")
	writer := author(t, namespace, namespace, impersonates)
	op := composing(t, namespace, namespace, "installer", settings, reader)
	if err := writer.Create(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	synced(t, op, platformv1alpha1.ReasonServiceAccountMissing, "service account "+namespace+"/installer")
	_, subject := installer(t, namespace)
	user := "system:serviceaccount:" + namespace + ":installer"
	synced(t, op, platformv1alpha1.ReasonForbidden, "ConfigMap "+namespace+"/settings", user, "Role "+namespace+"/reader",
		"service account "+namespace+"/installer")
	made := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}},
	}
	for _, o := range made {
		absent(t, o)
	}
	bind(t, namespace, subject, "admin")
	synced(t, op, platformv1alpha1.ReasonSynced)
	for _, o := range made {
		cluster.Await(t, o, func() string { return "" })
	}

	before := op.DeepCopy() // it cannot grant more rights than it has
	op.Spec.Resources = append(op.Spec.Resources, composing(t, "", "", "", takeover).Spec.Resources...)
	if err := writer.Patch(t.Context(), op, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	synced(t, op, platformv1alpha1.ReasonForbidden, "ClusterRoleBinding takeover", user)
	absent(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "takeover"}})

	if err := cluster.Client.DeleteAllOf(t.Context(), &rbacv1.RoleBinding{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	awaitForbidden(t, user, made[0])
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	synced(t, op, platformv1alpha1.ReasonDeleting, "ConfigMap "+namespace+"/settings", user)
	for _, o := range made {
		cluster.Await(t, o, func() string {
			if o.GetDeletionTimestamp() != nil {
				t.Errorf("%T %s is deleted though the account may not delete it", o, o.GetName())
			}
			return ""
		})
	}
	bind(t, namespace, subject, "admin")
	cluster.AwaitGone(t, op)
	for _, o := range made {
		cluster.AwaitGone(t, o)
	}
}

// awaitForbidden waits until the authorizer no longer lets a user read an object.
func awaitForbidden(t *testing.T, user string, o client.Object) {
	t.Helper()
	reads := as(t, user)
	cluster.Await(t, o, func() string {
		if err := reads.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)); !apierrors.IsForbidden(err) {
			return fmt.Sprintf("%s reads it still: %v", user, err)
		}
		return ""
	})
}

// TestResourcesOfMissing verifies that the manager deletes the objects of a missing account, if it has the rights.
func TestResourcesOfMissing(t *testing.T) {
	composesAll(t)
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "missing")
	account, subject := installer(t, namespace)
	bind(t, namespace, subject, "admin")
	op := composing(t, namespace, namespace, account.Name, settings, reader)
	cluster.Create(t, op)
	synced(t, op, platformv1alpha1.ReasonSynced)
	deletes(t, account)
	before := op.DeepCopy() // resources that are removed from the spec as well
	op.Spec.Resources = op.Spec.Resources[:1]
	if err := cluster.Client.Patch(t.Context(), op, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}})
	synced(t, op, platformv1alpha1.ReasonServiceAccountMissing, "ConfigMap "+namespace+"/settings")
	deletes(t, op)
	absent(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}})
}

// TestResourcesByDefault verifies that PlatformOperators without an account are applied as --default-resources-account.
func TestResourcesByDefault(t *testing.T) {
	namespace := cluster.Namespace(t, "default")
	cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--default-resources-account="+namespace+"/installer")
	_, subject := installer(t, namespace)
	op := composing(t, namespace, namespace, "", settings, reader)
	cluster.Create(t, op)
	t.Cleanup(func() { deletes(t, op) })
	synced(t, op, platformv1alpha1.ReasonForbidden, "system:serviceaccount:"+namespace+":installer")
	bind(t, namespace, subject, "admin")
	synced(t, op, platformv1alpha1.ReasonSynced)
}

func contains(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
