package upgradehold

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/operator"
)

var (
	foo     = holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerOLM, Namespace: "foo", Name: "foo"}
	byProbe = gate.Hold{Reason: "ProbeNotUpgradeable", By: operator.Ref{Kind: "Probe", Namespace: "foo", Name: "foo.v1"}, Cause: "It is busy"}
)

func byUser(name string) gate.Hold {
	return gate.Hold{Reason: holdv1alpha1.ReasonHeldByUser, By: operator.Ref{Kind: holdv1alpha1.UpgradeHoldKind, Name: name}, Cause: "An audit"}
}

func hold(name string, change ...func(*holdv1alpha1.UpgradeHold)) *holdv1alpha1.UpgradeHold {
	out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.Operator = foo
	for _, c := range change {
		c(out)
	}
	return out
}

func reported(h *holdv1alpha1.UpgradeHold) {
	h.Labels = map[string]string{holdv1alpha1.LabelReported: "true"}
}

// TestWriter verifies which UpgradeHolds exist after a change, and that writing again changes nothing.
func TestWriter(t *testing.T) {
	cases := map[string]struct {
		reason  string
		before  []client.Object
		op      Operator
		want    []string // names and Held
		requeue time.Duration
	}{
		"Held":         {reason: "An operator that must not be updated gets one.", op: Operator{Installed: true, Holds: []gate.Hold{byProbe}}, want: []string{"olm.foo.foo True"}},
		"Allowed":      {reason: "Any other has none.", op: Operator{Installed: true}},
		"NotInstalled": {reason: "A first installation is not held.", op: Operator{Holds: []gate.Hold{byProbe}}},
		"Released":     {reason: "It is deleted once the operator may be updated.", before: []client.Object{hold("olm.foo.foo", reported)}, op: Operator{Installed: true}},
		"Gone":         {reason: "As it is with the operator.", before: []client.Object{hold("olm.foo.foo", reported)}},
		"OneTooMany":   {reason: "There is one for each operator.", before: []client.Object{hold("a", reported), hold("b", reported)}, op: Operator{Installed: true, Holds: []gate.Hold{byProbe}}, want: []string{"a True"}},
		"ByUser":       {reason: "That of a user stays, and is the only one unless the operator holds, too.", before: []client.Object{hold("audit")}, op: Operator{Installed: true, Holds: []gate.Hold{byUser("audit")}}, want: []string{"audit True"}},
		"Both":         {reason: "Otherwise nothing would hold once the user's is deleted.", before: []client.Object{hold("audit")}, op: Operator{Installed: true, Holds: []gate.Hold{byUser("audit"), byProbe}}, want: []string{"audit True", "olm.foo.foo True"}},
		"Reserved": {reason: "Updates in the namespaces of Kubernetes cannot be held.", op: Operator{
			OperatorReference: holdv1alpha1.SubscribedOperator("kube-system", "foo"), Installed: true, Holds: []gate.Hold{byProbe},
		}},
		"UserNotNeeded": {reason: "A user's is never deleted.", before: []client.Object{hold("audit")}, want: []string{"audit False"}},
		"Expiring": {reason: "It is written again when it ends.", before: []client.Object{hold("audit", func(h *holdv1alpha1.UpgradeHold) {
			h.Spec.Until = new(metav1.Unix(1060, 0))
		})}, op: Operator{Installed: true, Holds: []gate.Hold{byUser("audit")}}, want: []string{"audit True"}, requeue: time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, writes := clientWith(t, tc.before...)
			w := &Writer{
				Client: c, Live: c, Recorder: events.NewFakeRecorder(10), Namespace: "operator-status-system", Index: &Index{Client: c, Reader: c},
				Now: func() time.Time { return time.Unix(1000, 0) },
			}
			if tc.op.Name == "" {
				tc.op.OperatorReference = foo
			}
			for range 3 { // a duplicate is deleted in the first, and a status is written in the next
				result, err := w.Write(t.Context(), tc.op)
				if err != nil {
					t.Fatal(err)
				}
				if result.RequeueAfter != tc.requeue {
					t.Errorf("%s\nit is written again after %s, want %s", tc.reason, result.RequeueAfter, tc.requeue)
				}
			}
			if diff := cmp.Diff(tc.want, existing(t, c)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			before := *writes
			if _, err := w.Write(t.Context(), tc.op); err != nil || *writes != before {
				t.Errorf("%s\nwriting it again: %v, %d writes", tc.reason, err, *writes-before)
			}
		})
	}
}

