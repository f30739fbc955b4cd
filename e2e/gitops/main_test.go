// Package gitops tests operator-status with the real Argo CD and Flux, on a cluster with the built-in loops and fake nodes.
package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	cluster    *testcluster.Cluster
	clusterDir string
)

func TestMain(m *testing.M) {
	if os.Getenv("E2E_NEIGHBOURS") == "" {
		fmt.Println("skipped: make e2e-neighbours runs this suite, with Argo CD and Flux, which take minutes to build")
		os.Exit(0)
	}
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }, "--argocd"))
}

// global is the namespace of catalogs that are visible from every namespace.
const global = "olm"

// kubectl runs kubectl on the cluster.
func kubectl(t *testing.T, args ...string) {
	t.Helper()
	command := exec.Command(filepath.Join(testcluster.Root(), "bin", "controlplane", "kubectl"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(clusterDir, "kubeconfig"))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// createNamespace creates a namespace of that name, which is deleted after the test.
func createNamespace(t *testing.T, name string) {
	t.Helper()
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cluster.Create(t, o)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
}

// repository is a Git repository.
type repository struct{ folder string }

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{filepath.Join(t.TempDir(), "repository")}
	if err := os.Mkdir(r.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "--quiet", "--initial-branch=main")
	return r
}

// commit replaces a file.
func (r repository) commit(t *testing.T, file, content string) {
	t.Helper()
	path := filepath.Join(r.folder, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
	r.git(t, "add", file)
	r.git(t, "commit", "--quiet", "--message=Change "+file)
}

// head returns the commit of the branch.
func (r repository) head(t *testing.T) string {
	t.Helper()
	command := exec.Command("git", "rev-parse", "HEAD")
	command.Dir = r.folder
	out, err := command.Output()
	if err != nil {
		t.Fatalf("git rev-parse: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) git(t *testing.T, args ...string) {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = r.folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@example.com",
		"GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@example.com")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
}

// awaitHeld waits until an update of an operator is held.
func awaitHeld(t *testing.T, namespace, name string) {
	t.Helper()
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	cluster.Await(t, sub, func() string {
		if sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld).Status != corev1.ConditionTrue {
			return "its update is not held"
		}
		return ""
	})
}
