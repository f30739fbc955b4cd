package gitops

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

const kustomizations = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: operators, namespace: flux-system}
spec: {url: "URL", interval: 10s, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: composed, namespace: flux-system}
spec:
  sourceRef: {kind: GitRepository, name: operators}
  path: ./composed
  interval: 10m
  timeout: 2m
  retryInterval: 2s
  prune: true
  wait: true
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: subscribed, namespace: flux-system}
spec:
  sourceRef: {kind: GitRepository, name: operators}
  path: ./subscribed
  targetNamespace: NAMESPACE
  interval: 10m
  timeout: 2m
  retryInterval: 2s
  prune: true
  wait: true
  healthCheckExprs: EXPRESSIONS
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: workload, namespace: flux-system}
spec:
  dependsOn: [{name: subscribed}]
  sourceRef: {kind: GitRepository, name: operators}
  path: ./workload
  targetNamespace: NAMESPACE
  interval: 10m
  retryInterval: 2s
  prune: true
`

// startFlux starts source-controller, kustomize-controller and helm-controller in a namespace.
func startFlux(t *testing.T, namespace string) {
	t.Helper()
	createNamespace(t, namespace)
	for folder, path := range map[string]string{
		"flux/source": "github.com/fluxcd/source-controller", "flux/kustomize": "github.com/fluxcd/kustomize-controller",
		"flux/helm": "github.com/fluxcd/helm-controller",
	} {
		kubectl(t, "apply", "--server-side", "-f", filepath.Join(neighbour.Module(t, folder, path), "config", "crd", "bases"))
	}
	cluster.AwaitCRD(t, "gitrepositories.source.toolkit.fluxcd.io")
	cluster.AwaitCRD(t, "kustomizations.kustomize.toolkit.fluxcd.io")
	cluster.AwaitCRD(t, "helmreleases.helm.toolkit.fluxcd.io")
	env := []string{"RUNTIME_NAMESPACE=" + namespace, "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	storage := testcluster.FreeAddress(t)
	kubeconfig := filepath.Join(clusterDir, "kubeconfig")
	own := func() []string {
		return []string{"--metrics-addr=" + testcluster.FreeAddress(t), "--health-addr=" + testcluster.FreeAddress(t), "--enable-leader-election=false"}
	}
	neighbour.Program{Name: "source-controller", Env: env, Kubeconfig: kubeconfig}.Start(t, append(own(), "--storage-path="+t.TempDir(), "--storage-addr="+storage, "--storage-adv-addr="+storage)...)
	neighbour.Program{Name: "kustomize-controller", Env: env, Kubeconfig: kubeconfig}.Start(t, own()...)
	neighbour.Program{Name: "helm-controller", Env: env, Kubeconfig: kubeconfig}.Start(t, own()...)
}

// serve serves the repository over HTTP, and returns its URL.
func (r repository) serve(t *testing.T) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(r.folder), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}})
	t.Cleanup(server.Close)
	return server.URL + "/" + filepath.Base(r.folder)
}

// expressions returns config/flux/healthchecks.yaml as JSON.
func expressions(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "flux", "healthchecks.yaml"))
	if err == nil {
		data, err = yaml.YAMLToJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFlux verifies that a Kustomization with `wait: true` waits for a PlatformOperator that was not reconciled yet, and with
// our expressions for a Subscription, so a workload is applied when its operator runs; and that held updates do not make a
// Kustomization fail.
func TestFlux(t *testing.T) {
	namespace := cluster.Namespace(t, "flux")
	catalog := client.ObjectKey{Namespace: global, Name: namespace}
	versions := testcatalog.Holding("fluxed", "1.0.0", "2.0.0")
	composed := testcatalog.Published(t, testcatalog.Foo{Name: "composed", Version: "1.0.0"})
	cluster.Offer(t, catalog, testcatalog.Published(t, versions[0]), composed)
	git := newRepository(t)
	for file, content := range map[string]string{
		"composed/operator.yaml":   "apiVersion: platform.openshift.io/v1alpha1\nkind: PlatformOperator\nmetadata: {name: composed}\nspec: {package: {name: composed}}\n",
		"subscribed/operator.yaml": strings.NewReplacer("CATALOG", catalog.Name, "NAMESPACE", namespace).Replace(subscription),
		"workload/fluxed.yaml":     "apiVersion: fluxed.example.com/v1\nkind: Fluxed\nmetadata: {name: example}\n",
	} {
		git.commit(t, file, content)
	}
	startFlux(t, "flux-system")
	manifests := strings.NewReplacer("URL", git.serve(t), "NAMESPACE", namespace, "EXPRESSIONS", expressions(t)).Replace(kustomizations)
	cluster.Rediscovered(t).Apply(t, "flux-system", manifests)

	// Before the loops run, nothing is ready.
	for _, name := range []string{"composed", "subscribed"} {
		awaitReady(t, name, "Unknown", "Progressing")
	}
	awaitReady(t, "workload", "False", "DependencyNotReady")
	cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--default-catalog="+catalog.String())
	for _, name := range []string{"composed", "subscribed", "workload"} {
		awaitReady(t, name, "True", "ReconciliationSucceeded")
	}

	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fluxed.example.com/v1", "kind": "Fluxed"}}
	custom.SetNamespace(namespace)
	custom.SetName("example")
	setMigrating(t, custom, true)
	cluster.Offer(t, catalog, testcatalog.Published(t, versions...), composed)
	awaitHeld(t, namespace, "fluxed")
	git.commit(t, "subscribed/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
	more := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	more.SetNamespace(namespace)
	more.SetName("more")
	cluster.Await(t, more, func() string { return "" })
	awaitReady(t, "subscribed", "True", "ReconciliationSucceeded")
}

const subscription = `
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: group}
spec: {targetNamespaces: [NAMESPACE]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: fluxed}
spec: {name: fluxed, channel: stable, source: CATALOG, sourceNamespace: olm}
`

// awaitReady waits until a Kustomization has that condition Ready.
func awaitReady(t *testing.T, name, status, reason string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"}}
	o.SetNamespace("flux-system")
	o.SetName(name)
	cluster.Await(t, o, func() string {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // none if not found
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Ready" && c["status"] == status && c["reason"] == reason {
				return ""
			}
		}
		return "want Ready=" + status + "/" + reason
	})
}
