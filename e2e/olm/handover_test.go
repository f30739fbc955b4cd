package olm

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestLifecycleCRDsBesideOLM verifies that OLM keeps working if its CustomResourceDefinitions are replaced by those of
// config/lifecycle, and that the built-in loops do not write anything then.
func TestLifecycleCRDsBesideOLM(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "over", publish(t, "over", "1.0.0"))
	sub := s.subscribe(t, "over")
	s.awaitRunning(t, sub, csvOf("over", "1.0.0"))
	start := time.Now()
	for _, kind := range []string{"subscriptions", "clusterserviceversions"} {
		replaceDefinition(t, kind)
	}
	s.offer(t, publish(t, "over", "1.0.0", "1.1.0"))
	s.awaitRunning(t, sub, csvOf("over", "1.1.0"))
	for _, r := range cluster.RequestsOf(t, start, manager.UserAgent) {
		if r.IsWrite() && (r.ObjectRef.Resource == "installplans" || r.ObjectRef.Resource == "clusterserviceversions" || r.ObjectRef.Resource == "deployments") {
			t.Errorf("the built-in loops wrote beside OLM: %s %s %s/%s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Namespace, r.ObjectRef.Name)
		}
	}
}

// replaceDefinition replaces OLM's definition of a kind with ours until the test ends.
func replaceDefinition(t *testing.T, kind string) {
	t.Helper()
	name := kind + ".operators.coreos.com"
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "lifecycle", "crd", "operators.coreos.com_"+kind+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ours := &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, ours); err != nil {
		t.Fatal(err)
	}
	before := updateDefinition(t, name, ours)
	t.Cleanup(func() { updateDefinition(t, name, before) })
}

// updateDefinition sets the labels and spec of a CustomResourceDefinition and returns the previous version.
func updateDefinition(t *testing.T, name string, desired *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	actual := &apiextensions.CustomResourceDefinition{}
	if err := cluster.Client.Get(context.Background(), types.NamespacedName{Name: name}, actual); err != nil {
		t.Fatal(err)
	}
	before := actual.DeepCopy()
	actual.Labels, actual.Spec = desired.Labels, *desired.Spec.DeepCopy()
	if err := cluster.Client.Patch(context.Background(), actual, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	return before
}