// TestDeletedByHand verifies that an UpgradeHold that a user deleted is created again, with an Event.
func TestDeletedByHand(t *testing.T) {
	c, _ := clientWith(t)
	recorder := events.NewFakeRecorder(10)
	w := &Writer{Client: c, Live: c, Index: &Index{Client: c, Reader: c}, Recorder: recorder, Now: time.Now}
	op := Operator{OperatorReference: foo, Installed: true, Holds: []gate.Hold{byProbe}, Request: &v1alpha1.Subscription{}}
	for range 2 {
		if _, err := w.Write(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), hold("olm.foo.foo")); err != nil {
			t.Fatal(err)
		}
	}
	if len(recorder.Events) != 1 {
		t.Errorf("there are %d Events, want 1", len(recorder.Events))
	}
}

// TestNameTaken verifies that a user cannot prevent an UpgradeHold by taking its name.
func TestNameTaken(t *testing.T) {
	c, _ := clientWith(t, hold("olm.foo.foo", func(h *holdv1alpha1.UpgradeHold) { h.Spec.Operator.Name = "other" }))
	w := &Writer{Client: c, Live: c, Index: &Index{Client: c, Reader: c}, Recorder: events.NewFakeRecorder(10), Now: time.Now}
	if _, err := w.Write(t.Context(), Operator{OperatorReference: foo, Installed: true, Holds: []gate.Hold{byProbe}}); err != nil {
		t.Fatal(err)
	}
	list := &holdv1alpha1.UpgradeHoldList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list.Items, func(h holdv1alpha1.UpgradeHold) bool { return h.Spec.Operator == foo && h.IsReported() }) {
		t.Errorf("none of %+v holds the updates", list.Items)
	}
}

