package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// realNodeCluster returns a cluster that can have a real node. It skips the test where that cannot run, or would first
// have to be built for minutes.
func realNodeCluster(t *testing.T) (*cluster, *transcript) {
	t.Helper()
	if err := node.ThisMachine().Check(); err != nil {
		t.Skip("skipped:", err)
	}
	out := &transcript{}
	c := realCluster(t, out)
	if built, err := c.builder.built(t.Context(), recipesFor(forNodes)); err != nil {
		t.Fatal(err)
	} else if !built {
		t.Skip("skipped: the binaries for real nodes are missing: make nodes builds them")
	}
	return c, out
}

// TestRealNodes runs pods truly, and compares the machine before and after.
func TestRealNodes(t *testing.T) {
	c, out := realNodeCluster(t)
	ctx := t.Context()
	before := machineState(t)

	must(t, c.up(ctx, "real", 0))
	must(t, c.status(ctx))
	if !strings.Contains(out.String(), c.registry()) {
		t.Error("the address of the registry is not printed")
	}
	kubectl := pushKubectl(t, c)

	// kubectl in a pod uses the API server's Service and the token of the pod's service account.
	const account = "system:serviceaccount:default:default"
	whoami := corev1.Container{Image: kubectl, Args: []string{"auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"}}
	if log := c.run(t, "by-address", whoami); log != account {
		t.Errorf("the API server identifies a pod that uses the address of the Service as %q, want %q", log, account)
	}
	whoami.Env = []corev1.EnvVar{{Name: "KUBERNETES_SERVICE_HOST", Value: "kubernetes.default.svc"}}
	if log := c.run(t, "by-name", whoami); log != account {
		t.Errorf("the API server identifies a pod that uses the name of the Service as %q, want %q", log, account)
	}

	running := c.startPod(t, "running", corev1.Container{Image: kubectl, Args: []string{"proxy"}})
	c.waitForPod(t, running.Name, ready)
	got, err := exec.CommandContext(ctx, filepath.Join(c.builder.bin, "kubectl"), "--kubeconfig="+c.dir.path("kubeconfig"),
		"exec", running.Name, "--", "/kubectl", "version", "--client").CombinedOutput()
	if err != nil || !strings.Contains(string(got), "Client Version: v1.") {
		t.Errorf("exec: %v, %s", err, got)
	}
	c.freeze(t, running) // down must end it nevertheless

	spaces := c.namespaces(t)
	must(t, c.down(ctx))
	c.checkNothingLeft(t)
	awaitNamespacesEnded(t, spaces)
	checkSameMachine(t, before)
}

// TestRealNodesSideBySide runs two clusters with a pod each.
func TestRealNodesSideBySide(t *testing.T) {
	first, _ := realNodeCluster(t)
	second, _ := realNodeCluster(t)
	hidden, err := os.MkdirTemp("/var/lib", "devcluster-test-") // which the node replaces by its own
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(hidden)) })
	second.dir = folder(filepath.Join(hidden, "cluster"))
	before := machineState(t)
	for _, c := range []*cluster{first, second} {
		must(t, c.up(t.Context(), "real", 0))
	}
	if first.network() == second.network() {
		t.Errorf("both clusters have network %s", first.network().All())
	}
	for _, c := range []*cluster{first, second} {
		c.run(t, "pod", corev1.Container{Image: pushKubectl(t, c), Args: []string{"version"}})
	}
	must(t, second.down(t.Context()))
	must(t, first.status(t.Context()))
	first.run(t, "still-works", corev1.Container{Image: pushKubectl(t, first), Args: []string{"version"}})
	must(t, first.down(t.Context()))
	checkSameMachine(t, before)
}

// TestRealNodesAfterKill kills every process of a cluster at once.
func TestRealNodesAfterKill(t *testing.T) {
	cases := map[string]struct {
		reason string
		again  bool
	}{
		"up and down": {"The next up replaces a killed cluster.", true},
		"down":        {"The next down removes the remains of a killed cluster.", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := realNodeCluster(t)
			before := machineState(t)
			must(t, c.up(t.Context(), "real", 0))
			c.startPod(t, "pod", corev1.Container{Image: pauseImage(c.registry())})
			c.waitForPod(t, "pod", ready)
			spaces := c.namespaces(t)
			for _, p := range c.state.Processes {
				must(t, ignoreDone(p.signal(syscall.SIGKILL)))
			}
			if tc.again {
				must(t, c.up(t.Context(), "real", 0))
				must(t, c.status(t.Context()))
			}
			must(t, c.down(t.Context()))
			c.checkNothingLeft(t)
			awaitNamespacesEnded(t, spaces)
			checkSameMachine(t, before)
		})
	}
}

