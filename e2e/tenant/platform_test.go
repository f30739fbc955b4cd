package tenant

import (
	"fmt"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
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

// TestForeignNamespaceNotUsed verifies that a PlatformOperator installs nothing into a namespace that another user created
// first, who could use the operator's service accounts, nor into reserved namespaces.
func TestForeignNamespaceNotUsed(t *testing.T) {
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
			t.Cleanup(func() { deleteAndWait(t, op) })
			cluster.Await(t, op, func() string {
				for _, c := range op.Status.Conditions {
					if c.Type == platformv1alpha1.ConditionSynced && c.Reason == tc.reason && containsAll(c.Message, tc.words...) {
						return ""
					}
				}
				return "Synced does not report why nothing is installed"
			})
			in := client.InNamespace(op.GetNamespaceToInstallIn())
			for _, list := range []client.ObjectList{&v1alpha1.SubscriptionList{}, &operatorsv1.OperatorGroupList{}} {
				if err := cluster.Client.List(t.Context(), list, in); err != nil {
					t.Fatal(err)
				}
				if found := meta.LenList(list); found > 0 {
					t.Errorf("found %d objects in %T, want none", found, list)
				}
			}
		})
	}
}

// newAuthor returns a client of a user who may write PlatformOperators and has further rules in a namespace.
func newAuthor(t *testing.T, user, namespace string, rules ...rbacv1.PolicyRule) client.Client {
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
	cluster.AwaitAllowed(t, user, authorizationv1.ResourceAttributes{
		Group: platformv1alpha1.GroupVersion.Group, Resource: "platformoperators", Verb: "create",
	}, true)
	for _, rule := range rules {
		cluster.AwaitAllowed(t, user, authorizationv1.ResourceAttributes{
			Namespace: namespace, Group: rule.APIGroups[0], Resource: rule.Resources[0], Name: strings.Join(rule.ResourceNames, ""), Verb: rule.Verbs[0],
		}, true)
	}
	return clientOf(t, user)
}

// impersonates is the right to impersonate the service account `installer`.
var impersonates = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"installer"},
	Verbs: []string{"impersonate"}}

// createInstaller creates a service account that has no rights yet.
func createInstaller(t *testing.T, namespace string) (*corev1.ServiceAccount, rbacv1.Subject) {
	t.Helper()
	out := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "installer"}}
	cluster.Create(t, out)
	return out, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: out.Name}
}

