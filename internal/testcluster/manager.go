package testcluster

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Manager is a running bin/manager.
type Manager struct {
	process *exec.Cmd
	log     string
	done    chan struct{}
	peak    atomic.Int64 // bytes of memory, with its children's
}

// ManagerAccount is the service account of config/rbac.
var ManagerAccount = types.NamespacedName{Namespace: "operator-status-system", Name: "operator-status-controller-manager"}

// StartManager starts bin/manager with the token of its service account. It ends with the test, whose log has the
// manager's if the test fails. Unless flags say otherwise it serves no health, and speaks to the tests' own registries without TLS.
func (c *Cluster) StartManager(t testing.TB, flags ...string) *Manager {
	t.Helper()
	m := &Manager{log: filepath.Join(t.TempDir(), "manager.log"), done: make(chan struct{})}
	output, err := os.Create(m.log)
	if err != nil {
		t.Fatal(err)
	}
	m.process = exec.Command(filepath.Join(Root(), "bin", "manager"),
		append([]string{"--kubeconfig=" + c.managerKubeconfig(t), "--health-probe-bind-address=0", "--catalog-plaintext=127.0.0.1,localhost"}, flags...)...)
	m.process.Stdout, m.process.Stderr = output, output
	if err := m.process.Start(); err != nil {
		t.Fatalf("starting bin/manager (`make build` builds it): %v", err)
	}
	go func() {
		defer close(m.done)
		_ = m.process.Wait() // how it ended is for those who wait for done to judge
		_ = output.Close()
	}()
	go m.sampleMemory()
	t.Cleanup(func() {
		if !t.Failed() {
			m.Kill(t)
			return
		}
		m.quit()
		m.logTail(t)
	})
	return m
}

// Terminate asks the manager to end, as a kubelet does, and waits until it has.
func (m *Manager) Terminate(t testing.TB) {
	t.Helper()
	m.signal(t, syscall.SIGTERM)
	<-m.done
	if !m.process.ProcessState.Success() {
		t.Errorf("the manager, asked to end, did: %v", m.process.ProcessState)
	}
}

// Kill ends the manager as kill -9 does.
func (m *Manager) Kill(t testing.TB) {
	t.Helper()
	select {
	case <-m.done:
		return
	default:
	}
	if err := m.process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("killing the manager: %v", err)
	}
	<-m.done
}

// Pause stops the manager, as a machine does that hangs, until Resume.
func (m *Manager) Pause(t testing.TB) { m.signal(t, syscall.SIGSTOP) }

// Resume has the manager go on where it stopped.
func (m *Manager) Resume(t testing.TB) { m.signal(t, syscall.SIGCONT) }

func (m *Manager) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := m.process.Process.Signal(s); err != nil {
		t.Fatalf("sending the manager %s: %v", s, err)
	}
}

// AwaitEnd waits until the manager has ended by itself.
func (m *Manager) AwaitEnd(t testing.TB) {
	t.Helper()
	select {
	case <-m.done:
	case <-time.After(Timeout):
		t.Fatal("the manager does not end")
	}
}

// quit ends the manager, if it still runs, so that its log tells what it was doing.
func (m *Manager) quit() {
	for _, s := range []os.Signal{syscall.SIGQUIT, syscall.SIGCONT} { // it may be paused
		_ = m.process.Process.Signal(s) // it may have ended
	}
	<-m.done
}

