package csv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, Labels: map[string]string{install.LabelOwner: "v1"},
		OwnerReferences: []metav1.OwnerReference{owner("v1", new(false))},
	}
}

func desiredDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: named("foo"),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "foo"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "foo", Image: "foo:1", Env: []corev1.EnvVar{{Name: "A", Value: "a"}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8081)}}},
			}}}},
		},
	}
}

func desiredRole() *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}, ObjectMeta: named("foo"),
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}
}

func desiredAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: named("foo")}
}

// appliedHash returns the hash of an applied object.
func appliedHash(t *testing.T, o client.Object) string {
	t.Helper()
	applied, err := install.WithAppliedHash(o)
	if err != nil {
		t.Fatal(err)
	}
	return applied.GetAnnotations()[install.AnnotationApplied]
}

// applied returns an object as a cache holds it some time after it was applied.
func applied[T client.Object](t *testing.T, desired T, more ...func(T)) T {
	t.Helper()
	out := desired.DeepCopyObject().(T)
	install.Annotate(out, install.AnnotationApplied, appliedHash(t, desired))
	out.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	out.SetUID("uid")
	out.SetResourceVersion("1234")
	out.SetCreationTimestamp(metav1.Unix(1000, 0))
	out.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: string(FieldOwner)}})
	for _, m := range more {
		m(out)
	}
	return out
}

// running sets the fields that the API server and its controllers add to a Deployment.
func running(d *appsv1.Deployment) {
	d.Generation = 3
	d.Annotations["deployment.kubernetes.io/revision"] = "1"
	d.Spec.RevisionHistoryLimit = new(int32(10))
	d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	d.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	foo := &d.Spec.Template.Spec.Containers[0]
	foo.TerminationMessagePath = "/dev/termination-log"
	foo.LivenessProbe.HTTPGet.Scheme = corev1.URISchemeHTTP
	foo.LivenessProbe.TimeoutSeconds, foo.LivenessProbe.PeriodSeconds = 1, 10
	foo.LivenessProbe.SuccessThreshold, foo.LivenessProbe.FailureThreshold = 1, 3
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
}

func metadata(o client.Object) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels(), OwnerReferences: o.GetOwnerReferences(), CreationTimestamp: metav1.Unix(1000, 0),
	}}
}

func TestSame(t *testing.T) {
	with := func(change func(*appsv1.Deployment)) client.Object {
		return applied(t, desiredDeployment(), running, change)
	}
	fewer := desiredDeployment()
	fewer.Spec.Template.Spec.Containers[0].Env = nil
	cases := map[string]struct {
		reason  string
		desired client.Object
		actual  client.Object
		want    bool
	}{
		"Role":       {"What was applied is as it should be: in a quiet cluster nothing is written.", desiredRole(), applied(t, desiredRole()), true},
		"Deployment": {"What the API server fills in, and a status, are no difference.", desiredDeployment(), applied(t, desiredDeployment(), running), true},
		"Added": {"What others add is theirs.", desiredDeployment(), with(func(d *appsv1.Deployment) {
			d.Labels["team"], d.Annotations["note"] = "blue", "hello"
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar"})
			d.OwnerReferences = append(d.OwnerReferences, owner("w1", nil))
		}), true},
		"Changed": {"What others change is put right.", desiredDeployment(),
			with(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "evil:1" }), false},
		"Removed": {"What others remove comes back.", desiredDeployment(), with(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = nil }),
			false},
		"Scaled":    {"A number is a value like any other.", desiredDeployment(), with(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }), false},
		"LabelLost": {"A label that is gone comes back.", desiredDeployment(), with(func(d *appsv1.Deployment) { delete(d.Labels, install.LabelOwner) }), false},
		"NoMore":    {"What is wanted no more is seen to be gone by the hash of what was applied.", fewer, applied(t, desiredDeployment(), running), false},
		"HashLost": {"Without the hash it is applied again.", desiredDeployment(),
			with(func(d *appsv1.Deployment) { delete(d.Annotations, install.AnnotationApplied) }), false},
		"OwnerMissing": {"It has to belong to its ClusterServiceVersion.", desiredDeployment(), with(func(d *appsv1.Deployment) { d.OwnerReferences = nil }), false},
		"OwnerMoved": {"An earlier version's owner of the same name is another.", desiredDeployment(), with(func(d *appsv1.Deployment) {
			d.OwnerReferences[0].UID = "uid-earlier"
		}), false},
		"LabelledForAnother": {"What another version took over is taken back, where that is still an owner.", desiredDeployment(), with(func(d *appsv1.Deployment) {
			d.OwnerReferences = append(d.OwnerReferences, owner("v0", nil))
			d.Labels[install.LabelOwner] = "v0"
		}), false},
		"Account": {"Of service accounts the cache holds the metadata alone.", desiredAccount(), metadata(desiredAccount()), true},
		"AccountLabelled": {"Of which labels count.", desiredAccount(), func() client.Object { out := metadata(desiredAccount()); out.Labels = nil; return out }(),
			false},
		"AccountOwner": {"And owners.", desiredAccount(), func() client.Object { out := metadata(desiredAccount()); out.OwnerReferences = nil; return out }(),
			false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.actual.DeepCopyObject()
			got, err := same(tc.desired, tc.actual, appliedHash(t, tc.desired))
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("%s\ngot %t; want %t", tc.reason, got, tc.want)
			}
			if diff := cmp.Diff(before, tc.actual); diff != "" {
				t.Errorf("What the cache holds was changed:\n%s", diff)
			}
		})
	}
}

