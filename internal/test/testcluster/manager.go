package testcluster

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/manager"
)

// Manager is a running operator-status: one bin/manager for each Deployment, with the rights of its service account.
type Manager struct {
	processes []*process
}

// process is a running bin/manager.
type process struct {
	command *exec.Cmd
	log     string
	done    chan struct{}
	peak    atomic.Int64 // bytes of memory, including its children
}

// Service accounts of the managers: that of config/rbac, and that of the built-in loops, only in config/lifecycle.
var (
	ManagerAccount   = types.NamespacedName{Namespace: "operator-status-system", Name: "operator-status-controller-manager"}
	LifecycleAccount = types.NamespacedName{Namespace: ManagerAccount.Namespace, Name: manager.LifecycleAccount}
)

// defaultFlags disable the health endpoints and allow the tests' own registries, which have no TLS.
var defaultFlags = []string{"--health-probe-bind-address=0", "--catalog-plaintext=127.0.0.1,localhost"}

// StartManager starts operator-status with the tokens of its service accounts. It ends with the test; if the test
// fails, its log is added to the test's log. By default it serves no health probes and connects to the tests' own
// registries without TLS; flags are passed last and override these defaults.
func (c *Cluster) StartManager(t testing.TB, flags ...string) *Manager {
	t.Helper()
	return c.startManager(t, func() []string { return flags })
}

// StartServingMetrics is StartManager, and returns the addresses at which the processes serve metrics.
func (c *Cluster) StartServingMetrics(t testing.TB, flags ...string) (*Manager, []string) {
	t.Helper()
	var addresses []string
	m := c.startManager(t, func() []string {
		addresses = append(addresses, FreeAddress(t))
		return append(slices.Clone(flags), "--metrics-bind-address="+addresses[len(addresses)-1])
	})
	return m, addresses
}

// FreeAddress returns a loopback address that was free a moment ago.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // only needed to find the address
	return l.Addr().String()
}

// startManager starts a process for each Deployment, with the flags that flags returns for it.
func (c *Cluster) startManager(t testing.TB, flags func() []string) *Manager {
	t.Helper()
	m := &Manager{}
	start := func(account types.NamespacedName, own ...string) {
		m.processes = append(m.processes, c.startProcess(t, account, slices.Concat(own, defaultFlags, flags())))
	}
	err := c.Client.Get(t.Context(), LifecycleAccount, &corev1.ServiceAccount{})
	switch {
	case apierrors.IsNotFound(err):
		start(ManagerAccount, "--controllers=status")
	case err != nil:
		t.Fatal(err)
	default:
		c.expireLeases(t)
		elects := []string{"--leader-elect", "--leader-election-namespace=" + ManagerAccount.Namespace}
		start(ManagerAccount, append([]string{"--controllers=status"}, elects...)...)
		start(LifecycleAccount, append([]string{"--controllers=lifecycle"}, elects...)...)
	}
	return m
}

// StartOneProcess starts one bin/manager that runs all controllers with the token of the service account of config/rbac.
// Apart from that it is like StartManager.
func (c *Cluster) StartOneProcess(t testing.TB, flags ...string) *Manager {
	t.Helper()
	flags = append(slices.Clone(defaultFlags), flags...)
	return &Manager{processes: []*process{c.startProcess(t, ManagerAccount, flags)}}
}

// StartProbeReader starts the process of a Probe's pod, with the token of the pod's service account.
func (c *Cluster) StartProbeReader(t testing.TB, pod corev1.PodTemplateSpec, namespace string) *Manager {
	t.Helper()
	args := append(slices.Clone(pod.Spec.Containers[0].Args), "--health-probe-bind-address=0")
	account := types.NamespacedName{Namespace: namespace, Name: pod.Spec.ServiceAccountName}
	return &Manager{processes: []*process{c.startProcess(t, account, args)}}
}

// PermitIsolation lets the manager run pods for the Probes in a namespace.
func (c *Cluster) PermitIsolation(t testing.TB, namespace string) {
	t.Helper()
	c.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator-status-isolation"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "operator-status-isolation-role"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ManagerAccount.Namespace, Name: ManagerAccount.Name}},
	})
}

