package real

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestMemory logs the resident memory of the pods of both managers, at rest and with every package in the folder BUNDLES
// installed, and that of OLM with the same packages. No container may exceed its limit. The packages are installed on a
// fake node, since their images cannot be pulled.
func TestMemory(t *testing.T) {
	folder := os.Getenv("BUNDLES")
	if folder == "" {
		t.Skip("BUNDLES is not set to a folder of packages: make e2e E2E_NODES=real E2E=./e2e/real BUNDLES=… GO_TEST_ARGS='-run TestMemory'")
	}
	packages, err := testcatalog.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	registry := newPrivateRegistry(t)
	install(t, "lifecycle", registry.Manager(t, "0.1.0"), 1)
	pods := podsIn(t, testcluster.ManagerAccount.Namespace)
	reserveRealNodes(t)
	addFakeNode(t)

	ours := cluster.Rediscovered(t)
	before := measure(t, ours, pods)
	catalog := client.ObjectKeyFromObject(registry.catalog(t, registry.Packages(t, packages)))
	subscribe(t, ours, catalog, packages)
	installed := awaitSettled(t, ours, packages)
	after := measure(t, ours, pods)
	if len(installed) == 0 {
		t.Fatal("no package was installed")
	}
	for _, pod := range podsIn(t, testcluster.ManagerAccount.Namespace) {
		if n := pod.Status.ContainerStatuses[0].RestartCount; n != 0 {
			t.Errorf("pod %s was restarted %d times", pod.Name, n)
		}
	}

	theirs, processes := startOLM(t, packages)
	idle := memoryOf(t, processes)
	subscribe(t, theirs, client.ObjectKey{Namespace: global, Name: "packages"}, packages)
	awaitSucceeded(t, theirs, installed)
	loaded := memoryOf(t, processes)
	t.Logf("resident memory in MiB, with %d of %d packages installed:\n%s", len(installed), len(packages), strings.Join([]string{
		fmt.Sprintf("%-40s idle %4d, afterwards %4d, at most %4d", "both managers, in pods", before.now>>20, after.now>>20, after.peak>>20),
		fmt.Sprintf("%-40s idle %4d, afterwards %4d, at most %4d", "OLM", idle.now>>20, loaded.now>>20, loaded.peak>>20),
	}, "\n"))
}

// memory is an amount of resident memory in bytes: the current one, and the sum of the peaks of all processes.
type memory struct{ now, peak int64 }

// measure returns the memory of the managers in pods, once they are idle.
func measure(t *testing.T, c *testcluster.Cluster, pods []corev1.Pod) memory {
	t.Helper()
	const settled = 5 * time.Second // the processes that read catalogs end 3 seconds after the last read
	c.AwaitIdle(t, settled)
	pids := map[string]int{}
	for _, pod := range pods {
		pids[pod.Name] = pidOf(t, &pod)
	}
	return memoryOf(t, pids)
}

func memoryOf(t *testing.T, processes map[string]int) (out memory) {
	t.Helper()
	for name, pid := range processes {
		now, peak := testcluster.FamilyMemory(pid), testcluster.PeakMemory(t, pid)
		t.Logf("%s: %d MiB, at most %d", name, now>>20, peak>>20)
		out.now, out.peak = out.now+now, out.peak+peak
	}
	return out
}

// pidOf returns the process ID of the manager in a pod, on this machine.
func pidOf(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(text), "_", "-"), string(pod.UID)) {
			continue // another process, or it has ended
		}
		process := filepath.Dir(file)
		if program, err := os.Readlink(filepath.Join(process, "exe")); err == nil && strings.HasSuffix(program, "manager") {
			pid, err := strconv.Atoi(filepath.Base(process))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no manager runs in pod %s", pod.Name)
	return 0
}

// podsIn returns the pods of a namespace.
func podsIn(t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	if err := cluster.Client.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// addFakeNode adds a node to the cluster, on which pods only seem to run, until the test ends.
func addFakeNode(t *testing.T) {
	t.Helper()
	kwok := exec.Command(bin("devcluster"), "fake-node", "--dir="+clusterDir) // until pods on the node are deleted
	kwok.Stderr = os.Stderr
	if err := kwok.Start(); err != nil {
		t.Fatal(err)
	}
	fake := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "fake-0"}}
	t.Cleanup(func() {
		if err := kwok.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = kwok.Wait() // it was interrupted
		if err := cluster.Client.Delete(context.Background(), fake); err != nil {
			t.Error(err)
		}
	})
	cluster.Await(t, fake, func() string {
		for _, c := range fake.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return ""
			}
		}
		return "it is not ready"
	})
}

