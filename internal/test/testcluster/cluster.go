// Package testcluster provides tests with a real API server that has operator-status installed, and runs the manager as
// separate processes that have the rights of their service accounts and no more.
package testcluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/operator-framework/api/crds"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/internal/manager"
)

// Timeout is how long a test waits for something that should happen immediately. It is long: no test asserts durations.
const Timeout = 2 * time.Minute

// Cluster is a running cluster. Start and Run start one that consists of an API server and etcd only.
type Cluster struct {
	// Config has all rights.
	Config *rest.Config

	// Client has all rights and does not read from a cache.
	Client client.WithWatch

	audit   *auditLog
	server  *envtest.Environment
	running *atomic.Int32 // number of manager processes

	proxies map[types.NamespacedName]*httptest.Server // by the account of the manager that uses it
}

// Start starts a cluster and installs config/default, or the folder of config that the environment variable CONFIG
// names. The cluster stops when the test ends.
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

// Run starts a cluster for all tests of a package, passes it to set, runs the tests and returns the exit code.
func Run(m *testing.M, set func(*Cluster)) int {
	folder, err := os.MkdirTemp("", "testcluster")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system cleans up temporary folders
	c, stop, err := start(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	set(c)
	code := m.Run()
	PrintLogs()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Root returns the root folder of the project.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
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
	audit := &auditLog{path: filepath.Join(folder, "audit.log")}
	args.Set("audit-log-path", audit.path)
	config, err := server.Start()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the API server (`make controlplane` builds it): %w", err)
	}
	config.QPS = -1
	config.UserAgent = "test"
	c = &Cluster{Config: config, audit: audit, server: server, running: &atomic.Int32{}}
	if c.Client, err = newClient(config); err == nil {
		err = c.install(cmp.Or(os.Getenv("CONFIG"), "default"))
	}
	if err != nil {
		return nil, nil, errors.Join(err, server.Stop())
	}
	return c, server.Stop, nil
}

func newClient(config *rest.Config) (client.WithWatch, error) {
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Devcluster runs bin/devcluster.
func Devcluster(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, filepath.Join(Root(), "bin", "devcluster"), args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("devcluster %s (`make controlplane` builds it): %w", args[0], err)
	}
	return nil
}

