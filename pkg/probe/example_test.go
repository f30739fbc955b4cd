package probe_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/pkg/probe"
)

// An operator creates one Client when it starts. The environment of its pod contains the name of its Probe.
func ExampleNew() {
	setup := func(mgr ctrl.Manager) (*probe.Client, error) {
		d, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return nil, err
		}
		return probe.New(mgr.GetClient(), d), nil
	}
	_ = setup
}

// Before critical work for an object, an operator holds its updates, and releases them afterwards. Other objects hold on their own.
func ExampleClient_Hold() {
	ctx := context.Background()
	own := onACluster()

	foo := probe.Object{Resource: "foos.example.com", Kind: "Foo", Namespace: "default", Name: "example"}
	migrate := func() error {
		err := own.Hold(ctx, foo, "migrating the database to version 2")
		if err != nil && !errors.Is(err, probe.ErrNotServed) {
			return err // an update could interrupt the migration: try again later
		}
		fmt.Println("migrating")
		err = own.Release(ctx, foo)
		if errors.Is(err, probe.ErrNotServed) {
			return nil // no update waits
		}
		return err
	}
	if err := migrate(); err != nil {
		fmt.Println(err)
	}

	condition, err := own.Upgradeable(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(condition.Status, condition.Reason)
	// Output:
	// migrating
	// True AllUpgradeable
}

// An operator that knows the state of all of its objects sets the condition itself.
func ExampleClient_SetUpgradeable() {
	ctx := context.Background()
	own := onACluster()

	if err := own.SetUpgradeable(ctx, metav1.ConditionFalse, "Migrating", "2 of 3 Foos are being migrated"); err != nil {
		fmt.Println(err)
	}
	condition, err := own.Upgradeable(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(condition.Status, condition.Reason)
	// Output: False Migrating
}

// Other parts of the status can be written as well.
func ExampleClient_Update() {
	ctx := context.Background()
	own := onACluster()

	err := own.Update(ctx, func(p *v1alpha1.Probe) {
		p.Status.Summary = &v1alpha1.ProbeSummary{Total: 3, NotUpgradeable: 1}
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionFalse,
			Reason: "Migrating", Message: "1 of 3 Foos is being migrated",
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := own.Get(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.Spec.Manager, found.Status.Summary.NotUpgradeable)
	// Output: operator 1
}

// In tests, options replace the environment of the pod, and a fake client the API server.
func ExampleWithName() {
	own := probe.New(
		fake.NewClientBuilder().Build(),
		&fakediscovery.FakeDiscovery{Fake: &testing.Fake{}}, // serves no Probes
		probe.WithName("foo-operator.v1.0.0"), probe.WithNamespace("operators"),
	)
	err := own.SetUpgradeable(context.Background(), metav1.ConditionFalse, "Migrating", "")
	fmt.Println(errors.Is(err, probe.ErrNotServed))
	// Output: true
}