// reserveRealNodes keeps further pods from the nodes of the cluster until the test ends.
func reserveRealNodes(t *testing.T) {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := cluster.Client.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		taint(t, node, corev1.Taint{Key: "reserved", Effect: corev1.TaintEffectNoSchedule})
		t.Cleanup(func() { taint(t, node) })
	}
}

// taint replaces the taints of a node.
func taint(t *testing.T, node *corev1.Node, taints ...corev1.Taint) {
	t.Helper()
	before := node.DeepCopy()
	node.Spec.Taints = taints
	if err := cluster.Client.Patch(context.Background(), node, client.MergeFrom(before)); err != nil {
		t.Error(err)
	}
}

// namespaceOf returns the namespace that a package is installed in.
func namespaceOf(p testcatalog.Package) string { return "b-" + p.Name }

// subscribe subscribes to packages, each in a namespace of its own with an OperatorGroup that it supports.
func subscribe(t *testing.T, c *testcluster.Cluster, catalog client.ObjectKey, packages []testcatalog.Package) {
	t.Helper()
	for _, p := range packages {
		namespace := namespaceOf(p)
		group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}}
		if !p.Newest().Supports(olm.InstallModeTypeAllNamespaces) {
			group.Spec.TargetNamespaces = []string{namespace}
		}
		sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name}, Spec: &olm.SubscriptionSpec{
			Package: p.Name, Channel: p.Channel, CatalogSource: catalog.Name, CatalogSourceNamespace: catalog.Namespace,
		}}
		c.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, group, sub)
	}
}

// awaitSettled waits until all packages are up to date, or no Subscription has changed for a while, and returns those that
// are. Some run on nodes of a certain kind only.
func awaitSettled(t *testing.T, c *testcluster.Cluster, packages []testcatalog.Package) (installed []testcatalog.Package) {
	t.Helper()
	const resting = 2 * time.Minute // Kubernetes creates pods again after pauses, while the webhooks of packages do not answer
	before, changed := "", time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, longest, true, func(ctx context.Context) (bool, error) {
		installed = nil
		now := ""
		for _, p := range packages {
			sub := &v1alpha1.Subscription{}
			if err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespaceOf(p), Name: p.Name}, sub); err != nil {
				return false, err
			}
			if sub.Status.UpToDate {
				installed = append(installed, p)
			} else {
				now += fmt.Sprintf("%s: %s\n", p.Name, sub.Status.Message)
			}
		}
		if now != before {
			before, changed = now, time.Now()
		}
		return now == "" || time.Since(changed) > resting, nil
	})
	if err != nil {
		t.Fatalf("the packages do not settle: %v", err)
	}
	t.Logf("not installed:\n%s", before)
	return installed
}

// longest is how long installing all packages may take.
const longest = 10 * time.Minute

// awaitSucceeded waits until the newest version of each package has Succeeded.
func awaitSucceeded(t *testing.T, c *testcluster.Cluster, packages []testcatalog.Package) {
	t.Helper()
	for _, p := range packages {
		csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(p), Name: p.Newest().CSV.Name}}
		c.AwaitWithin(t, longest, csv, func() string {
			if csv.Status.Phase != olm.CSVPhaseSucceeded {
				return fmt.Sprintf("its phase is %q: %s", csv.Status.Phase, csv.Status.Message)
			}
			return ""
		})
	}
}

// startOLM starts OLM on a cluster of its own with a catalog of packages. It returns the processes of OLM.
func startOLM(t *testing.T, packages []testcatalog.Package) (*testcluster.Cluster, map[string]int) {
	t.Helper()
	c, folder := testcluster.Up(t, "--olm")
	offered := t.TempDir()
	if err := testcatalog.Write(offered, packages...); err != nil {
		t.Fatal(err)
	}
	source := c.ServeCatalog(t, folder, client.ObjectKey{Namespace: global, Name: "packages"}, offered)
	c.Await(t, source, func() string {
		if s := source.Status.GRPCConnectionState; s == nil || s.LastObservedState != "READY" {
			return fmt.Sprintf("its connection is %+v", s)
		}
		return ""
	})
	c.AwaitIdle(t, 5*time.Second, "olm/", "catalog/")
	all := testcluster.Processes(t, folder)
	return c, map[string]int{"olm": all["olm"], "catalog": all["catalog"]}
}