// TestRealNodesInterrupted interrupts up when the node exists, but not the cluster.
func TestRealNodesInterrupted(t *testing.T) {
	c, out := realNodeCluster(t)
	ctx, interrupt := context.WithCancel(t.Context())
	before := machineState(t)
	out.mu.Lock()
	out.await, out.heard = "containerd ready", interrupt
	out.mu.Unlock()
	if err := c.up(ctx, "real", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted up returned %v", err)
	}
	c.checkNothingLeft(t)
	checkSameMachine(t, before)
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// pushKubectl pushes an image with kubectl to the registry of a cluster, by its address on this machine.
func pushKubectl(t *testing.T, c *cluster) string {
	t.Helper()
	image, err := imageOf(c.builder.bin, "/", "kubectl")
	must(t, err)
	reference := c.registry() + "/kubectl:test"
	must(t, push(t.Context(), reference, image))
	return reference
}

func (c *cluster) startPod(t *testing.T, name string, container corev1.Container) *corev1.Pod {
	t.Helper()
	container.Name = "only"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{container},
		},
	}
	created, err := c.api.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
	return created
}

// run runs a pod to completion and returns its log.
func (c *cluster) run(t *testing.T, name string, container corev1.Container) string {
	t.Helper()
	c.startPod(t, name, container)
	c.waitForPod(t, name, ended)
	log, err := c.api.Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	must(t, err)
	pod, err := c.api.Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	if pod.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("pod %s is %s; its log:\n%s", name, pod.Status.Phase, log)
	}
	return string(log)
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

