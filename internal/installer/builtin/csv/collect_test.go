package csv

import (
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// TestCollect verifies that exactly the objects that were written for a CSV outside its namespace are deleted with it.
func TestCollect(t *testing.T) {
	owner := csv("v1")
	newRole := func(changes ...func(*rbacv1.ClusterRole)) *rbacv1.ClusterRole {
		out := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "newRole", UID: "uid-1", Labels: install.OwnerLabels(owner)}}
		for _, change := range changes {
			change(out)
		}
		return out
	}
	recorded := func(uid types.UID) *record.Grant {
		return &record.Grant{Plan: "install-1", OutsideNamespace: []record.Reference{
			{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "newRole", UID: uid},
			{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "gone", UID: "uid-2"},
		}}
	}
	as := func(account string, grant *record.Grant) *record.Grant {
		grant.Identity = apply.Identity{Namespace: "default", Name: account}
		return grant
	}
	created := func(grant *record.Grant) *record.Grant {
		grant.OutsideNamespace[0].Created = true
		return grant
	}
	cases := map[string]struct {
		reason string
		role   *rbacv1.ClusterRole
		grant  *record.Grant
		live   []client.Object
		noOne  bool // the service account does not exist
		stays  bool
	}{
		"Gone":       {reason: "The garbage collector does not take what is cluster-scoped.", role: newRole(), grant: recorded("uid-1")},
		"WithoutUID": {reason: "We may have been cut off before the UID was known.", role: newRole(), grant: created(recorded(""))},
		"LabelledMeanwhile": {reason: "An object of others that was there before has the label, and was never written.", role: newRole(), grant: recorded(""),
			stays: true},
		"NotYetSeen": {reason: "An InstallPlan has just applied both, and the role reached the cache first.", role: newRole(), grant: recorded("uid-1"),
			live: []client.Object{owner}, stays: true},
		"Another": {reason: "An object by that name that was created since is another one.", role: newRole(), grant: recorded("uid-0"), stays: true},
		"Relabelled": {reason: "What the next version has taken over is that one's.",
			role: newRole(func(r *rbacv1.ClusterRole) { r.Labels[install.LabelOwner] = "v2" }), grant: recorded("uid-1"), stays: true},
		"Labelled": {reason: "A label that a tenant put on an object does not have it deleted: nothing was recorded.", role: newRole(), stays: true,
			grant: &record.Grant{Plan: "install-1"}},
		"NoRecord":      {reason: "Nor without a record.", role: newRole(), stays: true},
		"AsAccount":     {reason: "The account that installed it deletes it.", role: newRole(), grant: as("installer", recorded("uid-1"))},
		"AccountIsGone": {reason: "Where that is gone the manager deletes what was created.", role: newRole(), grant: as("installer", created(recorded("uid-1"))), noOne: true},
		"TakenOver": {reason: "The account may have patched an object of others, without the right to delete it.", role: newRole(),
			grant: as("installer", recorded("uid-1")), noOne: true, stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := reconciler(t, tc.role)
			var acted []types.NamespacedName
			r.As = func(account types.NamespacedName) (client.Client, error) {
				acted = append(acted, account)
				if tc.noOne {
					return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, account.Name)
				}
				return r.Client, nil
			}
			if tc.grant != nil {
				if err := r.Records.KeepGrant(t.Context(), client.ObjectKeyFromObject(owner), tc.grant); err != nil {
					t.Fatal(err)
				}
			}
			live := append(tc.live, tc.role.DeepCopy())
			live[len(live)-1].SetResourceVersion("")
			r.Reader = reconciler(t, live...).Client
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(owner)}); err != nil {
				t.Fatal(err)
			}
			err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(tc.role), &rbacv1.ClusterRole{})
			if gone := apierrors.IsNotFound(err); gone == tc.stays {
				t.Errorf("%s\nthe role is gone: %t", tc.reason, gone)
			}
			if want := tc.grant != nil && !tc.grant.Identity.IsManager(); (len(acted) > 0) != want {
				t.Errorf("%s\nacted as %v", tc.reason, acted)
			}
			if left, err := r.Records.Grant(t.Context(), client.ObjectKeyFromObject(owner)); err != nil || (left != nil) != (len(tc.live) > 0) {
				t.Errorf("%s\nwhat is left of the record is %v, %v", tc.reason, left, err)
			}
		})
	}
}

