package platform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestSample verifies that docs/platformoperator.md shows the samples of config, and that they work as described.
func TestSample(t *testing.T) {
	sample, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "samples", "platform_v1alpha1_platformoperator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join(testcluster.Root(), "docs", "platformoperator.md"))
	if err != nil {
		t.Fatal(err)
	}
	role, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "samples", "platform_v1alpha1_platformoperator_role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range [][]byte{sample, role} {
		if !strings.Contains(string(document), "```yaml\n"+string(shown)+"```\n") {
			t.Errorf("docs/platformoperator.md does not show the current sample:\n%s", shown)
		}
	}
	cluster.Apply(t, "", string(role))
	newStage(t, publish(t, "foo", "1.0.0"))
	op := create(t, "foo", func(op *v1alpha1.PlatformOperator) {
		if err := yaml.UnmarshalStrict(sample, op); err != nil {
			t.Fatal(err)
		}
	})
	cluster.Await(t, op, func() string {
		if op.Status.Version != "1.0.0" {
			return "its operator is not installed"
		}
		return ""
	})
	awaitConditions(t, op, "Synced=True/Synced", "Ready=False/Creating")
	checkMessage(t, op, v1alpha1.ConditionReady, "Foo foo/example", `status.phase is not set`)
	example := builder.Object("foo.example.com/v1", "Foo", "foo", "example")
	running := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`))
	if err := cluster.Rediscovered(t).Client.Status().Patch(t.Context(), example, running); err != nil {
		t.Fatal(err)
	}
	awaitRunning(t, op, "1.0.0")
}
