package lifecycle

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestPodsNotReady verifies that the statuses and the command line name the new pod that keeps an update from ending, while the old one
// runs.
func TestPodsNotReady(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	v1, v2 := testcatalog.Foo{Name: "hung", Version: "1.0.0"}, testcatalog.Foo{Name: "hung", Version: "1.1.0", Change: testcatalog.Unschedulable}
	s := newStage(t, "hung", publish(t, v1))
	sub := s.subscribe(t, "hung")
	s.awaitInstalled(t, sub, v1.CSV())
	s.offer(t, publish(t, v1, v2))

	command := filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status")
	s.await(t, sub, func() string {
		why := exec.CommandContext(t.Context(), command, "why", "hung", "--namespace="+s.namespace, "--kubeconfig="+filepath.Join(clusterDir, "kubeconfig"))
		out, _ := why.CombinedOutput() // the exit code is compared
		if why.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "Broken by Pod "+s.namespace+"/hung-operator-") {
			return "why does not name the pod: " + string(out)
		}
		return ""
	})
	csv := s.csv(v2.CSV())
	s.await(t, csv, func() string {
		if !strings.Contains(csv.Status.Message, "Pod "+s.namespace+"/hung-operator-") || !strings.Contains(csv.Status.Message, "(Unschedulable)") {
			return "it does not name the pod: " + csv.Status.Message
		}
		return ""
	})
	s.await(t, sub, func() string {
		if !strings.Contains(sub.Status.Message, "(Unschedulable)") {
			return "it does not tell why: " + sub.Status.Message
		}
		return ""
	})
}
