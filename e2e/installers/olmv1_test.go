package installers

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"
	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestOLMv1 tells the story of a ClusterExtension.
func TestOLMv1(t *testing.T) {
	if _, err := os.Stat(neighbour.Program{Name: "operator-controller"}.Path()); err != nil {
		t.Skip("skipped: make e2e-installers builds operator-controller: ", err)
	}
	o := story.New(t, cluster, kubeconfig, "extended")
	registry := catalogtest.NewRegistry(t, "")
	startOLMv1(t, registry)
	catalog := "---\nschema: olm.package\nname: extended\ndefaultChannel: stable\n" +
		"---\nschema: olm.channel\npackage: extended\nname: stable\nentries:\n- name: extended.v1.0.0\n- name: extended.v1.1.0\n  replaces: extended.v1.0.0\n"
	for _, version := range []string{story.First, story.Second} {
		image, digest := registry.Push(t, "extended-bundle:"+version, map[string]string{
			"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1", "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
			"operators.operatorframework.io.bundle.metadata.v1": "metadata/", "operators.operatorframework.io.bundle.package.v1": "extended",
			"operators.operatorframework.io.bundle.channels.v1": "stable",
		}, bundleOf(o, version))
		repository, _, _ := strings.Cut(image, ":"+version)
		catalog += fmt.Sprintf("---\nschema: olm.bundle\nname: extended.v%s\npackage: extended\nimage: %s@%s\nproperties:\n"+
			"- type: olm.package\n  value: {packageName: extended, version: %s}\n", version, repository, digest, version)
	}
	image, _ := registry.Push(t, "catalog:latest", map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"},
		catalogtest.Files("configs/extended/catalog.yaml", catalog))
	apply := func(manifests string) {
		cluster.Rediscovered(t).Apply(t, o.Namespace, strings.NewReplacer("IMAGE", image, "NAMESPACE", o.Namespace).Replace(manifests))
	}
	apply(extensions)
	extension := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension"}}
	extension.SetName(o.Name)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), extension); err != nil {
			t.Error(err)
		}
	})
	e := &extended{extension}
	story.Tell(t, e, o)
	e.awaitConditions(t, "Running=True/WorkloadsAvailable", "UpToDate=True/NewestRuns", "UpgradeHeld=False/NotHeld", "Installed=True/Succeeded",
		"Progressing=True/Succeeded")
	e.checkPolicy(t)
}

// extensions installs the first version. The account may do everything, as operator-controller does in later versions.
const extensions = `
apiVersion: olm.operatorframework.io/v1
kind: ClusterCatalog
metadata: {name: extended, labels: {olm.operatorframework.io/metadata.name: extended}}
spec: {source: {type: Image, image: {ref: IMAGE}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: installer, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: extended-installer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: installer, namespace: NAMESPACE}]
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: extended}
spec:
  namespace: NAMESPACE
  serviceAccount: {name: installer}
  install: {preflight: {crdUpgradeSafety: {enforcement: None}}} # it refuses every change that it does not know
  source: {sourceType: Catalog, catalog: {packageName: extended, version: 1.0.0}}
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
	return catalogtest.Files(append(files, "manifests/csv.yaml", strings.NewReplacer("NAME", o.Name, "VERSION", version).Replace(`
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
`))...)
}

// startOLMv1 starts catalogd and operator-controller.
func startOLMv1(t *testing.T, registry *catalogtest.Registry) {
	t.Helper()
	module := neighbour.Module(t, "olmv1", "github.com/operator-framework/operator-controller")
	for _, part := range []string{"catalogd", "operator-controller"} {
		file := filepath.Join(module, "config", "base", part, "crd", "bases")
		if out, err := command("controlplane/kubectl", "apply", "--server-side", "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cluster.AwaitCRD(t, "clustercatalogs.olm.operatorframework.io")
	cluster.AwaitCRD(t, "clusterextensions.olm.operatorframework.io")
	cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "olmv1-system"}})

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
	neighbour.Program{Name: "catalogd", Env: env, Kubeconfig: kubeconfig}.Start(t, "--metrics-bind-address=", "--health-probe-bind-address="+testcluster.FreeAddress(t),
		"--system-namespace=olmv1-system", "--catalogs-server-addr="+content, "--external-address="+content, "--cache-dir="+t.TempDir(),
		"--tls-cert="+certificateFile, "--tls-key="+keyFile, "--webhook-server-port="+port)
	neighbour.Program{Name: "operator-controller", Env: env, Kubeconfig: kubeconfig}.Start(t, "--health-probe-bind-address="+testcluster.FreeAddress(t),
		"--system-namespace=olmv1-system", "--catalogd-cas-dir="+authorities, "--cache-path="+t.TempDir())
}

// extended is OLM v1 with a ClusterExtension.
type extended struct{ extension *unstructured.Unstructured }

func (e *extended) Install(t *testing.T, _ story.Op, version string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"source":{"catalog":{"version":%q}}}}`, version)
	if err := cluster.Rediscovered(t).Client.Patch(t.Context(), e.extension, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

func (e *extended) Report(t *testing.T, _ story.Op) string {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(e.extension), e.extension); err != nil {
		t.Fatal(err)
	}
	installed, _, _ := unstructured.NestedString(e.extension.Object, "status", "install", "bundle", "version") // none if not found
	wanted, _, _ := unstructured.NestedString(e.extension.Object, "spec", "source", "catalog", "version")      // it is set
	if installed == wanted {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(e.extension.Object, "status", "conditions") // none if not found
	return fmt.Sprint(conditions)
}

func (e *extended) Named() string { return "OLM v1" }

func (e *extended) Reference(o story.Op) holdv1alpha1.OperatorReference {
	return holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerOLMv1, Namespace: o.Namespace, Name: o.Name}
}