// Processes returns the process IDs of the components of the devcluster in a folder, by name.
func Processes(t testing.TB, folder string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Processes []struct {
			Name string
			Pid  int
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, p := range state.Processes {
		out[p.Name] = p.Pid
	}
	return out
}

// Attach returns a Cluster for a running cluster. It installs nothing.
func Attach(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = "test"
	c := &Cluster{Config: config, running: &atomic.Int32{}}
	var err error
	c.Client, err = newClient(config)
	return c, err
}

// Connect returns a Cluster for a running cluster. It installs a folder of config without its Deployments, and keeps
// the objects that already exist.
func Connect(config *rest.Config, folder string) (*Cluster, error) {
	c, err := Attach(config)
	if err != nil {
		return nil, err
	}
	return c, c.install(folder)
}

// Audited returns the same cluster, with the requests read from the audit log in a folder.
func (c *Cluster) Audited(folder string) *Cluster {
	out := *c
	out.audit = &auditLog{path: filepath.Join(folder, "audit.log")}
	return &out
}

// Rediscovered returns the same cluster with a new client, whose RESTMapper has not discovered any kinds yet.
func (c *Cluster) Rediscovered(t testing.TB) *Cluster {
	t.Helper()
	out := *c
	var err error
	if out.Client, err = newClient(c.Config); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Manifests returns the manifests that kustomize builds of a folder of config.
func Manifests(folder string) ([]byte, error) {
	kustomize := exec.Command(filepath.Join(Root(), "bin", "kustomize"), "build", filepath.Join(Root(), "config", folder))
	var problem bytes.Buffer
	kustomize.Stderr = &problem
	manifests, err := kustomize.Output()
	if err != nil {
		return nil, fmt.Errorf("building config/%s (`make tools` builds kustomize): %w\n%s", folder, err, problem.String())
	}
	return manifests, nil
}

func (c *Cluster) install(folder string) error {
	manifests, err := Manifests(folder)
	if err != nil {
		return err
	}
	objects, err := Decode(manifests)
	if err != nil {
		return fmt.Errorf("reading config/%s: %w", folder, err)
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			continue // the tests run the manager themselves
		}
		if err := c.Client.Create(context.Background(), o); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	if err := c.awaitCRD("platformoperators.platform.openshift.io"); err != nil {
		return err
	}
	return c.awaitCRD("probes.operators.coreos.com")
}

// olmCRDs returns the CustomResourceDefinitions of OLM that operator-status reads.
func olmCRDs() []*apiextensions.CustomResourceDefinition {
	return []*apiextensions.CustomResourceDefinition{crds.ClusterServiceVersion(), crds.OperatorCondition(), crds.Subscription()}
}

// InstallOLM installs the CustomResourceDefinitions of OLM that operator-status reads, unless they exist.
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

// clusterOperatorCRD is the file with the CustomResourceDefinition of ClusterOperator in OpenShift's API.
const clusterOperatorCRD = "0000_00_cluster-version-operator_01_clusteroperators.crd.yaml"

// InstallClusterOperator installs the kind ClusterOperator and, as the Cluster Version Operator does, creates the
// ClusterOperator of config/clusteroperator without a status. The ClusterOperator is deleted after the test.
func (c *Cluster) InstallClusterOperator(t testing.TB) *configv1.ClusterOperator {
	t.Helper()
	c.InstallOpenShift(t, clusterOperatorCRD)
	out := &configv1.ClusterOperator{}
	read(t, filepath.Join(Root(), "config", "clusteroperator", "clusteroperator.yaml"), out)
	c.Create(t, out)
	t.Cleanup(func() {
		if err := c.Client.Delete(context.Background(), out); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return out
}

// InstallOpenShift installs a CustomResourceDefinition of OpenShift's config API, by its file name, unless it exists.
func (c *Cluster) InstallOpenShift(t testing.TB, file string) {
	t.Helper()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatalf("finding the module of OpenShift's API: %v", err)
	}
	crd := &apiextensions.CustomResourceDefinition{}
	read(t, filepath.Join(strings.TrimSpace(string(folder)), "config", "v1", "zz_generated.crd-manifests", file), crd)
	if err := c.Client.Create(t.Context(), crd); client.IgnoreAlreadyExists(err) != nil {
		t.Fatalf("creating CustomResourceDefinition %s: %v", crd.Name, err)
	}
	if err := c.awaitCRD(crd.Name); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
}

// UninstallOLM deletes the CustomResourceDefinitions that InstallOLM installs, with all their objects, if they exist.
func (c *Cluster) UninstallOLM(t testing.TB) {
	t.Helper()
	for _, crd := range olmCRDs() {
		if err := c.Client.Delete(context.Background(), crd); client.IgnoreNotFound(err) != nil {
			t.Fatalf("deleting CustomResourceDefinition %s: %v", crd.Name, err)
		}
		c.AwaitGone(t, crd)
	}
}

// AwaitCRD waits until a CustomResourceDefinition is established and discoverable, and fails the test otherwise.
func (c *Cluster) AwaitCRD(t testing.TB, name string) {
	t.Helper()
	if err := c.awaitCRD(name); err != nil {
		t.Fatalf("CustomResourceDefinition %s is not established: %v", name, err)
	}
}

// awaitCRD waits until a CustomResourceDefinition is established and discovery lists its kind.
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

// Namespace creates a namespace with a generated name and returns the name.
func (c *Cluster) Namespace(t testing.TB, prefix string) string {
	t.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	c.Create(t, n)
	return n.Name
}

// Print returns an object as indented JSON, without its managed fields.
func Print(o client.Object) string {
	o = o.DeepCopyObject().(client.Object)
	o.SetManagedFields(nil)
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
