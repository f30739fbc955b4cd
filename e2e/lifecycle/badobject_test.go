package lifecycle

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestUndecodableObjects verifies that objects that match the schema but not the Go type, including one that leads to a nil
// pointer, affect only themselves, also after a restart. Each gets an Event, and is reconciled once it is corrected.
func TestUndecodableObjects(t *testing.T) {
	s := newStage(t, "malformed", publish(t, testcatalog.Foo{Name: "healthy", Version: "1.0.0"}))
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	source := s.malformed(t, `{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: bad-source}, `+
		`spec: {sourceType: grpc, address: "127.0.0.1:1", updateStrategy: {}}}`)
	csv := s.malformed(t, `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: bad-csv}, `+
		`spec: {displayName: Bad, version: latest, install: {strategy: deployment, spec: {deployments: []}}}}`)
	for _, o := range []client.Object{source, csv} {
		cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUndecodable, o.GetName()+": ")
	}
	sub := s.subscribe(t, "healthy")
	s.awaitInstalled(t, sub, "healthy-operator.v1.0.0")
	manager.CheckAlive(t)

	manager.Terminate(t)
	again := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	s.offer(t, publish(t, testcatalog.Foo{Name: "healthy", Version: "1.0.0"}, testcatalog.Foo{Name: "healthy", Version: "1.1.0"}))
	s.awaitInstalled(t, sub, "healthy-operator.v1.1.0")
	for o, corrected := range map[*unstructured.Unstructured]string{
		source: `{"spec":{"updateStrategy":null}}`,
		csv:    `{"spec":{"version":"1.0.0"}}`,
	} {
		if err := cluster.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(corrected))); err != nil {
			t.Fatal(err)
		}
		s.await(t, o, func() string {
			if o.Object["status"] == nil {
				return "it has no status yet"
			}
			return ""
		})
	}
	// An operator keeps running if its ClusterServiceVersion becomes malformed.
	running := csv.DeepCopy()
	running.SetName("healthy-operator.v1.1.0")
	if err := cluster.Client.Patch(t.Context(), running,
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"version":"newest"}}`))); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUndecodable, "healthy-operator.v1.1.0: ")
	s.await(t, sub, func() string {
		if !sub.Status.UpToDate {
			return "it is no longer up to date"
		}
		return ""
	})
	again.CheckAlive(t)
}

// malformed creates an object in the namespace from a manifest.
func (s *stage) malformed(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), o); err != nil {
		t.Fatal(err)
	}
	o.SetNamespace(s.namespace)
	cluster.Create(t, o)
	return o
}
