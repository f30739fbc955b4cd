package operatorgroup

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

func cluster(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, operatorsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func group(namespace, name string, targets ...string) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       operatorsv1.OperatorGroupSpec{TargetNamespaces: targets},
	}
}

func namespace(name, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

func TestFind(t *testing.T) {
	elsewhere := group("elsewhere", "global")
	cases := map[string]struct {
		reason  string
		there   []client.Object
		want    string
		problem *condition.Problem
	}{
		"None": {
			reason: "An OperatorGroup of another namespace is not found.",
			there:  []client.Object{elsewhere},
			problem: &condition.Problem{Reason: "OperatorGroupMissing", Message: "Namespace default has no OperatorGroup, " +
				"which selects the namespaces that its operators watch: create one"},
		},
		"One": {
			reason: "The only OperatorGroup of the namespace is found.",
			there:  []client.Object{elsewhere, group("default", "mine")},
			want:   "mine",
		},
		"Two": {
			reason: "Two OperatorGroups are ambiguous, and both are reported in order.",
			there:  []client.Object{group("default", "b"), group("default", "a")},
			problem: &condition.Problem{Reason: "TooManyOperatorGroups", Message: "Namespace default has 2 OperatorGroups, but only one is allowed: " +
				"delete all but one of a, b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problem, err := Find(t.Context(), cluster(t, tc.there...), "default")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.problem, problem); diff != "" {
				t.Errorf("%s\nproblem (-want +got):\n%s", tc.reason, diff)
			}
			if (got == nil) != (tc.want == "") || got != nil && got.Name != tc.want {
				t.Errorf("%s\ngot %v; want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestFindUnserved verifies that Find succeeds if the kind is not served: it is removed together with OLM, and pending
// deletions must not be blocked by that.
func TestFindUnserved(t *testing.T) {
	c := interceptor.NewClient(cluster(t).(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return fmt.Errorf("listing: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: operatorsv1.GroupVersion.Group, Kind: "OperatorGroup"}})
		},
	})
	if group, problem, err := Find(t.Context(), c, "default"); group != nil || problem == nil || err != nil {
		t.Errorf("%v %v %v; want no OperatorGroup", group, problem, err)
	}
}

func TestTargets(t *testing.T) {
	selecting := func(s *metav1.LabelSelector, targets ...string) *operatorsv1.OperatorGroup {
		out := group("default", "mine", targets...)
		out.Spec.Selector = s
		return out
	}
	blue := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}
	cases := map[string]struct {
		reason string
		group  *operatorsv1.OperatorGroup
		want   []string
	}{
		"All":           {"A group without targets covers all namespaces.", group("default", "mine"), []string{""}},
		"EmptySelector": {"A group with an empty selector covers all namespaces.", selecting(&metav1.LabelSelector{}), []string{""}},
		"List":          {"Listed namespaces are sorted and unique, whether they exist or not.", group("default", "mine", "c", "a", "c", "b"), []string{"a", "b", "c"}},
		"Selector":      {"A selector by labels is evaluated.", selecting(blue), []string{"ns-1", "ns-3"}},
		"Expressions": {"A selector by expressions is evaluated.", selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"blue"}},
		}}), []string{"ns-2"}},
		"ListBeatsSelector": {"Listed namespaces take precedence over the selector.", selecting(blue, "ns-2"), []string{"ns-2"}},
		"SelectsNone":       {"A selector without matches covers no namespace.", selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}), nil},
		"InvalidSelector": {"An invalid selector covers no namespace.", selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: "Near", Values: []string{"blue"}},
		}}), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.group.DeepCopy()
			c := cluster(t, namespace("ns-3", "blue"), namespace("ns-2", "green"), namespace("ns-1", "blue"))
			got, err := Targets(t.Context(), c, tc.group)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.group); diff != "" {
				t.Errorf("the group was changed:\n%s", diff)
			}
		})
	}
}
