package real

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestScorecard runs the tests of operator-sdk on the bundle, in pods.
func TestScorecard(t *testing.T) {
	const busybox = "/bin/busybox"
	if _, err := os.Stat(busybox); err != nil {
		t.Fatalf("busybox, whose tar unpacks the bundle in the pods, is not installed (`apt-get install busybox-static`): %v", err)
	}
	registry := catalogtest.RegistryOf(t, clusterDir)
	image := catalogtest.PushProgram(t, registry, "scorecard-test", bin("scorecard-test"))
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "scorecard", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const theirs = "quay.io/operator-framework/scorecard-test:v1.42.2"
	tests := strings.Count(string(text), theirs)
	config := filepath.Join(t.TempDir(), "config.yaml")
	replaced := strings.NewReplacer(theirs, image, "[scorecard-test,", "[/scorecard-test,").Replace(string(text))
	if err := os.WriteFile(config, []byte(replaced), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), bin("operator-sdk"), "scorecard", filepath.Join(testcluster.Root(), "bundle"), "--config="+config,
		"--kubeconfig="+filepath.Join(clusterDir, "kubeconfig"), "--namespace="+cluster.Namespace(t, "scorecard"), "--wait-time=2m",
		"--untar-image="+catalogtest.PushProgram(t, registry, "busybox", busybox)).CombinedOutput()
	if passed := strings.Count(string(out), "State: pass"); err != nil || passed != tests {
		t.Errorf("%d of %d tests pass (`make nodes` builds operator-sdk and its tests): %v\n%s", passed, tests, err, out)
	}
}
