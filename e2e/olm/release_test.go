package olm

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestRelease verifies that `manager release` lets held updates continue, even while a manager runs, and lists the remaining
// steps for users. `--undo` reverts it.
func TestRelease(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "released", publish(t, "released", "1.0.0"), publish(t, "waiting", "1.0.0"))
	sub := s.subscribe(t, "released")
	s.awaitRunning(t, sub, csvOf("released", "1.0.0"))
	s.createMigrating(t, "released")
	s.awaitNotUpgradeable(t, csvOf("released", "1.0.0"))
	s.offer(t, publish(t, "released", "1.0.0", "1.1.0"), publish(t, "waiting", "1.0.0"))
	s.awaitHeld(t, sub)

	if out := release(t); !strings.Contains(out, "released ValidatingAdmissionPolicyBinding operator-status-hold-installplans\n") {
		t.Errorf("the output does not list the released updates:\n%s", out)
	}
	s.awaitRunning(t, sub, csvOf("released", "1.1.0"))
	gatedSub := s.subscribe(t, "waiting", withApprovalGate)
	s.awaitRunning(t, gatedSub, csvOf("waiting", "1.0.0"))
	if out, code := run(t, "kubectl", "operator-status", "release", "--all", "--dry-run=server"); code != 0 ||
		!strings.Contains(out, "Nothing is changed (server dry run)") {
		t.Errorf("release --all --dry-run=server exits with %d and does not report that nothing is changed:\n%s", code, out)
	}
	if out, code := run(t, "kubectl", "operator-status", "release", "--all"); code != 0 ||
		!strings.Contains(out, "Subscription "+s.namespace+"/waiting will wait for approval: set") {
		t.Errorf("release --all exits with %d and does not list the Subscription that will wait:\n%s", code, out)
	}
	if out := release(t, "--undo"); !strings.Contains(out, "took back ValidatingAdmissionPolicyBinding operator-status-hold-installplans\n") {
		t.Errorf("the output does not list the reverted objects:\n%s", out)
	}
}

// release runs `manager release` with the admin's rights and returns its output.
func release(t *testing.T, flags ...string) string {
	t.Helper()
	command := exec.Command(filepath.Join(testcluster.Root(), "bin", "manager"),
		append([]string{"release", "--kubeconfig=" + filepath.Join(clusterDir, "kubeconfig")}, flags...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