// expireLeases deletes the leases that killed managers left behind, so a new one need not wait until they expire.
// It does nothing if a manager is running.
func (c *Cluster) expireLeases(t testing.TB) {
	t.Helper()
	if c.running.Load() > 0 {
		return
	}
	if err := c.Client.DeleteAllOf(t.Context(), &coordinationv1.Lease{}, client.InNamespace(ManagerAccount.Namespace)); err != nil {
		t.Fatalf("deleting the leases of managers that were killed: %v", err)
	}
}

func (c *Cluster) startProcess(t testing.TB, account types.NamespacedName, flags []string) *process {
	t.Helper()
	output, err := os.CreateTemp(t.ArtifactDir(), "manager-*.log") // -artifacts keeps it
	if err != nil {
		t.Fatal(err)
	}
	p := &process{log: output.Name(), done: make(chan struct{})}
	p.command = exec.Command(filepath.Join(Root(), "bin", "manager"), flags...)
	reached := c
	if proxy := c.proxies[account]; proxy != nil {
		reached = c.Through(proxy)
	}
	p.command.Env = append(os.Environ(), "KUBECONFIG="+reached.Kubeconfig(t, account))
	p.command.Stdout, p.command.Stderr = output, output
	if err := p.command.Start(); err != nil {
		t.Fatalf("starting bin/manager (`make build` builds it): %v", err)
	}
	c.running.Add(1)
	go func() {
		defer close(p.done)
		_ = p.command.Wait() // callers that wait for done check the process state
		_ = output.Close()
		c.running.Add(-1)
	}()
	go p.sampleMemory()
	t.Cleanup(func() {
		if t.Failed() {
			p.quit()
			p.keepEnd(t)
			return
		}
		(&Manager{processes: []*process{p}}).Kill(t)
	})
	return p
}

// Terminate sends the manager SIGTERM, as a kubelet does, and waits until it has exited.
func (m *Manager) Terminate(t testing.TB) {
	t.Helper()
	m.signal(t, syscall.SIGTERM)
	for _, p := range m.processes {
		<-p.done
		if !p.command.ProcessState.Success() {
			t.Errorf("the manager, asked to end, did: %v", p.command.ProcessState)
		}
	}
}

// Kill ends the manager with SIGKILL and waits until it has exited.
func (m *Manager) Kill(t testing.TB) {
	t.Helper()
	for _, p := range m.processes {
		if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("killing the manager: %v", err)
		}
	}
	for _, p := range m.processes {
		<-p.done
	}
}

// Pause stops the manager with SIGSTOP, as if its machine hung, until Resume.
func (m *Manager) Pause(t testing.TB) { m.signal(t, syscall.SIGSTOP) }

// Resume continues a paused manager.
func (m *Manager) Resume(t testing.TB) { m.signal(t, syscall.SIGCONT) }

func (m *Manager) signal(t testing.TB, s os.Signal) {
	t.Helper()
	for _, p := range m.processes {
		if err := p.command.Process.Signal(s); err != nil {
			t.Fatalf("sending the manager %s: %v", s, err)
		}
	}
}

// Ended reports whether a process of the manager has exited.
func (m *Manager) Ended() bool {
	return slices.ContainsFunc(m.processes, (*process).ended)
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// AwaitEnd waits until the manager has exited without being signaled.
func (m *Manager) AwaitEnd(t testing.TB) {
	t.Helper()
	timeout := time.After(Timeout)
	for _, p := range m.processes {
		select {
		case <-p.done:
		case <-timeout:
			t.Fatal("the manager does not end")
		}
	}
}

// quit ends the manager with SIGQUIT if it is running, to log the stacks of its goroutines.
func (p *process) quit() {
	for _, s := range []os.Signal{syscall.SIGQUIT, syscall.SIGCONT} { // it may be paused
		_ = p.command.Process.Signal(s) // it may have ended
	}
	<-p.done
}

// CheckAlive fails the test if the manager has exited by itself, panicked or, if built with the race detector, raced.
func (m *Manager) CheckAlive(t testing.TB) {
	t.Helper()
	for _, p := range m.processes {
		if p.ended() {
			t.Errorf("the manager has ended: %v", p.command.ProcessState)
		}
	}
	text := m.logs(t)
	for _, word := range []string{"panic", "DATA RACE"} {
		if i := strings.Index(text, word); i >= 0 {
			t.Errorf("the manager's log has a %s:\n%s", word, text[i:min(i+2000, len(text))])
		}
	}
}

// logs returns everything that the processes of the manager have logged so far.
func (m *Manager) logs(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	for _, p := range m.processes {
		text, err := os.ReadFile(p.log)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.String()
}

// AwaitLog makes a change and waits until each process of the manager has logged a text once more.
func (m *Manager) AwaitLog(t testing.TB, text string, change func()) {
	t.Helper()
	logged := func() []int {
		var out []int
		for _, p := range m.processes {
			log, err := os.ReadFile(p.log)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, strings.Count(string(log), text))
		}
		return out
	}
	before := logged()
	change()
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, Timeout, true, func(context.Context) (bool, error) {
		return slices.EqualFunc(before, logged(), func(before, now int) bool { return now > before }), nil
	})
	if err != nil {
		t.Fatalf("waiting for the manager to log %s: %v", text, err)
	}
}