// CheckAlive fails the test if the manager has ended by itself, panicked, or (built to notice) raced.
func (m *Manager) CheckAlive(t testing.TB) {
	t.Helper()
	select {
	case <-m.done:
		t.Errorf("the manager has ended: %v", m.process.ProcessState)
	default:
	}
	text, err := os.ReadFile(m.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, alarm := range []string{"panic", "DATA RACE"} {
		if bytes.Contains(text, []byte(alarm)) {
			t.Errorf("the manager's log tells of a %s", alarm)
		}
	}
}

// AwaitLog makes a change, and waits until the manager has logged a text after it.
func (m *Manager) AwaitLog(t testing.TB, text string, change func()) {
	t.Helper()
	before, err := os.ReadFile(m.log)
	if err != nil {
		t.Fatal(err)
	}
	change()
	err = wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, Timeout, true, func(context.Context) (bool, error) {
		now, err := os.ReadFile(m.log)
		return err == nil && bytes.Contains(now[len(before):], []byte(text)), err
	})
	if err != nil {
		t.Fatalf("waiting for the manager to log %s: %v", text, err)
	}
}

// Pid is its process id.
func (m *Manager) Pid() int { return m.process.Process.Pid }

// PeakMemory is the most memory that the manager has had resident so far, in bytes, together with the processes that it starts to
// read catalogs.
func (m *Manager) PeakMemory(t testing.TB) int64 {
	t.Helper()
	return max(m.peak.Load(), PeakMemory(t, m.process.Process.Pid))
}

// sampleMemory adds up the memory of the manager and of its children, again and again until it ends.
func (m *Manager) sampleMemory() {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-m.done:
			return
		case <-tick.C:
			m.peak.Store(max(m.peak.Load(), FamilyMemory(m.process.Process.Pid)))
		}
	}
}

// FamilyMemory returns the bytes that a process has resident, and that its children have beyond the program that they share with it.
func FamilyMemory(pid int) int64 {
	total, _ := resident(pid)
	processes, _ := os.ReadDir("/proc") // without it there is only the process
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

// resident returns the bytes that a process has resident, and those of them that it shares; 0 if it has ended.
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
	_, after, _ := strings.Cut(string(text), ") ") // the program's name may have spaces
	var state string
	var parent int
	if _, err := fmt.Sscan(after, &state, &parent); err != nil {
		return 0
	}
	return parent
}

// PeakMemory is the most memory that a process has had resident so far, in bytes.
func PeakMemory(t testing.TB, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("reading how much memory process %d has had: %v", pid, err)
	}
	var kibibytes int64
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(after, "%d kB", &kibibytes); err != nil {
		t.Fatalf("process %d does not tell how much memory it has had: %v", pid, err)
	}
	return kibibytes * 1024
}

// logTail logs the end of the manager's log, and those of the goroutines of one that quit that were in code of ours.
func (m *Manager) logTail(t testing.TB) {
	text, err := os.ReadFile(m.log)
	if err != nil {
		t.Log(err)
		return
	}
	text, stacks, _ := bytes.Cut(text, []byte("SIGQUIT: quit"))
	const most = 20000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	t.Logf("the manager's log ends with:\n%s", text)
	for goroutine := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(goroutine, "operator-status/internal/") && !strings.Contains(goroutine, "manager.(*crdGate)") {
			t.Logf("it was doing:\n%s", goroutine)
		}
	}
}

// Token is a token of a service account.
func (c *Cluster) Token(t testing.TB, account types.NamespacedName) string {
	t.Helper()
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	token := &authenticationv1.TokenRequest{}
	if err := c.Client.SubResource("token").Create(context.Background(), of, token); err != nil {
		t.Fatalf("getting a token of service account %s: %v", account, err)
	}
	return token.Status.Token
}

func (c *Cluster) managerKubeconfig(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"test": {Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"manager": {Token: c.Token(t, ManagerAccount)}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "manager"}},
		CurrentContext: "test",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Through is the same cluster, whose managers reach it through a proxy in front of it. That serves TLS: to another a
// client would not show its token.
func (c *Cluster) Through(proxy *httptest.Server) *Cluster {
	out := *c
	out.Config = rest.CopyConfig(c.Config)
	out.Config.Host = proxy.URL
	out.Config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	return &out
}

// CountWrites is a proxy before the API server that tells of each write of that kind when the API server has answered it and the
// manager does not know yet.
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
