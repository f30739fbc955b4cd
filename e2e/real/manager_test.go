package real

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// deployManager runs replicas of the manager in pods, as config/default does, until the test ends.
func deployManager(t *testing.T, replicas int) *appsv1.Deployment {
	t.Helper()
	install(t, "default", catalogtest.PushProgram(t, catalogtest.RegistryOf(t, clusterDir), "operator-status", bin("manager")), replicas)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: testcluster.ManagerAccount.Namespace, Name: testcluster.ManagerAccount.Name}}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// install applies a folder of config with an image, as the README describes, and waits until everything is available.
// It returns a function that deletes the applied objects; the end of the test does as well.
func install(t *testing.T, folder, image string, replicas int) (remove func()) {
	t.Helper()
	return apply(t, build(t, folder), image, replicas)
}

// build returns the manifests of a folder of config.
func build(t *testing.T, folder string) string {
	t.Helper()
	manifests, err := testcluster.Manifests(folder)
	if err != nil {
		t.Fatal(err)
	}
	return string(manifests)
}

func apply(t *testing.T, manifests, image string, replicas int) (remove func()) {
	t.Helper()
	text := strings.NewReplacer("controller:latest", image, "\n  replicas: 1\n", fmt.Sprintf("\n  replicas: %d\n", replicas)).Replace(manifests)
	file := filepath.Join(t.TempDir(), "install.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	remove = sync.OnceFunc(func() {
		if out, err := kubectl(context.Background(), "annotate", "--overwrite", "-f", file, platformv1alpha1.AnnotationDeleteAnyway+"=true"); err != nil {
			t.Errorf("annotating the definitions: %v\n%s", err, out)
		}
		if out, err := kubectl(context.Background(), "delete", "--ignore-not-found", "-f", file); err != nil {
			t.Errorf("deleting the installed objects: %v\n%s", err, out)
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			describePods(t, testcluster.ManagerAccount.Namespace)
		}
		remove()
	})
	if out, err := kubectl(t.Context(), "apply", "--server-side", "-f", file); err != nil {
		t.Fatalf("applying the manifests: %v\n%s", err, out)
	}
	awaitDeployments(t)
	return remove
}

// describePods logs the pods of a namespace and their logs.
func describePods(t *testing.T, namespace string) {
	t.Helper()
	pods := &corev1.PodList{}
	if err := cluster.Client.List(context.Background(), pods, client.InNamespace(namespace)); err != nil {
		t.Log(err)
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		t.Logf("pod %s: %s", pod.Name, testcluster.Print(&corev1.Pod{Status: pod.Status}))
		out, err := kubectl(context.Background(), "logs", "-n", namespace, pod.Name, "--tail=40")
		t.Logf("the log of the pod ends with (%v):\n%s", err, out)
	}
}

func kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, bin("controlplane/kubectl"), append([]string{"--kubeconfig=" + filepath.Join(clusterDir, "kubeconfig")}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// freeze stops all processes of a pod, as a stalled node does, until the returned function is called. The kubelet and the
// API server are not notified.
func freeze(t *testing.T, pod *corev1.Pod) (thaw func()) {
	t.Helper()
	file, frozen, thawed := freezerOf(t, pod)
	write := func(state string) {
		if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(frozen)
	done := false
	thaw = func() {
		if !done {
			done = true
			write(thawed)
		}
	}
	t.Cleanup(thaw)
	return thaw
}

// freezerOf returns the file that freezes the cgroup of a pod, and its values for both states, in version 1 or 2 of cgroups.
func freezerOf(t *testing.T, pod *corev1.Pod) (file, frozen, thawed string) {
	t.Helper()
	names := []string{"pod" + string(pod.UID), "pod" + strings.ReplaceAll(string(pod.UID), "-", "_") + ".slice"}
	for _, tree := range []struct{ root, file, frozen, thawed string }{
		{"/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"}, {"/sys/fs/cgroup", "cgroup.freeze", "1", "0"},
	} {
		err := filepath.WalkDir(tree.root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil // a cgroup may end meanwhile
			}
			for _, name := range names {
				if strings.HasSuffix(entry.Name(), name) {
					file = filepath.Join(path, tree.file)
					return fs.SkipAll
				}
			}
			return nil
		})
		if _, missing := os.Stat(file); err == nil && file != "" && !errors.Is(missing, fs.ErrNotExist) {
			return file, tree.frozen, tree.thawed
		}
	}
	t.Fatalf("pod %s has no cgroup that can be frozen", pod.Name)
	return "", "", ""
}

// podsOf returns the pods of a Deployment.
func podsOf(t *testing.T, d *appsv1.Deployment) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	if err := cluster.Client.List(t.Context(), pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// TestPod verifies that a pod of the manager, without root and with a read-only file system, is ready once it acts, and ends
// soon after SIGTERM with its lease released.
func TestPod(t *testing.T) {
	d := deployManager(t, 1)
	pods := podsOf(t, d)
	if len(pods) != 1 {
		t.Fatalf("the manager has %d pods, want 1", len(pods))
	}
	lease := managerLease()
	cluster.Await(t, lease, func() string {
		if !strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), pods[0].Name+"_") {
			return "the pod does not hold the lease"
		}
		return ""
	})
	if err := cluster.Client.Delete(t.Context(), &pods[0]); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, lease, func() string {
		if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); strings.HasPrefix(holder, pods[0].Name+"_") {
			return "the pod that ended still holds the lease"
		}
		return ""
	})
}