// Pids returns the process IDs of the manager, by the name of the process.
func (m *Manager) Pids() map[string]int {
	out := map[string]int{}
	for i, p := range m.processes {
		out[[]string{"manager", "manager of the loops"}[i]] = p.command.Process.Pid
	}
	return out
}

// Reader returns the process that reads custom resources.
func (m *Manager) Reader() *Manager { return &Manager{processes: m.processes[:1]} }

// Loops returns the process of the built-in loops.
func (m *Manager) Loops() *Manager { return &Manager{processes: m.processes[1:]} }

// Memory returns the resident memory of the manager in bytes, including the child processes that read catalogs.
func (m *Manager) Memory() (bytes int64) {
	for _, p := range m.processes {
		bytes += FamilyMemory(p.command.Process.Pid)
	}
	return bytes
}

// PeakMemory returns the peak resident memory of the manager in bytes, including the child processes that read
// catalogs. With two manager processes, it is the sum of their peaks.
func (m *Manager) PeakMemory(t testing.TB) (bytes int64) {
	t.Helper()
	for _, p := range m.processes {
		bytes += p.peakMemory(t)
	}
	return bytes
}

// PeakMemoryOfOne returns the largest peak of any process of the manager in bytes. Each container has its own limit.
func (m *Manager) PeakMemoryOfOne(t testing.TB) (bytes int64) {
	t.Helper()
	for _, p := range m.processes {
		bytes = max(bytes, p.peakMemory(t))
	}
	return bytes
}

func (p *process) peakMemory(t testing.TB) int64 {
	t.Helper()
	return max(p.peak.Load(), PeakMemory(t, p.command.Process.Pid))
}

// sampleMemory records the peak memory of the manager and its children until the manager exits.
func (p *process) sampleMemory() {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
			p.peak.Store(max(p.peak.Load(), FamilyMemory(p.command.Process.Pid)))
		}
	}
}

// FamilyMemory returns the resident memory of a process in bytes, plus the pages that its children do not share.
func FamilyMemory(pid int) int64 {
	total, _ := resident(pid)
	processes, _ := os.ReadDir("/proc") // without it, only the process counts
	for _, p := range processes {
		child, err := strconv.Atoi(p.Name())
		if err != nil || child <= pid || parentOf(child) != pid {
			continue
		}
		all, shared := resident(child)
		total += all - shared
	}
	return total
}

// resident returns the resident memory of a process and the shared part of it, in bytes. Both are 0 if the process has exited.
func resident(pid int) (all, shared int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0
	}
	var size int64
	if _, err := fmt.Sscan(string(text), &size, &all, &shared); err != nil {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	return all * page, shared * page
}

func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ") // the program name may contain spaces
	var state string
	var parent int
	if _, err := fmt.Sscan(after, &state, &parent); err != nil {
		return 0
	}
	return parent
}

// ProcessorTime returns the processor time that a process has used so far.
func ProcessorTime(t testing.TB, pid int) (used time.Duration) {
	t.Helper()
	const tick = 10 * time.Millisecond // Linux reports hundredths of a second, regardless of its clock
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	for _, field := range strings.Fields(after)[11:13] { // utime and stime
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		used += time.Duration(ticks) * tick
	}
	return used
}

// PeakMemory returns the peak resident memory of a process in bytes.
func PeakMemory(t testing.TB, pid int) int64 {
	t.Helper()
	out, err := PeakMemoryOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// PeakMemoryOf is PeakMemory for a process that may have ended.
func PeakMemoryOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading how much memory process %d has had: %w", pid, err)
	}
	var kibibytes int64
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(after, "%d kB", &kibibytes); err != nil {
		return 0, fmt.Errorf("process %d does not report how much memory it has had: %w", pid, err)
	}
	return kibibytes * 1024, nil
}

