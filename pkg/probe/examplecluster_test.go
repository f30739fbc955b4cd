package probe_test

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/pkg/probe"
)

// onACluster returns the client of an operator for the examples, on a fake cluster that serves Probes.
func onACluster() *probe.Client {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	key := types.NamespacedName{Namespace: "operators", Name: "foo-operator.v1.0.0"}
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	csv.Spec.InstallStrategy.StrategyName = olm.InstallStrategyNameDeployment
	served := &metav1.APIResourceList{GroupVersion: v1alpha1.GroupVersion.String(), APIResources: []metav1.APIResource{{Name: "probes", Kind: "Probe"}}}
	return probe.New(
		fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Probe{}).WithObjects(csv).Build(),
		&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{served}}},
		probe.WithName(key.Name), probe.WithNamespace(key.Namespace),
	)
}