// TestAllowed verifies that the annotation of a workload ends a hold of the operator, and none of an administrator.
func TestAllowed(t *testing.T) {
	byOperator := gate.Hold{Reason: "A", Override: gate.Override{Resource: "deployment", Object: operator.Ref{Name: "foo"}, Target: "b"}}
	byAdmin := gate.Hold{Reason: "A"}
	for name, tc := range map[string]struct {
		holds []gate.Hold
		want  string
	}{
		"Operator": {[]gate.Hold{byOperator}, "foo:2"}, "Administrator": {[]gate.Hold{byAdmin}, ""}, "Both": {[]gate.Hold{byOperator, byAdmin}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := clientWith(t)
			w := &Writer{
				Client: c, Live: c, Recorder: events.NewFakeRecorder(10), Namespace: "operator-status-system", Index: &Index{Client: c, Reader: c}, Now: time.Now,
			}
			got := "never asked"
			_, err := w.Write(t.Context(), Operator{
				OperatorReference: foo, Installed: true, Holds: tc.holds, Allowed: "foo:2", Request: &metav1.PartialObjectMetadata{},
				Denied: func(allowed string) *holdv1alpha1.DeniedUpdates {
					got = allowed
					return &holdv1alpha1.DeniedUpdates{}
				},
			})
			if err != nil || got != tc.want {
				t.Errorf("%q is allowed, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestEnforcementOf(t *testing.T) {
	const own = "operator-status-system"
	const plans, images, definitions = holdv1alpha1.DeniesInstallPlans, holdv1alpha1.DeniesWorkloads, holdv1alpha1.DeniesDefinitions
	const deny, audit = admissionregistrationv1.Deny, admissionregistrationv1.Audit
	olm, workload := []string{plans}, []string{images, definitions}
	policy := func(denies string) client.Object {
		return &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: denies}}
	}
	binding := func(denies, namespace string, actions ...admissionregistrationv1.ValidationAction) client.Object {
		out := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		out.GenerateName, out.Labels = denies+"-", map[string]string{holdv1alpha1.LabelEnforces: "any"}
		out.Spec.PolicyName, out.Spec.ValidationActions = denies, actions
		out.Spec.ParamRef = &admissionregistrationv1.ParamRef{
			Namespace: namespace, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{holdv1alpha1.LabelDenies: denies}},
		}
		return out
	}
	cases := map[string]struct {
		reason  string
		of      []string
		objects []client.Object
		want    Enforcement
	}{
		"None":    {"Nothing denies without a policy.", olm, nil, NotEnforced},
		"Denies":  {"A policy that denies enforces.", olm, []client.Object{policy(plans), binding(plans, own, deny, audit)}, Enforced},
		"Audits":  {"One that audits was released.", olm, []client.Object{policy(plans), binding(plans, own, audit)}, Released},
		"Another": {"The policy of another installer does not count.", olm, []client.Object{policy(images), binding(images, own, deny)}, NotEnforced},
		"Elsewhere": {
			"A policy that reads the index of another namespace finds no hold, and allows all.", olm,
			[]client.Object{policy(plans), binding(plans, "other", deny)}, NotEnforced,
		},
		"Lost": {"A binding whose policy was deleted denies nothing.", olm, []client.Object{binding(plans, own, deny)}, NotEnforced},
		"Some": {"Some bindings audit.", olm, []client.Object{policy(plans), binding(plans, own, deny), binding(plans, own, audit)}, Released},
		"Half": {
			"Images and definitions have a policy each.", workload,
			[]client.Object{policy(images), binding(images, own, deny), policy(definitions)}, NotEnforced,
		},
		"Both": {
			"Both have to deny.", workload,
			[]client.Object{policy(images), binding(images, own, deny), policy(definitions), binding(definitions, own, deny)}, Enforced,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := clientWith(t)
			for _, o := range tc.objects {
				if err := c.Create(t.Context(), o.DeepCopyObject().(client.Object)); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := EnforcementOf(t.Context(), c, tc.of, own); err != nil || got != tc.want {
				t.Errorf("%s\ngot %s, %v, want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}

// existing returns the names of the UpgradeHolds, with the status of Held.
func existing(t *testing.T, c client.Client) []string {
	t.Helper()
	list := &holdv1alpha1.UpgradeHoldList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range list.Items {
		for _, condition := range h.Status.Conditions {
			if condition.Type == holdv1alpha1.ConditionHeld {
				out = append(out, h.Name+" "+string(condition.Status))
			}
		}
	}
	return out
}

// clientWith returns a client with objects, and the number of its writes.
func clientWith(t *testing.T, objects ...client.Object) (client.Client, *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{holdv1alpha1.AddToScheme, admissionregistrationv1.AddToScheme, corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	writes := new(int)
	counting := interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			*writes++
			return c.Create(ctx, o, options...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
			*writes++
			return c.SubResource(sub).Update(ctx, o, options...)
		},
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&holdv1alpha1.UpgradeHold{})
	return c.WithInterceptorFuncs(counting).Build(), writes
}

// TestWholeSecond verifies when a hold is written again that begins or ends within a second: statuses have whole ones.
func TestWholeSecond(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		t      time.Time
		want   int64
	}{
		"Whole":  {"It is not delayed.", time.Unix(1000, 0), 1000},
		"First":  {"It has begun in the next second.", time.Unix(1000, 1), 1001},
		"Within": {"So it has here.", time.Unix(1000, 500_000_000), 1001},
		"Last":   {"And here.", time.Unix(1000, 999_999_999), 1001},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wholeSecond(tc.t); !got.Equal(time.Unix(tc.want, 0)) {
				t.Errorf("%s It is written again at %s, want %s.", tc.reason, got, time.Unix(tc.want, 0))
			}
		})
	}
}