// ends has the ends of the logs of managers whose tests failed.
var ends struct {
	sync.Mutex
	strings.Builder
}

// PrintLogs prints the ends of the logs of managers whose tests failed. It is called after the last test: logs between
// the errors of a test and its result would hide the errors.
func PrintLogs() {
	ends.Lock()
	defer ends.Unlock()
	fmt.Print(ends.String())
}

// keepEnd keeps the end of the manager's log and, after quit, the stacks of goroutines that were in our code.
func (p *process) keepEnd(t testing.TB) {
	text, err := os.ReadFile(p.log)
	if err != nil {
		t.Log(err)
		return
	}
	ends.Lock()
	defer ends.Unlock()
	text, stacks, _ := bytes.Cut(text, []byte("SIGQUIT: quit"))
	const most = 4000 // -artifacts keeps the whole log
	if len(text) > most {
		text = text[len(text)-most:]
	}
	fmt.Fprintf(&ends, "a manager's log in %s ends with:\n%s\n", t.Name(), text)
	for goroutine := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(goroutine, "operator-status/internal/") && !strings.Contains(goroutine, "manager.(*crdGate)") {
			fmt.Fprintf(&ends, "it was doing:\n%s\n", goroutine)
		}
	}
}

// Account creates a service account in a namespace, and gives it a ClusterRole for the whole cluster.
func (c *Cluster) Account(t testing.TB, namespace, name, role string) types.NamespacedName {
	t.Helper()
	c.Create(t,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-" + namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
		})
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// Token creates and returns a token of a service account.
func (c *Cluster) Token(t testing.TB, account types.NamespacedName) string {
	t.Helper()
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	token := &authenticationv1.TokenRequest{}
	if err := c.Client.SubResource("token").Create(context.Background(), of, token); err != nil {
		t.Fatalf("getting a token of service account %s: %v", account, err)
	}
	return token.Status.Token
}

// Kubeconfig writes a kubeconfig with a token of a service account to a temporary folder and returns its path.
func (c *Cluster) Kubeconfig(t testing.TB, account types.NamespacedName) string {
	t.Helper()
	return c.kubeconfig(t, &clientcmdapi.AuthInfo{Token: c.Token(t, account)})
}

// Shell runs a command line for which kubectl is an admin's.
func (c *Cluster) Shell(t testing.TB, command string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "-c", command)
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(Root(), "bin", "controlplane")+":"+os.Getenv("PATH"),
		"KUBECONFIG="+c.kubeconfig(t, &clientcmdapi.AuthInfo{
			Token: c.Config.BearerToken, ClientCertificateData: c.Config.CertData, ClientKeyData: c.Config.KeyData,
		}))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func (c *Cluster) kubeconfig(t testing.TB, as *clientcmdapi.AuthInfo) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"test": {Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"user": as},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "user"}},
		CurrentContext: "test",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Through returns the same cluster, which its managers reach through a proxy. The proxy must serve TLS: a client does
// not send its token over a plain connection.
func (c *Cluster) Through(proxy *httptest.Server) *Cluster {
	out := *c
	out.Config = rest.CopyConfig(c.Config)
	out.Config.Host = proxy.URL
	out.Config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	return &out
}

// ThroughEach returns the same cluster. Of its managers, the one that reads custom resources reaches it through one proxy,
// and that of the built-in loops through another.
func (c *Cluster) ThroughEach(reader, loops *httptest.Server) *Cluster {
	out := *c
	out.proxies = map[types.NamespacedName]*httptest.Server{ManagerAccount: reader, LifecycleAccount: loops}
	return &out
}

// CountWrites returns a proxy in front of the API server and the number of its writes that which selects. It calls
// wrote with that number after the API server has answered a write and before the manager receives the answer.
func (c *Cluster) CountWrites(t testing.TB, which func(*http.Request) bool, wrote func(n int)) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	server, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(&rest.Config{Host: c.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: c.Config.CAData}})
	if err != nil {
		t.Fatal(err)
	}
	writes := &atomic.Int64{}
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				t.Logf("the proxy before the API server: %s %s: %v", r.Method, r.URL, err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method != http.MethodGet && which(r.Request) {
				wrote(int(writes.Add(1)))
			}
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	return proxy, writes
}