// TestWebhooksOfUnplanned verifies that the webhooks of a CSV that was applied by hand are recorded, and that those are deleted
// with it, or when it no longer has them. What else has its labels is not: they prove nothing.
func TestWebhooksOfUnplanned(t *testing.T) {
	owner := csv("v1")
	webhook := func(change ...func(*admissionregistrationv1.ValidatingWebhookConfiguration)) *admissionregistrationv1.ValidatingWebhookConfiguration {
		out := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
			Name: "webhook", UID: "uid-1", Labels: install.OwnerLabels(owner), Annotations: map[string]string{install.AnnotationApplied: "hash"},
		}}
		for _, c := range change {
			c(out)
		}
		return out
	}
	cases := map[string]struct {
		reason   string
		rendered bool
		webhook  *admissionregistrationv1.ValidatingWebhookConfiguration
		stays    bool
	}{
		"Rendered": {reason: "It was written for the ClusterServiceVersion.", rendered: true, webhook: webhook()},
		"Labelled": {reason: "A user who may label a webhook may not have it deleted by that.", webhook: webhook(), stays: true},
		"OfAnother": {reason: "The next version has taken it over.", rendered: true, stays: true,
			webhook: webhook(func(w *admissionregistrationv1.ValidatingWebhookConfiguration) {
				w.Labels = install.OwnerLabels(csv("v2"))
			})},
		"Foreign": {reason: "It is neither rendered nor recorded.", stays: true,
			webhook: webhook(func(w *admissionregistrationv1.ValidatingWebhookConfiguration) { w.Annotations = nil })},
	}
	for name, tc := range cases {
		for how, act := range map[string]func(*Reconciler, *situation) error{
			"Collect": func(r *Reconciler, _ *situation) error {
				return r.collect(t.Context(), client.ObjectKeyFromObject(owner))
			},
			"Prune": func(r *Reconciler, s *situation) error { return r.prune(t.Context(), s, install.Rendered{}) },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				r := reconciler(t, tc.webhook.DeepCopy())
				r.Trust = apply.Trust{All: true}
				s := &situation{csv: owner, group: &operatorsv1.OperatorGroup{}, installer: func() (client.Client, error) { return r.Client, nil }}
				rendered := install.Rendered{}
				if tc.rendered {
					rendered.Objects = []install.Object{{Object: tc.webhook.DeepCopy()}}
				}
				if err := r.remember(t.Context(), s, rendered); err != nil {
					t.Fatal(err)
				}
				if granted, err := r.Records.Granted(t.Context(), client.ObjectKeyFromObject(owner)); granted || err != nil {
					t.Errorf("the record counts as a grant: %t, %v", granted, err)
				}
				if err := act(r, s); err != nil {
					t.Fatal(err)
				}
				err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(tc.webhook), &admissionregistrationv1.ValidatingWebhookConfiguration{})
				if gone := apierrors.IsNotFound(err); gone == tc.stays {
					t.Errorf("%s\nit is gone: %t", tc.reason, gone)
				}
			})
		}
	}
}

// TestPrune verifies that objects that a CSV no longer contains are deleted, but not unrelated ones with its labels:
// any user with `patch` on an object can label it.
func TestPrune(t *testing.T) {
	owner := csv("v1")
	owner.UID = "csv-uid"
	meta := func(namespace string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: "former", UID: "uid-1", Labels: install.OwnerLabels(owner), OwnerReferences: owners,
			Annotations: map[string]string{install.AnnotationApplied: "hash"}}
	}
	role := record.Reference{Group: rbacv1.GroupName, Version: "v1", Kind: "Role", Namespace: "other", Name: "former"}
	recorded := func(uid types.UID, created bool) *record.Grant {
		ref := role
		ref.UID, ref.Created = uid, created
		return &record.Grant{Plan: "install-1", OutsideNamespace: []record.Reference{ref}}
	}
	cases := map[string]struct {
		reason string
		object client.Object
		grant  *record.Grant
		absent []string // target namespaces
		stays  bool
	}{
		"Owned": {reason: "The CSV has no such Deployment any more.",
			object: &appsv1.Deployment{ObjectMeta: meta(owner.Namespace, install.OwnerReference(owner))}},
		"Labelled": {reason: "A label is no proof.", object: &appsv1.Deployment{ObjectMeta: meta(owner.Namespace)}, stays: true},
		"Former": {reason: "An owner of that name was another one.", stays: true,
			object: &appsv1.Deployment{ObjectMeta: meta(owner.Namespace, metav1.OwnerReference{Name: owner.Name, Kind: "ClusterServiceVersion", UID: "before"})}},
		"Terminating": {reason: "What is in a namespace that is being deleted goes with it: the operator may still have to clean up there.",
			object: &rbacv1.Role{ObjectMeta: meta("other")}, grant: recorded("uid-1", false), absent: []string{"other"}, stays: true},
		"Elsewhere": {reason: "No Deployment is in another namespace.", object: &appsv1.Deployment{ObjectMeta: meta("other")}, grant: recorded("uid-1", true), stays: true},
		"Secret":    {reason: "Nor is a Secret.", object: &corev1.Secret{ObjectMeta: meta("other")}, grant: recorded("uid-1", true), stays: true},
		"Recorded":  {reason: "It was written in a former target namespace.", object: &rbacv1.Role{ObjectMeta: meta("other")}, grant: recorded("uid-1", false)},
		"CutOff":    {reason: "It was created, and the UID never recorded.", object: &rbacv1.Role{ObjectMeta: meta("other")}, grant: recorded("", true)},
		"Another":   {reason: "One that was made since is another's.", object: &rbacv1.Role{ObjectMeta: meta("other")}, grant: recorded("uid-0", true), stays: true},
		"Unknown": {reason: "It was there before, and never written.", object: &rbacv1.Role{ObjectMeta: meta("other")}, grant: recorded("", false),
			stays: true},
		"ClusterRole": {reason: "A label of a cluster-scoped object is no proof either.", object: &rbacv1.ClusterRole{ObjectMeta: meta("")}, grant: recorded("uid-1", true),
			stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := reconciler(t, tc.object)
			s := &situation{csv: owner, record: tc.grant, absent: tc.absent, installer: func() (client.Client, error) { return r.Client, nil }}
			if err := r.prune(t.Context(), s, install.Rendered{}); err != nil {
				t.Fatal(err)
			}
			err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(tc.object), tc.object)
			if gone := apierrors.IsNotFound(err); gone == tc.stays {
				t.Errorf("%s\nit is gone: %t", tc.reason, gone)
			}
		})
	}
}
