package installplan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

var owner = metav1.OwnerReference{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "foo.v1", UID: "1"}

func TestPlace(t *testing.T) {
	labels := func(more ...string) map[string]any {
		out := map[string]any{"olm.owner": "foo.v1", "olm.owner.namespace": "default", "olm.owner.kind": "ClusterServiceVersion"}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	reference := []any{map[string]any{"apiVersion": owner.APIVersion, "kind": owner.Kind, "name": owner.Name, "uid": "1"}}
	elsewhere := configMap("foo")
	elsewhere.SetNamespace("kube-system")
	elsewhere.SetLabels(map[string]string{"app": "foo", "olm.owner": "bar"})
	elsewhere.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node", UID: "2"}})
	astray := clusterRole("foo")
	astray.SetNamespace("kube-system")
	foreign := csv("foo.v1")
	foreign.SetNamespace("kube-system")
	cases := map[string]struct {
		reason string
		object *unstructured.Unstructured
		owners map[string]metav1.OwnerReference
		want   map[string]any // metadata
	}{
		"Namespaced": {"It goes where the plan is, and with its ClusterServiceVersion, whatever its author wrote.", elsewhere, map[string]metav1.OwnerReference{"foo.v1": owner},
			map[string]any{"name": "foo", "namespace": "default", "labels": labels("app", "foo"), "ownerReferences": reference}},
		"OfAnother": {"What another bundle brings is not its.", configMap("foo"), map[string]metav1.OwnerReference{"bar.v1": owner},
			map[string]any{"name": "foo", "namespace": "default", "labels": labels()}},
		"ClusterScoped": {"The garbage collector would take what refers to a namespaced owner: labels alone tell.", astray, map[string]metav1.OwnerReference{"foo.v1": owner},
			map[string]any{"name": "foo", "labels": labels("olm.managed", "true"),
				"annotations": map[string]any{"operatorstatus.io/applied": plan().Name}}},
		"Definition": {"A definition outlives the operator, and nothing on it says otherwise.", crd(), map[string]metav1.OwnerReference{"foo.v1": owner},
			map[string]any{"name": "foos.example.com"}},
		"ClusterServiceVersion": {"It owns, and is not owned.", foreign, map[string]metav1.OwnerReference{"foo.v1": owner},
			map[string]any{"name": "foo.v1", "namespace": "default"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &run{as: cluster(t, nothing), plan: plan(), owners: tc.owners}
			s := &olm.Step{Resolving: "foo.v1", Resource: olm.StepResource{Kind: tc.object.GetKind(), Name: tc.object.GetName()}}
			if err := r.place(s, tc.object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tc.object.Object["metadata"]); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPlaceOfAnUnknownKind(t *testing.T) {
	r := &run{as: cluster(t, nothing), plan: plan()}
	s := &olm.Step{Resolving: "foo.v1", Resource: olm.StepResource{Kind: "Odd", Name: "odd"}}
	err := r.place(s, object(`{"apiVersion":"odd.com/v1","kind":"Odd","metadata":{"name":"odd"}}`))
	if err == nil || !transient(err) {
		t.Errorf("%v; want it tried again, for the kind may be served in a moment", err)
	}
}

// applied runs the steps against a cluster, and tells what was written in lines.
func applied(t *testing.T, p *olm.InstallPlan, fails map[string]error, there ...client.Object) ([]string, error) {
	t.Helper()
	var mu sync.Mutex
	var out []string
	line := func(verb, kind, namespace, name string) error {
		text := fmt.Sprintf("%s %s %s/%s", verb, kind, namespace, name)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, text)
		return fails[text]
	}
	c := cluster(t, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			kind := o.GetObjectKind().GroupVersionKind().Kind
			if _, ok := o.(*v1alpha1.Probe); ok {
				kind = "Probe"
			}
			if err := line("create", kind, o.GetNamespace(), o.GetName()); err != nil {
				return err
			}
			return c.Create(ctx, o, options...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			u := o.(interface{ GetKind() string })
			m := o.(metav1.Object)
			if err := line("apply", u.GetKind(), m.GetNamespace(), m.GetName()); err != nil {
				return err
			}
			return c.Apply(ctx, o, options...)
		},
	}, there...)
	err := (&run{as: c, reader: c, vouchers: &Vouchers{}, plan: p}).all(t.Context())
	return out, err
}

func owning() *unstructured.Unstructured {
	out := csv("foo.v1")
	out.Object["spec"].(map[string]any)["customresourcedefinitions"] = object(`{"owned":[{"name":"foos.example.com","version":"v1","kind":"Foo"}]}`).Object
	return out
}

func annotated() *unstructured.Unstructured {
	out := crd()
	out.SetAnnotations(map[string]string{v1alpha1.AnnotationUpgradeable: "!Migrating"})
	return out
}

func TestRun(t *testing.T) {
	invalid := apierrors.NewBadRequest("no")
	busy := apierrors.NewTooManyRequests("busy", 1)
	dependency := DependencySubscription(bundle("foo.v1", "").Choice, "default")
	cases := map[string]struct {
		reason  string
		objects []*unstructured.Unstructured
		there   []client.Object
		fails   map[string]error
		want    []string
		failure string // "again: …" or "reason: …"
		present int
	}{
		"Whole": {reason: "Every step in its order; then the Probe that the definition asks for.",
			objects: []*unstructured.Unstructured{owning(), annotated(), roleBinding("foo"), dependency},
			want: []string{"apply CustomResourceDefinition /foos.example.com", "apply ClusterServiceVersion default/foo.v1",
				"create Subscription default/foo-stable-community-olm", "apply RoleBinding default/foo", "create Probe default/foo.v1"},
			present: 4},
		"WithoutAnnotations": {reason: "Who does not ask for a Probe gets none.",
			objects: []*unstructured.Unstructured{owning(), crd()},
			want:    []string{"apply CustomResourceDefinition /foos.example.com", "apply ClusterServiceVersion default/foo.v1"}, present: 2},
		"ProbeIsThere": {reason: "A Probe of that name stays whose it is.",
			objects: []*unstructured.Unstructured{owning(), annotated()},
			there:   []client.Object{&v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}},
			want:    []string{"apply CustomResourceDefinition /foos.example.com", "apply ClusterServiceVersion default/foo.v1", "create Probe default/foo.v1"}, present: 2},
		"SubscriptionIsThere": {reason: "A Subscription that is there is its user's: nothing of it is changed.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), dependency},
			there: []client.Object{&v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo-stable-community-olm"},
				Spec: &olm.SubscriptionSpec{Package: "foo"}}},
			want: []string{"apply ClusterServiceVersion default/foo.v1", "create Subscription default/foo-stable-community-olm"}, present: 2},
		"SubscriptionElsewhere": {reason: "A bundle's own Subscription stays in the namespace of the plan like all else, or a namespace's catalog installs where it likes.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), object(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription",` +
				`"metadata":{"name":"bar","namespace":"kube-system"},"spec":{"name":"bar","source":"community","sourceNamespace":"olm"}}`)},
			want: []string{"apply ClusterServiceVersion default/foo.v1", "create Subscription default/bar"}, present: 2},
		"Refused": {reason: "A step that is refused ends the plan there: what may depend on it is not begun.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), configMap("foo"), roleBinding("foo")},
			fails:   map[string]error{"apply ConfigMap default/foo": invalid},
			want:    []string{"apply ClusterServiceVersion default/foo.v1", "apply ConfigMap default/foo"},
			failure: "InstallComponentFailed: ConfigMap foo of foo.v1: no", present: 1},
		"Busy": {reason: "One that may pass later is tried again from there.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), configMap("foo")},
			fails:   map[string]error{"apply ConfigMap default/foo": busy},
			want:    []string{"apply ClusterServiceVersion default/foo.v1", "apply ConfigMap default/foo"},
			failure: "again: ConfigMap foo of foo.v1: busy", present: 1},
		"Unsafe": {reason: "A definition that breaks what is there is not applied.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), inJSON(t, foos(version("v2", 1)))},
			there:   []client.Object{foos(version("v1", 1))},
			failure: "CRDUpdateUnsafe: CustomResourceDefinition foos.example.com of foo.v1: " +
				"it has no version v1, in which custom resources are stored (status.storedVersions)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := plan(stepsOf(t, "olm", tc.objects...)...)
			got, err := applied(t, p, tc.fails, tc.there...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			failure := ""
			if r, ok := errors.AsType[*rejection](err); ok {
				failure = r.reason + ": " + r.message
			} else if err != nil {
				failure = "again: " + err.Error()
			}
			if failure != tc.failure {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, failure, tc.failure)
			}
			present := 0
			for _, s := range p.Status.Plan {
				if s.Status == olm.StepStatusPresent {
					present++
				}
			}
			if present != tc.present {
				t.Errorf("%s\n%d steps are present; want %d", tc.reason, present, tc.present)
			}
		})
	}
}

// TestRunAsAnAccount: an account that may install an operator need not be one that may make Probes, which are ours.
func TestRunAsAnAccount(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "operators.coreos.com", Resource: "probes"}, "foo.v1", errors.New("no rights"))
	p := plan(stepsOf(t, "olm", owning(), annotated())...)
	if _, err := applied(t, p, map[string]error{"create Probe default/foo.v1": forbidden}); err != nil {
		if _, final := errors.AsType[*rejection](err); !final {
			t.Errorf("%v: this is tried again for ever, though no retry mends it", err)
		}
	}
}