// newPlatformOperator returns a PlatformOperator with the manifests as spec.resources, each named after its kind.
func newPlatformOperator(t *testing.T, name, namespace, account string, manifests ...string) *platformv1alpha1.PlatformOperator {
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

// awaitSynced waits until Synced of a PlatformOperator is current, has that reason, and its message contains the words.
func awaitSynced(t *testing.T, op *platformv1alpha1.PlatformOperator, reason string, words ...string) {
	t.Helper()
	cluster.Await(t, op, func() string {
		c := meta.FindStatusCondition(op.Status.Conditions, platformv1alpha1.ConditionSynced)
		if c == nil || c.ObservedGeneration != op.Generation || c.Reason != reason || !containsAll(c.Message, words...) {
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

// TestServiceAccountRequiresImpersonation verifies that a user who may write PlatformOperators can name a service account, or
// change the resources applied as one, only with the right to impersonate it.
func TestServiceAccountRequiresImpersonation(t *testing.T) {
	namespace := cluster.Namespace(t, "names")
	refused := []string{"impersonate serviceaccounts installer in namespace " + namespace}
	may, mayNot := newAuthor(t, namespace+"-may", namespace, impersonates), newAuthor(t, namespace+"-not", namespace)
	for name, tc := range map[string]struct {
		reason string
		by     client.Client
		before string // the account that an admin has already set; "-" to create the PlatformOperator
		change func(*platformv1alpha1.PlatformOperator)
		want   []string
	}{
		"name": {"A user without the right to impersonate cannot name a service account.", mayNot, "", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" },
			refused},
		"allowed": {"A user who may impersonate a service account can name it.", may, "", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, nil},
		"other": {"The right to impersonate one service account does not allow naming another.", may, "", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "default" },
			[]string{"serviceaccounts default"}},
		"another": {"Only a user who may impersonate the service account can change the resources that are applied as it.", mayNot, "installer", func(op *platformv1alpha1.PlatformOperator) { op.Spec.Resources = nil },
			refused},
		"channel": {"Fields that the service account is not used for can be changed without the right to impersonate it.", mayNot, "installer", func(op *platformv1alpha1.PlatformOperator) { op.Spec.Package.Channel = "beta" }, nil},
		"manager": {"The manager cannot name a service account on behalf of an author.", clientOf(t, "system:serviceaccount:operator-status-system:operator-status-controller-manager"),
			"", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, refused},
		"composer": {"The account that applies resources cannot name a service account on behalf of an author.", clientOf(t, "system:serviceaccount:operator-status-system:operator-status-composer"),
			"", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, []string{"forbidden"}},
		"no more": {"Removing the service account does not require the right to impersonate it.", mayNot, "installer",
			func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "" }, nil},
		"created": {"Creating a PlatformOperator with a service account requires the right to impersonate it.", mayNot, "-", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" },
			refused},
		"creating": {"A user who may impersonate a service account can create a PlatformOperator with it.", may, "-", func(op *platformv1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = "installer" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			account := tc.before
			if account == "-" {
				account = ""
			}
			op := newPlatformOperator(t, namespace+"-"+strings.ReplaceAll(name, " ", "-"), namespace, account, settings)
			write := func() error { return tc.by.Create(t.Context(), op) }
			if tc.before != "-" {
				cluster.Create(t, op)
				before := op.DeepCopy()
				write = func() error { return tc.by.Patch(t.Context(), op, client.MergeFrom(before)) }
			}
			t.Cleanup(func() { deleteAndWait(t, op) })
			tc.change(op)
			err := write()
			if tc.want == nil && err != nil || tc.want != nil && (!apierrors.IsForbidden(err) || !containsAll(err.Error(), tc.want...)) {
				t.Errorf("%s The write returned %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// allowAllKinds allows every kind in spec.resources of PlatformOperators that name no account.
func allowAllKinds(t *testing.T) {
	t.Helper()
	all := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "compose-all", Labels: map[string]string{"operatorstatus.io/aggregate-to-compose": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	cluster.Create(t, all)
	t.Cleanup(func() { deleteAndWait(t, all) })
}

// TestResourcesGrantNoRights verifies that a user who may write PlatformOperators can neither grant rights through them, even
// if every kind is allowed, nor have an account named on another PlatformOperator.
func TestResourcesGrantNoRights(t *testing.T) {
	allowAllKinds(t)
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "granting")
	attacker := newAuthor(t, namespace, namespace)
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
			op := newPlatformOperator(t, namespace+"-"+name, namespace, "", tc.manifest, settings)
			if err := attacker.Create(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { deleteAndWait(t, op) })
			awaitSynced(t, op, tc.reason, tc.words...)
			cluster.Await(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}}, func() string { return "" }) // still applied
		})
	}
	checkAbsent(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "takeover"}})
	checkAbsent(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}})
	checkAbsent(t, &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-inner"}})
}

// TestResourcesOfManagedKindsRejected verifies that a user who may write PlatformOperators cannot use spec.resources to write
// the kinds that the manager writes itself, such as the Subscriptions and OperatorGroups of others, or reserved namespaces.
func TestResourcesOfManagedKindsRejected(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace, victim := cluster.Namespace(t, "reaching"), cluster.Namespace(t, "victim")
	attacker := newAuthor(t, namespace, namespace)
	const composer = "system:serviceaccount:operator-status-system:operator-status-composer"
	checkResourceRejected(t, attacker, namespace, "subscription", `{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: held, namespace: `+victim+`,
  annotations: {operatorstatus.io/allow-upgrade: foo.v2}}, spec: {name: foo, source: catalog, sourceNamespace: olm}}`,
		platformv1alpha1.ReasonForbidden, "Subscription "+victim+"/held", composer, "operatorstatus.io/aggregate-to-compose")
	checkResourceRejected(t, attacker, namespace, "group", `{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: second, namespace: `+victim+`}, spec: {}}`,
		platformv1alpha1.ReasonForbidden, "OperatorGroup "+victim+"/second", composer)
	checkResourceRejected(t, attacker, namespace, "namespace", `{apiVersion: v1, kind: Namespace, metadata: {name: `+victim+`-more}}`,
		platformv1alpha1.ReasonForbidden, composer)
	checkAbsent(t, &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "held"}})
	checkAbsent(t, &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: victim, Name: "second"}})
	checkAbsent(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: victim + "-more"}})
}

// checkResourceRejected has an author write a PlatformOperator with a resource, and waits until that is refused.
func checkResourceRejected(t *testing.T, by client.Client, namespace, name, manifest, reason string, words ...string) {
	t.Helper()
	op := newPlatformOperator(t, namespace+"-"+name, namespace, "", manifest)
	op.Spec.Resources[0].Name = "reached"
	if err := by.Create(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteAndWait(t, op) })
	awaitSynced(t, op, reason, words...)
}

// TestResourcesInReservedNamespace verifies that spec.resources reach no reserved namespace, even if every kind is allowed.
func TestResourcesInReservedNamespace(t *testing.T) {
	allowAllKinds(t)
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "reserved")
	attacker := newAuthor(t, namespace, namespace)
	for name, reserved := range map[string]string{"system": "kube-system", "managers": "operator-status-system"} {
		checkResourceRejected(t, attacker, namespace, name, `{apiVersion: v1, kind: ConfigMap, metadata: {name: reached, namespace: `+reserved+`}}`,
			platformv1alpha1.ReasonNamespaceReserved, "ConfigMap "+reserved+"/reached", "--reserved-namespaces")
		checkAbsent(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: reserved, Name: "reached"}})
	}
	checkResourceRejected(t, attacker, namespace, "labels", `{apiVersion: v1, kind: Namespace, metadata: {name: kube-system, labels: {reached: "true"}}}`,
		platformv1alpha1.ReasonNamespaceReserved, "Namespace kube-system")
}

