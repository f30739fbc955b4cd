package platformoperator

import (
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestAwaitsOLM verifies that OLM's kinds are only reported as missing if they are.
func TestAwaitsOLM(t *testing.T) {
	crd := func(plural, version string, established apiextensions.ConditionStatus) client.Object {
		return &apiextensions.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".operators.coreos.com"},
			Spec:       apiextensions.CustomResourceDefinitionSpec{Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: version, Served: true}}},
			Status: apiextensions.CustomResourceDefinitionStatus{Conditions: []apiextensions.CustomResourceDefinitionCondition{
				{Type: apiextensions.Established, Status: established},
			}},
		}
	}
	const yes, no = apiextensions.ConditionTrue, apiextensions.ConditionFalse
	subscriptions, csvs := crd("subscriptions", "v1alpha1", yes), crd("clusterserviceversions", "v1alpha1", yes)
	for name, tc := range map[string]struct {
		reason  string
		crds    []client.Object
		watched bool
		want    bool
	}{
		"None":        {"Nothing would end the wait.", nil, false, false},
		"Starting":    {"They are read in a moment.", []client.Object{subscriptions, csvs, crd("operatorgroups", "v1", yes)}, false, true},
		"Watched":     {"They are read.", []client.Object{subscriptions, csvs, crd("operatorgroups", "v1", yes)}, true, false},
		"One":         {"One is missing.", []client.Object{subscriptions, csvs}, false, false},
		"Established": {"One cannot be served.", []client.Object{subscriptions, csvs, crd("operatorgroups", "v1", no)}, false, false},
		"Version":     {"One is served in another version only.", []client.Object{subscriptions, csvs, crd("operatorgroups", "v1alpha2", yes)}, false, false},
	} {
		scheme := runtime.NewScheme()
		if err := apiextensions.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.crds...).Build()}
		r.subscriptions.Store(tc.watched)
		if got, err := r.awaitsOLM(t.Context()); got != tc.want || err != nil {
			t.Errorf("%s: %t, %v; want %t: %s", name, got, err, tc.want, tc.reason)
		}
	}
}
