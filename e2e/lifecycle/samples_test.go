package lifecycle

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/e2e/samples"
	foov1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
)

// TestSamples verifies that the update of an operator that really migrates waits for the migration, for both ways to opt
// in. The operator runs with the rights and the environment that its bundle gave it.
func TestSamples(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	for _, sample := range []string{samples.Annotated, samples.Direct} {
		t.Run(sample, func(t *testing.T) {
			binary := samples.Build(t, sample)
			s := newStage(t, sample)
			t.Cleanup(func() {
				crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"}}
				remove(t, crd)
			})
			versions := samples.Versions()
			s.publish(t, sample, versions[:1]...)
			former, latter := samples.CSV(sample, versions[0]), samples.CSV(sample, versions[1])
			sub := s.subscribe(t, sample)
			s.awaitInstalled(t, sub, former)
			stop := s.start(t, sample, binary, former)
			probe := s.awaitProbe(t, former, metav1.ConditionTrue)

			foo := samples.NewFoo(t, cluster, s.namespace, "example")
			samples.AwaitFoo(t, cluster, foo, "1.0.0", metav1.ConditionFalse)
			samples.Change(t, cluster, foo, func(spec *foov1.FooSpec) { spec.Version, spec.Hold = "2.0.0", true })
			samples.AwaitFoo(t, cluster, foo, "1.0.0", metav1.ConditionTrue)
			s.awaitProbe(t, former, metav1.ConditionFalse)
			s.publish(t, sample, versions...)
			s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, s.namespace+"/"+foo.Name)
			s.checkAbsent(t, s.csv(latter))

			samples.Change(t, cluster, foo, func(spec *foov1.FooSpec) { spec.Hold = false })
			s.awaitInstalled(t, sub, latter)
			samples.AwaitFoo(t, cluster, foo, "2.0.0", metav1.ConditionFalse)
			stop() // its pod has been replaced
			cluster.AwaitGone(t, s.csv(former))
			cluster.AwaitGone(t, probe)
			s.start(t, sample, binary, latter)
			s.awaitProbe(t, latter, metav1.ConditionTrue)
		})
	}
}

// publish replaces the contents of the catalog with versions of a sample.
func (s *stage) publish(t *testing.T, sample string, versions ...string) {
	t.Helper()
	p, err := samples.Package(sample, nil, versions...)
	if err != nil {
		t.Fatal(err)
	}
	s.offer(t, p)
}

// start starts a sample as its Deployment would, and returns a function that stops it.
func (s *stage) start(t *testing.T, sample, binary, csv string) (stop func()) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: samples.Account(sample)}}
	var environment []string
	s.await(t, deployment, func() string {
		environment = nil
		for _, v := range deployment.Spec.Template.Spec.Containers[0].Env {
			if v.ValueFrom == nil {
				environment = append(environment, v.Name+"="+v.Value)
			}
		}
		if want := "OPERATOR_CONDITION_NAME=" + csv; !strings.Contains(strings.Join(environment, "\n"), want) {
			return "its environment lacks " + want
		}
		return ""
	})
	account := &corev1.ServiceAccount{}
	if err := cluster.Client.Get(t.Context(), s.key(deployment.Spec.Template.Spec.ServiceAccountName), account); err != nil {
		t.Fatal(err)
	}
	return samples.Start(t, cluster, binary, client.ObjectKeyFromObject(account), environment...)
}

// awaitProbe waits until Upgradeable of a Probe has a status.
func (s *stage) awaitProbe(t *testing.T, csv string, status metav1.ConditionStatus) *v1alpha1.Probe {
	t.Helper()
	out := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csv}}
	s.await(t, out, func() string {
		if !meta.IsStatusConditionPresentAndEqual(out.Status.Conditions, v1alpha1.ConditionUpgradeable, status) {
			return "want Upgradeable=" + string(status)
		}
		return ""
	})
	return out
}