func TestSeal(t *testing.T) {
	hash := func(change func(*rbacv1.Role)) string {
		role := desiredRole()
		change(role)
		return appliedHash(t, role)
	}
	plain := hash(func(*rbacv1.Role) {})
	if again := hash(func(*rbacv1.Role) {}); plain == "" || again != plain {
		t.Errorf("the same has hashes %q and %q", plain, again)
	}
	for name, change := range map[string]func(*rbacv1.Role){
		"Rules":       func(r *rbacv1.Role) { r.Rules = nil },
		"Labels":      func(r *rbacv1.Role) { r.Labels["a"] = "b" },
		"Annotations": func(r *rbacv1.Role) { r.Annotations = map[string]string{"a": "b"} },
		"Owner":       func(r *rbacv1.Role) { r.OwnerReferences = nil },
	} {
		if got := hash(change); got == plain {
			t.Errorf("%s: another object has the same hash", name)
		}
	}
}

// deployment returns a Deployment with observed spec and these numbers of pods.
func deployment(want *int32, replicas, updated, available int32, conditions ...appsv1.DeploymentCondition) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: want},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: replicas, UpdatedReplicas: updated, AvailableReplicas: available, Conditions: conditions,
		},
	}
}

func unseen(d *appsv1.Deployment) *appsv1.Deployment {
	d.Generation++
	return d
}

