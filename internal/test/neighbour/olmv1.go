package neighbour

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// StartOLMv1 starts OLM v1, and a registry for the images of its catalogs and operators.
func StartOLMv1(t *testing.T, c *testcluster.Cluster, kubeconfig string) *catalogtest.Registry {
	t.Helper()
	registry := catalogtest.NewRegistry(t, "")
	startOLMv1(t, c, kubeconfig, registry)
	return registry
}

// Extend has OLM v1 install the first version of an operator from a catalog with versions, or with both of the story. It returns the ClusterExtension.
func Extend(t *testing.T, c *testcluster.Cluster, registry *catalogtest.Registry, o story.Op, versions ...string) *unstructured.Unstructured {
	t.Helper()
	if len(versions) == 0 {
		versions = []string{story.First, story.Second}
	}
	entries := []string{strings.ReplaceAll(catalog, "NAME", o.Name)}
	for i, version := range versions {
		entries[0] += "- name: " + o.Name + ".v" + version + "\n"
		if i > 0 {
			entries[0] += "  replaces: " + o.Name + ".v" + versions[i-1] + "\n"
		}
	}
	for _, version := range versions {
		tagged, digest := registry.Push(t, o.Name+"-bundle:"+version, map[string]string{
			"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1", "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
			"operators.operatorframework.io.bundle.metadata.v1": "metadata/", "operators.operatorframework.io.bundle.package.v1": o.Name,
			"operators.operatorframework.io.bundle.channels.v1": "stable",
		}, bundleOf(o, version))
		repository, _, _ := strings.Cut(tagged, ":"+version)
		entries = append(entries, strings.NewReplacer("NAME", o.Name, "VERSION", version, "IMAGE", repository+"@"+digest).Replace(entry))
	}
	image, _ := registry.Push(t, o.Name+"-catalog:latest", map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"},
		catalogtest.Files("configs/"+o.Name+"/catalog.yaml", strings.Join(entries, "")))
	c.Rediscovered(t).Apply(t, o.Namespace, strings.NewReplacer("IMAGE", image, "NAMESPACE", o.Namespace, "NAME", o.Name).Replace(extensions))
	extension := builder.Object("olm.operatorframework.io/v1", "ClusterExtension", "", o.Name)
	t.Cleanup(func() {
		if err := c.Client.Delete(context.Background(), extension); err != nil {
			t.Error(err)
		}
	})
	return extension
}

// catalog is the package of an operator, and entry a bundle of it.
const (
	catalog = `---
schema: olm.package
name: NAME
defaultChannel: stable
---
schema: olm.channel
package: NAME
name: stable
entries:
`
	entry = `---
schema: olm.bundle
name: NAME.vVERSION
package: NAME
image: IMAGE
properties:
- type: olm.package
  value: {packageName: NAME, version: VERSION}
`
)

// extensions installs the first version. The account may do everything, as operator-controller does in later versions.
const extensions = `
apiVersion: olm.operatorframework.io/v1
kind: ClusterCatalog
metadata: {name: NAME, labels: {olm.operatorframework.io/metadata.name: NAME}}
spec: {source: {type: Image, image: {ref: IMAGE}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: installer, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME-installer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: installer, namespace: NAMESPACE}]
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: NAME}
spec:
  namespace: NAMESPACE
  serviceAccount: {name: installer}
  install: {preflight: {crdUpgradeSafety: {enforcement: None}}} # it refuses every change that it does not know
  source: {sourceType: Catalog, catalog: {packageName: NAME, version: 1.0.0}}
`

// bundleOf returns the files of a bundle of an operator.
func bundleOf(o story.Op, version string) []catalogtest.TarEntry {
	files := []string{"metadata/annotations.yaml", "annotations: {operators.operatorframework.io.bundle.package.v1: " + o.Name + "}\n"}
	for manifest := range strings.SplitSeq(o.Manifests(version), "\n---\n") {
		for _, kind := range []string{"CustomResourceDefinition", "ConfigMap"} {
			if strings.Contains(manifest, "\nkind: "+kind+"\n") {
				files = append(files, "manifests/"+strings.ToLower(kind)+".yaml", strings.Replace(manifest, ", namespace: "+o.Namespace, "", 1))
			}
		}
	}
	return catalogtest.Files(append(files, "manifests/csv.yaml", o.Fill(`
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: NAME.vVERSION}
spec:
  version: VERSION
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: widgets.NAME.example.com, version: v1, kind: Widget}]}
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - serviceAccountName: NAME
        rules: [{apiGroups: [NAME.example.com], resources: [widgets, widgets/status], verbs: ["*"]}]
      deployments:
      - name: NAME
        spec:
          selector: {matchLabels: {app: NAME}}
          template:
            metadata: {labels: {app: NAME}}
            spec:
              serviceAccountName: NAME
              containers: [{name: manager, image: "example.com/NAME:VERSION"}]
`, version))...)
}

// startOLMv1 starts catalogd and operator-controller.
func startOLMv1(t *testing.T, c *testcluster.Cluster, kubeconfig string, registry *catalogtest.Registry) {
	t.Helper()
	module := Module(t, "olmv1", "github.com/operator-framework/operator-controller")
	for _, part := range []string{"catalogd", "operator-controller"} {
		file := filepath.Join(module, "config", "base", part, "crd", "bases")
		kubectl := exec.Command(filepath.Join(testcluster.Root(), "bin", "controlplane", "kubectl"), "apply", "--server-side", "--kubeconfig="+kubeconfig, "-f", file)
		if out, err := kubectl.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	c.AwaitCRD(t, "clustercatalogs.olm.operatorframework.io")
	c.AwaitCRD(t, "clusterextensions.olm.operatorframework.io")
	c.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "olmv1-system"}})

	folder := t.TempDir()
	authorities := filepath.Join(folder, "authorities")
	write := func(file, content string) string {
		path := filepath.Join(folder, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lender := httptest.NewTLSServer(nil) // its certificate is valid for loopback
	defer lender.Close()
	key, err := x509.MarshalPKCS8PrivateKey(lender.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw}))
	write("authorities/ca.crt", certificate)
	certificateFile, keyFile := write("tls.crt", certificate), write("tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	env := []string{"HOME=" + folder, "TMPDIR=" + t.TempDir()}
	write(".config/containers/registries.conf", fmt.Sprintf("[[registry]]\nlocation=%q\ninsecure=true\n", registry.Host))
	write(".config/containers/policy.json", `{"default":[{"type":"insecureAcceptAnything"}]}`)
	content := testcluster.FreeAddress(t)
	_, port, _ := strings.Cut(testcluster.FreeAddress(t), ":")
	Program{Name: "catalogd", Env: env, Kubeconfig: kubeconfig}.Start(t, "--metrics-bind-address=", "--health-probe-bind-address="+testcluster.FreeAddress(t),
		"--system-namespace=olmv1-system", "--catalogs-server-addr="+content, "--external-address="+content, "--cache-dir="+t.TempDir(),
		"--tls-cert="+certificateFile, "--tls-key="+keyFile, "--webhook-server-port="+port)
	Program{Name: "operator-controller", Env: env, Kubeconfig: kubeconfig}.Start(t, "--health-probe-bind-address="+testcluster.FreeAddress(t),
		"--system-namespace=olmv1-system", "--catalogd-cas-dir="+authorities, "--cache-path="+t.TempDir())
}