func (c *cluster) waitForPod(t *testing.T, name string, done func(*corev1.Pod) bool) {
	t.Helper()
	var pod *corev1.Pod
	err := eventually(t.Context(), func() error {
		var err error
		if pod, err = c.api.Pods("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		if !done(pod) {
			return fmt.Errorf("its phase is %s", pod.Status.Phase)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("pod %s: %v\n%s\nkubelet:\n%s", name, err, pod.Status.String(), tail(c.dir.log("kubelet"), 20))
	}
}

// freeze freezes the container of a pod by its cgroup, and waits until it is frozen.
func (c *cluster) freeze(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	running, err := c.api.Pods("default").Get(t.Context(), pod.Name, metav1.GetOptions{})
	must(t, err)
	_, id, _ := strings.Cut(running.Status.ContainerStatuses[0].ContainerID, "://")
	for _, path := range node.Cgroups(c.dir.id()) {
		if filepath.Base(path) != id {
			continue
		}
		for file, value := range map[string]string{"freezer.state": "FROZEN", "cgroup.freeze": "1"} {
			path := filepath.Join(path, file)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			must(t, os.WriteFile(path, []byte(value), 0o644))
			must(t, eventually(t.Context(), func() error {
				now, err := os.ReadFile(path)
				if err == nil && strings.TrimSpace(string(now)) != value {
					err = fmt.Errorf("%s is %s", path, now)
				}
				return err
			}))
			return
		}
	}
	t.Errorf("container %s has no cgroup of its own that can be frozen", id)
}

// namespaces returns the namespaces of a cluster's processes and containers, except those of this machine.
func (c *cluster) namespaces(t *testing.T) []string {
	t.Helper()
	var pids []string
	for _, p := range c.state.Processes {
		pids = append(pids, strconv.Itoa(p.Pid))
	}
	for _, path := range node.Cgroups(c.dir.id()) {
		content, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		must(t, err)
		pids = append(pids, strings.Fields(string(content))...)
	}
	of := func(pid string) []string {
		var found []string
		for _, path := range glob("/proc/" + pid + "/ns/*") {
			if space, err := os.Readlink(path); err == nil {
				found = append(found, space)
			}
		}
		return found
	}
	var found []string
	for _, pid := range pids {
		found = append(found, of(pid)...)
	}
	ours := of("self")
	found = slices.DeleteFunc(slices.Compact(sorted(found)), func(space string) bool { return slices.Contains(ours, space) })
	if len(found) < 5 {
		t.Errorf("the node has only these namespaces of its own: %v", found)
	}
	return found
}

// awaitNamespacesEnded waits until no process is in one of the namespaces.
func awaitNamespacesEnded(t *testing.T, spaces []string) {
	t.Helper()
	must(t, eventually(t.Context(), func() error {
		for _, path := range glob("/proc/[0-9]*/ns/*") {
			if space, err := os.Readlink(path); err == nil && slices.Contains(spaces, space) {
				return fmt.Errorf("%s is still in the node's namespace %s", path, space)
			}
		}
		return nil
	}))
}

// nodeName matches the names of interfaces and cgroups of real nodes.
var nodeName = regexp.MustCompile(`\b(d[cn]|devcluster-)[0-9a-f]{10}\b`)

// machineState returns the state of this machine that a real node could change: lists of mounts, network interfaces, firewall
// rules, routes, cgroups and settings. It omits entries with the name of a real node, since other clusters may start and
// end meanwhile; checkNothingLeft looks for those of one cluster.
func machineState(t *testing.T) map[string][]string {
	t.Helper()
	now := map[string][]string{
		"nft":      output(t, "nft", "list", "ruleset"),
		"iptables": rules(output(t, "iptables-save")),
		"settings": settings(t),
	}
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	now["mounts"] = sorted(strings.Split(string(mountinfo), "\n"))
	links, err := net.Interfaces()
	must(t, err)
	for _, link := range links {
		addresses, _ := link.Addrs()
		now["interfaces"] = append(now["interfaces"], fmt.Sprint(link.Name, addresses))
	}
	for _, family := range []string{"route", "ipv6_route"} {
		content, err := os.ReadFile("/proc/net/" + family)
		if err == nil {
			now[family] = routes(family, string(content))
		}
	}
	now["named network namespaces"] = glob("/run/netns/*")
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			now["cgroups"] = append(now["cgroups"], path)
		}
		return nil
	})
	now["folders"] = slices.Concat(
		glob("/run/containerd*"), glob("/var/lib/containerd"), glob("/var/lib/kubelet"), glob("/var/lib/cni"),
		glob("/var/log/pods"), glob("/var/log/containers"))
	for what, lines := range now {
		now[what] = slices.DeleteFunc(lines, nodeName.MatchString)
	}
	return now
}

func glob(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	return found
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

func output(t *testing.T, program string, args ...string) []string {
	t.Helper()
	path, err := node.Find(program)
	must(t, err)
	got, err := exec.CommandContext(t.Context(), path, args...).Output()
	must(t, err)
	return strings.Split(string(got), "\n")
}

// rules leaves out comments, which contain the time, and counters.
func rules(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") || strings.HasPrefix(line, ":") })
}

// routes leaves out the columns that count uses.
func routes(family, table string) []string {
	var found []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		switch {
		case family == "ipv6_route" && len(fields) == 10:
			fields = append(fields[:5], fields[9])
		case family == "route" && len(fields) > 8:
			fields = append(fields[:4], fields[6:8]...)
		}
		found = append(found, strings.Join(fields, " "))
	}
	return found
}

// settings returns the settings of the kernel that a kubelet or a pod network usually changes.
func settings(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
		"kernel/keys/root_maxbytes", "net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables", "net/netfilter/nf_conntrack_max",
	} {
		value, err := os.ReadFile("/proc/sys/" + name)
		if err == nil {
			found = append(found, name+"="+strings.TrimSpace(string(value)))
		}
	}
	return found
}

// checkSameMachine compares the machine with how it was. The kernel removes namespaces a moment after their last process.
func checkSameMachine(t *testing.T, before map[string][]string) {
	t.Helper()
	var diff string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); _ = pause(t.Context(), 50*time.Millisecond) {
		if diff = cmp.Diff(before, machineState(t)); diff == "" {
			return
		}
	}
	t.Errorf("the state of the machine has changed (-before +after):\n%s", diff)
}
