package cvotest

import (
	"context"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watch checks every status of every ClusterOperator until the test ends. The test fails if any of them breaks a rule.
func Watch(t testing.TB, config *rest.Config, scheme *runtime.Scheme) {
	t.Helper()
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	events, err := watcher.Watch(t.Context(), &configv1.ClusterOperatorList{})
	if err != nil {
		t.Fatal(err)
	}
	var problems []error
	done := make(chan struct{})
	go func() {
		defer close(done)
		checker, was := New(), false
		for e := range events.ResultChan() {
			co, ok := e.Object.(*configv1.ClusterOperator)
			if !ok || e.Type == watch.Deleted {
				checker = New()
				continue
			}
			is := installing(watcher)
			checker.Installing = was || is // the status may have been written before the installation completed
			was = is
			if err := checker.Observe(co); err != nil {
				problems = append(problems, err)
			}
		}
	}()
	t.Cleanup(func() {
		events.Stop()
		<-done
		for _, err := range problems {
			t.Errorf("rules of the Cluster Version Operator: %v", err)
		}
	})
}

// installing reports whether the ClusterVersion exists and has never completed a release.
func installing(c client.Client) bool {
	version := &configv1.ClusterVersion{}
	if err := c.Get(context.Background(), client.ObjectKey{Name: "version"}, version); err != nil {
		return false // most clusters do not serve this kind
	}
	return !Completed(version)
}
