// Package testcluster gives tests a real API server with operator-status installed in it, and the manager as a process
// of its own that has the rights of config/rbac and no more.
package testcluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/operator-framework/api/crds"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/operator-status/operator-status/internal/manager"
)

// Timeout is how long a test waits for what should come at once. It is long, for nothing is asserted about time.
const Timeout = 60 * time.Second

// Cluster is an API server with etcd, and nothing else.
type Cluster struct {
	// Config has all rights.
	Config *rest.Config

	// Client has all rights, and reads from no cache.
	Client client.Client

	folder string
	server *envtest.Environment
}

// Start starts a cluster and installs config/default in it. It ends with the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, stop, err := start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Run starts a cluster for all tests of a package, and gives it to them by way of set.
func Run(m *testing.M, set func(*Cluster)) int {
	folder, err := os.MkdirTemp("", "testcluster")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // a temporary folder: the system sees to what is left
	c, stop, err := start(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	set(c)
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Root is the folder of the project.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

const auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`

func start(folder string) (c *Cluster, stop func() error, err error) {
	policy := filepath.Join(folder, "audit-policy.json")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, nil, err
	}
	server := &envtest.Environment{
		BinaryAssetsDirectory:    filepath.Join(Root(), "bin", "controlplane"),
		ControlPlaneStartTimeout: Timeout,
		ControlPlaneStopTimeout:  Timeout,
	}
	args := server.ControlPlane.GetAPIServer().Configure()
	args.Set("audit-policy-file", policy)
	args.Set("audit-log-path", filepath.Join(folder, "audit.log"))
	config, err := server.Start()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the API server (`make controlplane` builds it): %w", err)
	}
	config.QPS = -1
	config.UserAgent = "test"
	c = &Cluster{Config: config, folder: folder, server: server}
	if c.Client, err = newClient(config); err == nil {
		err = c.install()
	}
	if err != nil {
		return nil, nil, errors.Join(err, server.Stop())
	}
	return c, server.Stop, nil
}

func newClient(config *rest.Config) (client.Client, error) {
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// Connect is a cluster that runs already. It installs config/default there, as far as it is not, but for the Deployment.
func Connect(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = "test"
	c := &Cluster{Config: config}
	var err error
	if c.Client, err = newClient(config); err != nil {
		return nil, err
	}
	return c, c.install()
}

// Rediscovered is the same cluster through a client that has not looked at its kinds yet.
func (c *Cluster) Rediscovered(t testing.TB) *Cluster {
	t.Helper()
	out := *c
	var err error
	if out.Client, err = newClient(c.Config); err != nil {
		t.Fatal(err)
	}
	return &out
}

func (c *Cluster) install() error {
	kustomize := exec.Command(filepath.Join(Root(), "bin", "kustomize"), "build", filepath.Join(Root(), "config", "default"))
	var problem bytes.Buffer
	kustomize.Stderr = &problem
	manifests, err := kustomize.Output()
	if err != nil {
		return fmt.Errorf("building config/default (`make tools` builds kustomize): %w\n%s", err, problem.String())
	}
	objects, err := Decode(manifests)
	if err != nil {
		return fmt.Errorf("reading config/default: %w", err)
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			continue // the tests run the manager themselves
		}
		if err := c.Client.Create(context.Background(), o); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return c.awaitCRD("probes.operators.coreos.com")
}

// olmCRDs are the CustomResourceDefinitions of OLM that operator-status reads.
func olmCRDs() []*apiextensions.CustomResourceDefinition {
	return []*apiextensions.CustomResourceDefinition{crds.ClusterServiceVersion(), crds.OperatorCondition()}
}

// InstallOLM installs the kinds of OLM that operator-status reads, unless they are.
func (c *Cluster) InstallOLM(t testing.TB) {
	t.Helper()
	for _, crd := range olmCRDs() {
		if err := c.Client.Create(context.Background(), crd); client.IgnoreAlreadyExists(err) != nil {
			t.Fatalf("creating CustomResourceDefinition %s: %v", crd.Name, err)
		}
		if err := c.awaitCRD(crd.Name); err != nil {
			t.Fatal(err)
		}
	}
}

// UninstallOLM removes them again, with all their objects.
func (c *Cluster) UninstallOLM(t testing.TB) {
	t.Helper()
	for _, crd := range olmCRDs() {
		if err := c.Client.Delete(context.Background(), crd); err != nil {
			t.Fatalf("deleting CustomResourceDefinition %s: %v", crd.Name, err)
		}
		c.AwaitGone(t, crd)
	}
}

// awaitCRD waits until a CustomResourceDefinition is established, and the API server lists its kind as well.
func (c *Cluster) awaitCRD(name string) error {
	return wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
		crd := &apiextensions.CustomResourceDefinition{}
		if err := c.Client.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
			return false, fmt.Errorf("waiting for CustomResourceDefinition %s: %w", name, err)
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensions.Established && condition.Status == apiextensions.ConditionTrue {
				_, err := c.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}, crd.Spec.Versions[0].Name)
				return err == nil, nil
			}
		}
		return false, nil
	})
}

// Decode reads the objects of a YAML stream.
func Decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// Create creates objects.
func (c *Cluster) Create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Client.Create(context.Background(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// Apply creates the objects of a YAML stream, with their status; in a namespace, where they name none.
func (c *Cluster) Apply(t testing.TB, namespace, manifests string) {
	t.Helper()
	objects, err := Decode([]byte(manifests))
	if err != nil {
		t.Fatalf("reading manifests: %v\n%s", err, manifests)
	}
	for _, o := range objects {
		if o.GetNamespace() == "" {
			if mapping, err := c.Client.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version); err == nil && mapping.Scope.Name() == "namespace" {
				o.SetNamespace(namespace)
			}
		}
		status, hasStatus := o.Object["status"]
		c.Create(t, o)
		if o.GetKind() == "CustomResourceDefinition" {
			if err := c.awaitCRD(o.GetName()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if hasStatus {
			o.Object["status"] = status
			if err := c.Client.Status().Update(context.Background(), o); err != nil {
				t.Fatalf("updating the status of %s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
	}
}

// Delete deletes the objects of a YAML stream, as far as they are there, and their namespace.
func (c *Cluster) Delete(t testing.TB, manifests, namespace string) {
	t.Helper()
	objects, err := Decode([]byte(manifests))
	if err != nil {
		t.Fatalf("reading manifests: %v\n%s", err, manifests)
	}
	n := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	n.SetName(namespace)
	for _, o := range append(objects, n) {
		if mapping, err := c.Client.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version); err == nil && mapping.Scope.Name() == "namespace" {
			continue // goes with its namespace
		}
		if err := c.Client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// Namespace creates a namespace for a test.
func (c *Cluster) Namespace(t testing.TB, prefix string) string {
	t.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	c.Create(t, n)
	return n.Name
}

// Await waits until an object is as it should be: until check returns an empty string. If that does not come, the test
// fails with what check said last, and the objects of the namespace that are of interest.
func (c *Cluster) Await(t testing.TB, o client.Object, check func() string) {
	t.Helper()
	key := client.ObjectKeyFromObject(o)
	var last string
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Client.Get(ctx, key, o); err != nil {
			last = err.Error()
			return false, nil
		}
		last = check()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%T %s: %v: %s\nis:\n%s", o, key, err, last, Print(o))
	}
}

// AwaitGone waits until an object is gone.
func (c *Cluster) AwaitGone(t testing.TB, o client.Object) {
	t.Helper()
	key := client.ObjectKeyFromObject(o)
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
		err := c.Client.Get(ctx, key, o)
		return err != nil && client.IgnoreNotFound(err) == nil, nil
	})
	if err != nil {
		t.Fatalf("%T %s is still there: %v\n%s", o, key, err, Print(o))
	}
}

// AwaitIdle waits until the manager has asked the API server for nothing but watches that long, and returns when.
func (c *Cluster) AwaitIdle(t testing.TB, quiet time.Duration) time.Time {
	t.Helper()
	last := time.Now()
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, Timeout, true, func(context.Context) (bool, error) {
		for _, r := range c.Requests(t, last) {
			if r.Verb != "watch" && r.Received.After(last) {
				last = r.Received.Time
			}
		}
		return time.Since(last) > quiet, nil
	})
	if err != nil {
		t.Fatalf("the manager does not come to rest: %v", err)
	}
	return time.Now()
}

// Print is an object as one reads it.
func Print(o client.Object) string {
	o = o.DeepCopyObject().(client.Object)
	o.SetManagedFields(nil)
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Manager is a running bin/manager.
type Manager struct {
	process *exec.Cmd
	log     string
	done    chan struct{}
}

// managerAccount is the service account of config/rbac.
var managerAccount = types.NamespacedName{Namespace: "operator-status-system", Name: "operator-status-controller-manager"}

// StartManager starts bin/manager with the token of its service account. It ends with the test, whose log has the
// manager's if the test fails. Unless flags say otherwise it serves no health.
func (c *Cluster) StartManager(t testing.TB, flags ...string) *Manager {
	t.Helper()
	m := &Manager{log: filepath.Join(t.TempDir(), "manager.log"), done: make(chan struct{})}
	output, err := os.Create(m.log)
	if err != nil {
		t.Fatal(err)
	}
	m.process = exec.Command(filepath.Join(Root(), "bin", "manager"),
		append([]string{"--kubeconfig=" + c.managerKubeconfig(t), "--health-probe-bind-address=0"}, flags...)...)
	m.process.Stdout, m.process.Stderr = output, output
	if err := m.process.Start(); err != nil {
		t.Fatalf("starting bin/manager (`make build` builds it): %v", err)
	}
	go func() {
		defer close(m.done)
		_ = m.process.Wait() // how it ended is for those who wait for done to judge
		_ = output.Close()
	}()
	t.Cleanup(func() {
		m.Kill(t)
		if t.Failed() {
			m.logTail(t)
		}
	})
	return m
}

// Terminate asks the manager to end, as a kubelet does, and waits until it has.
func (m *Manager) Terminate(t testing.TB) {
	t.Helper()
	if err := m.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("terminating the manager: %v", err)
	}
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

// CheckAlive fails the test if the manager has ended by itself, or panicked.
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
	if bytes.Contains(text, []byte("panic")) {
		t.Error("the manager's log tells of a panic")
	}
}

func (m *Manager) logTail(t testing.TB) {
	text, err := os.ReadFile(m.log)
	if err != nil {
		t.Log(err)
		return
	}
	const most = 20000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	t.Logf("the manager's log ends with:\n%s", text)
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
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"manager": {Token: c.Token(t, managerAccount)}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "manager"}},
		CurrentContext: "test",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Request is a request that the API server has answered, as its audit log tells of it.
type Request struct {
	Verb       string           `json:"verb"`
	URI        string           `json:"requestURI"`
	UserAgent  string           `json:"userAgent"`
	Stage      string           `json:"stage"`
	Received   metav1.MicroTime `json:"requestReceivedTimestamp"`
	ObjectRef  ObjectRef        `json:"objectRef"`
	Impersonee struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
}

// ObjectRef is what a request was about.
type ObjectRef struct {
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// IsWrite is true for requests that change something.
func (r Request) IsWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// Requests are those of the manager that the API server received since then, in its own name or another's.
func (c *Cluster) Requests(t testing.TB, since time.Time) []Request {
	t.Helper()
	file, err := os.Open(filepath.Join(c.folder, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	var out []Request
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out // a line that is still being written is of a request that has just come
		}
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("audit log: %v\n%s", err, line)
		}
		if strings.HasPrefix(r.UserAgent, manager.UserAgent) && r.Stage != "ResponseStarted" && !r.Received.Time.Before(since) {
			out = append(out, r)
		}
	}
}