func TestRollout(t *testing.T) {
	gaveUp := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
		Message: "it has timed out progressing"}
	progressing := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Message: "progressing"}
	quota := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}
	cases := map[string]struct {
		reason           string
		deployment       *appsv1.Deployment
		available, stuck bool
		why              string
	}{
		"Absent": {reason: "One that the cache does not have yet has just been applied.", deployment: &appsv1.Deployment{}, why: "it has just been applied"},
		"Unseen": {reason: "A status of an earlier generation does not apply to this spec.", deployment: unseen(deployment(new(int32(1)), 1, 1, 1)),
			why: "it has just been applied"},
		"UnseenStuck": {reason: "Nor does a timeout in it.", deployment: unseen(deployment(new(int32(1)), 1, 1, 0, gaveUp)), why: "it has just been applied"},
		"Starting": {reason: "Its pod is not ready.", deployment: deployment(new(int32(1)), 1, 1, 0, progressing),
			why: "1 of 1 pods are updated, 0 are available"},
		"Available":    {reason: "All pods are there.", deployment: deployment(new(int32(2)), 2, 2, 2, progressing), available: true},
		"ByDefault":    {reason: "One pod is the default.", deployment: deployment(nil, 0, 0, 0), why: "0 of 1 pods are updated, 0 are available"},
		"ScaledToZero": {reason: "None of none is all, for an operator that is switched off.", deployment: deployment(new(int32(0)), 0, 0, 0), available: true},
		"SomeMissing":  {reason: "Two of three are not all.", deployment: deployment(new(int32(3)), 3, 3, 2), why: "3 of 3 pods are updated, 2 are available"},
		"OldPodRuns": {reason: "While the old pod does the work, the new one is not available: an update that cannot start has not Succeeded.",
			deployment: deployment(new(int32(1)), 2, 1, 1, progressing), why: "pods"},
		"Refused": {reason: "An API server error about its pods is reported.", deployment: deployment(new(int32(1)), 0, 0, 0, quota, progressing),
			why: "exceeded quota"},
		"GaveUp":    {reason: "One that gave up is stuck.", deployment: deployment(new(int32(1)), 1, 1, 0, gaveUp), stuck: true, why: "it has timed out progressing"},
		"Recovered": {reason: "One that gave up and came up all the same is available.", deployment: deployment(new(int32(1)), 1, 1, 1, gaveUp), available: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			available, stuck, why := rollout(tc.deployment)
			if available != tc.available || stuck != tc.stuck || tc.why != "" && !strings.Contains(why, tc.why) || tc.why == "" && why != "" {
				t.Errorf("%s\navailable %t, stuck %t, %q; want %t, %t, %q", tc.reason, available, stuck, why, tc.available, tc.stuck, tc.why)
			}
		})
	}
}

// renderedFor returns the Deployments in the install strategy of a CSV.
func renderedFor(s *situation) (out install.Rendered) {
	for _, d := range s.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.csv.Namespace, Name: d.Name}}
		out.Objects = append(out.Objects, install.Object{Object: o})
	}
	return out
}

