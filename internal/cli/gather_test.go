package cli

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/flux"
	"github.com/operator-status/operator-status/internal/inventory"
)

// TestGathered verifies that an archive has every kind that commands read, also that of a namespace if these have none: a kind that is missing
// there explains nothing.
func TestGathered(t *testing.T) {
	there := sets.New(schema.GroupResource{Resource: "events"})
	everywhere := sets.New[schema.GroupResource]()
	for _, kind := range gathered {
		there.Insert(kind.GroupResource())
		if kind.everywhere {
			everywhere.Insert(kind.GroupResource())
		}
	}
	for _, kind := range controllers.ReportKinds() {
		resource, _ := meta.UnsafeGuessKindToResource(kind.GroupVersionKind)
		there.Insert(resource.GroupResource())
		everywhere.Insert(resource.GroupResource()) // they are read by kind, without a namespace if they have none
	}
	o := &options{installers: inventory.Installers}
	for _, kind := range o.kinds() {
		if resource, _ := meta.UnsafeGuessKindToResource(kind.GroupVersionKind); !there.Has(resource.GroupResource()) {
			t.Errorf("gather leaves out %s", resource.GroupResource())
		} else if kind.ClusterScoped && !everywhere.Has(resource.GroupResource()) {
			t.Errorf("gather leaves out %s with a namespace", resource.GroupResource())
		}
	}
}

// TestReportsOnly verifies that an archive has no more of a HelmRelease than its metadata and status.
func TestReportsOnly(t *testing.T) {
	release := &flux.HelmRelease{}
	err := yaml.Unmarshal([]byte(`
metadata: {namespace: foo, name: foo, generation: 1000000}
spec: {values: {password: hunter2}}
status: {conditions: [{type: Ready, status: "False", reason: UpgradeFailed, message: no such value, lastTransitionTime: "2026-01-02T03:04:05Z"}], history: [{digest: x}]}
`), release)
	if err != nil {
		t.Fatal(err)
	}
	o, err := asUnstructured(release)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "hunter2") || !strings.Contains(got, "generation: 1000000") || !strings.Contains(got, "no such value") {
		t.Errorf("the archive has\n%s", got)
	}
}