func (e *extended) Own(o *unstructured.Unstructured) bool { return o.GetKind() == "ClusterExtension" }

// CheckHeld verifies that operator-status reports beside operator-controller, and that each owns its own conditions.
func (e *extended) CheckHeld(t *testing.T) {
	t.Helper()
	e.awaitConditions(t, "Running=True/WorkloadsAvailable", "UpToDate=False/NewestDoesNotRun", "UpgradeHeld=True/ProbeNotUpgradeable",
		"Installed=True/Succeeded", "Progressing=True/Retrying")
	for _, owner := range e.extension.GetManagedFields() {
		if owner.Manager != "operator-status" || owner.Subresource != "status" {
			continue
		}
		var owned struct {
			Status struct {
				Conditions map[string]any `json:"f:conditions"`
			} `json:"f:status"`
		}
		if err := json.Unmarshal(owner.FieldsV1.GetRawBytes(), &owned); err != nil {
			t.Fatal(err)
		}
		want := []string{`k:{"type":"Running"}`, `k:{"type":"UpToDate"}`, `k:{"type":"UpgradeHeld"}`}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(owned.Status.Conditions))); diff != "" {
			t.Errorf("operator-status owns other conditions: -want +got\n%s", diff)
		}
		return
	}
	t.Error("operator-status owns no condition")
}

// awaitConditions waits for conditions of the ClusterExtension.
func (e *extended) awaitConditions(t *testing.T, want ...string) {
	t.Helper()
	var conditions []metav1.Condition
	cluster.Await(t, e.extension, func() string {
		conditions = nil
		raw, _, _ := unstructured.NestedSlice(e.extension.Object, "status", "conditions") // none if not found
		for _, entry := range raw {
			var c metav1.Condition
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(entry.(map[string]any), &c); err != nil {
				t.Fatal(err)
			}
			conditions = append(conditions, c)
		}
		return testcluster.Lacking(conditions, want...)
	})
	for _, c := range conditions {
		t.Logf("%s=%s (%s) %.120q", c.Type, c.Status, c.Reason, c.Message)
	}
}

// checkPolicy verifies that the manager can write no condition of operator-controller.
func (e *extended) checkPolicy(t *testing.T) {
	t.Helper()
	const manager = "system:serviceaccount:operator-status-system:operator-status-controller-manager"
	apply := func(user, condition string) error {
		o := builder.Object("olm.operatorframework.io/v1", "ClusterExtension", "", e.extension.GetName())
		o.Object["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": condition, "status": "Unknown", "reason": "Tested", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}}
		return as(user).Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("operator-status"), client.ForceOwnership)
	}
	for _, condition := range []string{"Running", "Installed", "Progressing"} {
		err := apply(manager, condition)
		if denied := err != nil && strings.Contains(err.Error(), "may write its own conditions only"); denied == (condition == "Running") || err != nil && !denied {
			t.Errorf("the manager writes %s: %v", condition, err)
		}
		if err := apply("operator-controller", condition); err != nil {
			t.Errorf("others write %s: %v", condition, err)
		}
	}
}