// TestResourcesAppliedAsServiceAccount verifies that objects are applied and deleted with the rights of the service account
// only.
func TestResourcesAppliedAsServiceAccount(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "account")
	writer := newAuthor(t, namespace, namespace, impersonates)
	op := newPlatformOperator(t, namespace, namespace, "installer", settings, reader)
	if err := writer.Create(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	awaitSynced(t, op, platformv1alpha1.ReasonServiceAccountMissing, "service account "+namespace+"/installer")
	_, subject := createInstaller(t, namespace)
	user := "system:serviceaccount:" + namespace + ":installer"
	awaitSynced(t, op, platformv1alpha1.ReasonForbidden, "ConfigMap "+namespace+"/settings", user, "Role "+namespace+"/reader",
		"service account "+namespace+"/installer")
	made := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}},
	}
	for _, o := range made {
		checkAbsent(t, o)
	}
	bindRole(t, namespace, subject, "admin")
	awaitSynced(t, op, platformv1alpha1.ReasonSynced)
	for _, o := range made {
		cluster.Await(t, o, func() string { return "" })
	}

	before := op.DeepCopy() // it cannot grant more rights than it has
	op.Spec.Resources = append(op.Spec.Resources, newPlatformOperator(t, "", "", "", takeover).Spec.Resources...)
	if err := writer.Patch(t.Context(), op, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	awaitSynced(t, op, platformv1alpha1.ReasonForbidden, "ClusterRoleBinding takeover", user)
	checkAbsent(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "takeover"}})

	if err := cluster.Client.DeleteAllOf(t.Context(), &rbacv1.RoleBinding{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	awaitForbidden(t, user, made[0])
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	awaitSynced(t, op, platformv1alpha1.ReasonDeleting, "ConfigMap "+namespace+"/settings", user)
	for _, o := range made {
		cluster.Await(t, o, func() string {
			if o.GetDeletionTimestamp() != nil {
				t.Errorf("%T %s was deleted although the account may not delete it", o, o.GetName())
			}
			return ""
		})
	}
	bindRole(t, namespace, subject, "admin")
	cluster.AwaitGone(t, op)
	for _, o := range made {
		cluster.AwaitGone(t, o)
	}
}

// awaitForbidden waits until the authorizer no longer lets a user read an object.
func awaitForbidden(t *testing.T, user string, o client.Object) {
	t.Helper()
	asUser := clientOf(t, user)
	cluster.Await(t, o, func() string {
		if err := asUser.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)); !apierrors.IsForbidden(err) {
			return fmt.Sprintf("%s can still read it: %v", user, err)
		}
		return ""
	})
}

// TestResourcesOfDeletedServiceAccount verifies that the manager deletes the objects of a missing account, if it has the
// rights.
func TestResourcesOfDeletedServiceAccount(t *testing.T) {
	allowAllKinds(t)
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "missing")
	account, subject := createInstaller(t, namespace)
	bindRole(t, namespace, subject, "admin")
	op := newPlatformOperator(t, namespace, namespace, account.Name, settings, reader)
	cluster.Create(t, op)
	awaitSynced(t, op, platformv1alpha1.ReasonSynced)
	deleteAndWait(t, account)
	before := op.DeepCopy() // resources that are removed from the spec as well
	op.Spec.Resources = op.Spec.Resources[:1]
	if err := cluster.Client.Patch(t.Context(), op, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}})
	awaitSynced(t, op, platformv1alpha1.ReasonServiceAccountMissing, "ConfigMap "+namespace+"/settings")
	deleteAndWait(t, op)
	checkAbsent(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}})
}

// TestResourcesAppliedAsDefaultAccount verifies that PlatformOperators without an account are applied as
// --default-resources-account.
func TestResourcesAppliedAsDefaultAccount(t *testing.T) {
	namespace := cluster.Namespace(t, "default")
	cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--default-resources-account="+namespace+"/installer")
	_, subject := createInstaller(t, namespace)
	op := newPlatformOperator(t, namespace, namespace, "", settings, reader)
	cluster.Create(t, op)
	t.Cleanup(func() { deleteAndWait(t, op) })
	awaitSynced(t, op, platformv1alpha1.ReasonForbidden, "system:serviceaccount:"+namespace+":installer")
	bindRole(t, namespace, subject, "admin")
	awaitSynced(t, op, platformv1alpha1.ReasonSynced)
}

func containsAll(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
