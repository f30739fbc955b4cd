package samples

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// Build builds a sample and returns the path of the static binary, which is deleted after the test.
func Build(t testing.TB, sample string) string {
	t.Helper()
	return BuildWith(t, sample, "go.mod")
}

// BuildWith builds a sample with the libraries that a file requires. Its path is relative to the project's folder.
func BuildWith(t testing.TB, sample, libraries string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), sample)
	command := exec.Command("go", "build", "-modfile="+libraries, "-o", out, "./e2e/samples/"+sample)
	command.Dir, command.Env = testcluster.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building sample %s: %v\n%s", sample, err, output)
	}
	return out
}

// Start starts the binary of a sample with the token of a service account, and variables for its environment in addition
// to POD_NAMESPACE and WATCH_NAMESPACE. It returns a function that stops it, once the operator is ready. The process ends
// with the test; if the test fails, its log is added to the test's log.
func Start(t testing.TB, c *testcluster.Cluster, binary string, account types.NamespacedName, environment ...string) (stop func()) {
	t.Helper()
	address := freeAddress(t)
	log, err := os.CreateTemp(t.ArtifactDir(), filepath.Base(binary)+"-*.log") // -artifacts keeps it
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(binary, "--health-probe-bind-address="+address)
	command.Stdout, command.Stderr = log, log
	command.Env = append([]string{
		"KUBECONFIG=" + c.Kubeconfig(t, account), "POD_NAMESPACE=" + account.Namespace, "WATCH_NAMESPACE=" + account.Namespace,
	}, environment...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	stop = sync.OnceFunc(func() {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("%s has ended: %v", binary, err)
		} else if err := <-done; err != nil {
			t.Errorf("%s: %v", binary, err)
		}
		if content, err := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the log of %s (%v):\n%s", binary, err, content)
		}
		_ = log.Close() // only the process wrote it
	})
	t.Cleanup(stop)
	deadline := time.Now().Add(testcluster.Timeout)
	for _, path := range []string{"/healthz", "/readyz"} {
		for last := get(address, path); last != nil; last = get(address, path) {
			if time.Now().After(deadline) {
				t.Fatalf("%s of %s: %v", path, binary, last)
			}
			time.Sleep(20 * time.Millisecond) // the poll interval
		}
	}
	return stop
}

func get(address, path string) error {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("unexpected status %s", response.Status)
	}
	return nil
}

// freeAddress returns an address on the loopback interface on which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // the sample listens next
	return listener.Addr().String()
}