func TestHealth(t *testing.T) {
	called := func(name string, d *appsv1.Deployment) client.Object {
		d.Name = name
		install.Annotate(d, install.AnnotationApplied, appliedHash(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
		return d
	}
	up := func(name string) client.Object { return called(name, deployment(new(int32(1)), 1, 1, 1)) }
	down := func(name string) client.Object { return called(name, deployment(new(int32(1)), 1, 1, 0)) }
	stuck := func(name string) client.Object {
		return called(name, deployment(new(int32(1)), 1, 1, 0, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: "it has timed out progressing"}))
	}
	rolling := func(since int64) client.Object {
		d := deployment(new(int32(1)), 2, 1, 1, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: metav1.Unix(since, 0),
		})
		d.UID, d.Spec.Selector = "a", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
		return called("a", d)
	}
	part := func(kind, owner, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "a"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID(owner), Controller: new(true)}},
		}
	}
	unscheduled := &corev1.Pod{ObjectMeta: part("ReplicaSet", "new", "pod"), Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes match",
	}}}}
	pods := []client.Object{unscheduled, &appsv1.ReplicaSet{ObjectMeta: part("Deployment", "a", "new")}, up("b")}
	const waits = "Deployment a is not available: 1 of 1 pods are updated, 0 are available"
	cases := map[string]struct {
		reason string
		before []option
		there  []client.Object
		want   string
	}{
		"Up":    {"All are available.", nil, []client.Object{up("a"), up("b")}, "Succeeded/InstallSucceeded: Every deployment is available"},
		"Waits": {"One is not yet.", []option{phase("Installing")}, []client.Object{down("a"), up("b")}, "Installing/InstallWaiting: " + waits},
		"Absent": {"One is not even there.", nil, []client.Object{up("a")},
			"Installing/InstallWaiting: Deployment b is not available: it has just been applied"},
		"WaitsForTwo": {"Both are named, always in the same order.", nil, []client.Object{down("b"), down("a")},
			"Installing/InstallWaiting: " + waits + "; " + strings.Replace(waits, " a ", " b ", 1)},
		"GoesDown": {"One that was available is so no more.", []option{phase("Succeeded")}, []client.Object{down("a"), up("b")},
			"Failed/ComponentUnhealthy: " + waits},
		"StaysDown": {"And stays so: this is no install.", []option{phase("Failed"), reason("ComponentUnhealthy")}, []client.Object{down("a"), up("b")},
			"Failed/ComponentUnhealthy: " + waits},
		"ComesBack": {"Until it comes back.", []option{phase("Failed"), reason("ComponentUnhealthy")}, []client.Object{up("a"), up("b")},
			"Succeeded/InstallSucceeded: Every deployment is available"},
		"Stuck": {"One that gave up fails the install.", []option{phase("Installing")}, []client.Object{down("a"), stuck("b")},
			"Failed/InstallCheckFailed: Deployment b makes no progress: it has timed out progressing"},
		"Pod": {"A rollout that takes long names the pod.", []option{phase("Installing")}, append([]client.Object{rolling(2985)}, pods...),
			"Installing/InstallWaiting: Deployment a is not available: Pod default/pod (Unschedulable): the pod is Pending: 0/1 nodes match"},
		"PodSoon": {"One that has just begun does not: that would be read for each installation.", []option{phase("Installing")}, append([]client.Object{rolling(2986)}, pods...),
			"Installing/InstallWaiting: Deployment a is not available: 1 of 1 pods are updated, 1 are available"},
		"GetsUnstuck": {"And no more once it goes on.", []option{phase("Failed"), reason("InstallCheckFailed")}, []client.Object{down("a"), up("b")},
			"Installing/InstallWaiting: " + waits},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := about(csv("v1", append(tc.before, deploying("b", "a"))...))
			verdict, err := reconciler(t, tc.there...).health(t.Context(), s, renderedFor(s))
			if got := word(verdict); err != nil || got != tc.want {
				t.Errorf("%s\ngot  %s, %v\nwant %s", tc.reason, got, err, tc.want)
			}
		})
	}
	t.Run("AsItWasBefore", func(t *testing.T) {
		s := about(csv("v1", phase("Installing"), deploying("a")))
		rendered := renderedFor(s)
		const want = "Installing/InstallWaiting: Deployment a is not available: it has just been applied"
		before := up("a")
		install.Annotate(before, install.AnnotationApplied, "another")
		verdict, err := reconciler(t, before).health(t.Context(), s, rendered)
		if got := word(verdict); err != nil || got != want {
			t.Errorf("The pods of the previous version do not count for this one\ngot  %s, %v\nwant %s", got, err, want)
		}
		now := deployment(new(int32(1)), 1, 1, 1)
		now.Name = "a"
		install.Annotate(now, install.AnnotationApplied, appliedHash(t, rendered.Objects[0].Object))
		if verdict, err := reconciler(t, now).health(t.Context(), s, rendered); err != nil || verdict.Phase != olm.CSVPhaseSucceeded {
			t.Errorf("What was applied is there: %s, %v", word(verdict), err)
		}
	})
	t.Run("NoDeployments", func(t *testing.T) {
		s := about(csv("v1"))
		verdict, err := reconciler(t).health(t.Context(), s, renderedFor(s))
		if err != nil || verdict.Phase != olm.CSVPhaseSucceeded {
			t.Errorf("An operator without deployments is installed at once: %s, %v", word(verdict), err)
		}
	})
}

// TestCertify verifies that a verdict is due again when the certificates have to be replaced, unless it is due sooner.
func TestCertify(t *testing.T) {
	now := time.Unix(3000, 0)
	due := func(after time.Duration) install.Certificates {
		return install.Certificates{"foo": install.Certificate{RotateAt: now.Add(after)}}
	}
	for name, tc := range map[string]struct {
		reason       string
		again        time.Duration
		certificates install.Certificates
		want         time.Duration
	}{
		"None":     {"An operator without webhooks has no certificate.", slow, nil, slow},
		"Settled":  {"Nothing else is awaited.", 0, due(time.Hour), time.Hour},
		"Starting": {"The pods of a rollout are read again long before.", slow, due(time.Hour), slow},
		"Overdue":  {"A certificate that has to be replaced now is replaced soon.", slow, due(-time.Hour), time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			v := &Verdict{Again: tc.again}
			v.certify(tc.certificates, now)
			if v.Again != tc.want || len(v.Certificates) != len(tc.certificates) {
				t.Errorf("%s\nagain after %s with %d certificates; want %s", tc.reason, v.Again, len(v.Certificates), tc.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	for name, tc := range map[string]struct {
		err    error
		reason string // of the verdict, or empty for a retry
	}{
		"Invalid":    {apierrors.NewInvalid(kind, "foo", field.ErrorList{field.Required(field.NewPath("spec"), "")}), "InstallComponentFailed"},
		"Forbidden":  {apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "foo", errors.New("no rights")), "InstallComponentFailed"},
		"BadRequest": {apierrors.NewBadRequest("no"), "InstallComponentFailed"},
		"Untrusted":  {&untrustedError{"the deployment foo: name an account"}, "ServiceAccountRequired"},
		"Internal":   {apierrors.NewInternalError(errors.New("webhook away")), ""},
		"Away":       {errors.New("away"), ""},
	} {
		verdict, err := reconciler(t).rejection(about(csv("v1")), fmt.Errorf("the deployment foo: %w", tc.err))
		switch {
		case tc.reason == "" && (verdict != nil || !errors.Is(err, tc.err)):
			t.Errorf("%s: %s, %v; want it tried again", name, word(verdict), err)
		case tc.reason != "" && (err != nil || verdict == nil || verdict.Phase != olm.CSVPhaseFailed || verdict.Reason != tc.reason ||
			!strings.Contains(verdict.Message, "the deployment foo: ")):
			t.Errorf("%s: %s, %v; want a verdict", name, word(verdict), err)
		case tc.reason == "InstallComponentFailed" && verdict.Again == 0:
			t.Errorf("%s: it is never tried again", name)
		}
	}
}

// TestBackOff verifies that errors that a user has to fix are retried less and less often, so a cluster becomes quiet.
func TestBackOff(t *testing.T) {
	r := reconciler(t)
	for since, want := range map[time.Duration]time.Duration{0: time.Second, -time.Hour: time.Second, time.Minute: time.Minute, time.Hour: 10 * time.Minute} {
		c := csv("v1")
		c.Status.LastTransitionTime = new(metav1.NewTime(r.Now().Add(-since)))
		if got := r.backOff(about(c)); got != want {
			t.Errorf("after %s it is tried again in %s; want %s", since, got, want)
		}
	}
}

// TestTakeOverInterrupted verifies that Deployment fields that OLM wrote and the ClusterServiceVersion does not have
// are removed, even if another client writes the Deployment meanwhile.
func TestTakeOverInterrupted(t *testing.T) {
	s := about(csv("v1"))
	r := reconciler(t, s.csv)
	interrupted := 0
	c := interceptor.NewClient(fake.NewClientBuilder().WithReturnManagedFields().Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if interrupted++; interrupted == 1 {
				return apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, o.GetName(), errors.New("it has been modified"))
			}
			return c.Patch(ctx, o, patch, options...)
		},
	})
	r.Client, s.installer = c, func() (client.Client, error) { return c, nil }
	olms := desiredDeployment()
	olms.Spec.Template.Labels = map[string]string{"of": "before"}
	if err := c.Create(t.Context(), olms, client.FieldOwner("olm")); err != nil {
		t.Fatal(err)
	}
	desired := install.Object{Object: desiredDeployment()}
	if err := r.ensure(t.Context(), s, desired); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if err := r.ensure(t.Context(), s, desired); err != nil {
		t.Error(err)
	}
	got := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(olms), got); err != nil {
		t.Fatal(err)
	}
	if len(got.Spec.Template.Labels) > 0 {
		t.Errorf("it keeps %v, which OLM wrote", got.Spec.Template.Labels)
	}
}
