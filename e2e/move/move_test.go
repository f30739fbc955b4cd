// Package move hands a cluster over from a real OLM to the built-in loops, and back, by the commands of
// docs/migrating-from-olm.md.
package move

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	olmcrds "github.com/operator-framework/api/crds"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	cluster    *testcluster.Cluster
	clusterDir string
)

func TestMain(m *testing.M) {
	os.Exit(testcluster.OnDevcluster(m, "default", func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }, "--olm"))
}

// TestMove verifies that an operator that OLM installed keeps running while the built-in loops take over from OLM, that they
// update it, and that OLM does so again after it has taken over from them.
func TestMove(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "docs", "migrating-from-olm.md"))
	if err != nil {
		t.Fatal(err)
	}
	to, back := commands(t, string(text), "To the built-in loops"), commands(t, string(text), "Back to OLM")

	m := cluster.StartManager(t)
	s := newStage(t, "1.0.0")
	s.awaitRunning(t, "1.0.0")
	before := s.deployment(t)
	example := s.createExample(t)

	stopOLM(t)
	run(t, to)
	m.Terminate(t)
	catalogs := "--catalog-dir=" + t.TempDir()
	m = cluster.StartManager(t, catalogs)
	s.awaitInherited(t, "1.0.0")
	s.checkSameDeployment(t, before)
	s.checkWebhook(t, "1.0.0")
	s.offer(t, "1.0.0", "1.1.0")
	s.awaitRunning(t, "1.1.0")
	s.checkWebhook(t, "1.1.0")

	m.Terminate(t)
	run(t, back)
	startOLM(t)
	cluster.StartManager(t, catalogs)
	s.offer(t, "1.0.0", "1.1.0", "1.2.0")
	s.awaitRunning(t, "1.2.0")
	s.checkWebhook(t, "1.2.0")
	if now := s.deployment(t); now.UID != before.UID {
		t.Errorf("the Deployment was recreated")
	}
	uid := example.UID
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(example), example); err != nil || example.UID != uid {
		t.Errorf("the custom resource was deleted or recreated: %v", err)
	}
}

// commands returns the commands in a section of the document.
func commands(t *testing.T, text, section string) string {
	t.Helper()
	_, text, found := strings.Cut(text, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var out strings.Builder
	for _, block := range block.FindAllStringSubmatch(text, -1) {
		out.WriteString(block[1])
	}
	if !found || out.Len() == 0 {
		t.Fatalf("docs/migrating-from-olm.md has no commands in section %q", section)
	}
	return out.String()
}

var block = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

func run(t *testing.T, script string) {
	t.Helper()
	bin := filepath.Join(testcluster.Root(), "bin", "controlplane")
	bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script) // the commands of the document
	bash.Dir = testcluster.Root()
	bash.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(clusterDir, "kubeconfig"), "PATH="+bin+":"+os.Getenv("PATH"))
	if output, err := bash.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// stopOLM ends OLM, which devcluster runs in processes rather than in the Deployments that the commands delete.
func stopOLM(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(clusterDir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Processes []struct {
			Name string `json:"name"`
			Pid  int    `json:"pid"`
		} `json:"processes"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	stopped := 0
	for _, p := range state.Processes {
		if slices.Contains(programs, p.Name) {
			if err := syscall.Kill(p.Pid, syscall.SIGKILL); err != nil {
				t.Fatalf("ending %s: %v", p.Name, err)
			}
			stopped++
		}
	}
	if stopped != len(programs) {
		t.Fatalf("stopped %d of the processes %v listed in %s", stopped, programs, text)
	}
}

// programs are OLM's.
var programs = []string{"olm", "catalog"}

// startOLM installs OLM's CustomResourceDefinitions as its release has them, and starts it again until the test ends.
func startOLM(t *testing.T) {
	t.Helper()
	var definitions strings.Builder
	for _, name := range olmcrds.AssetNames() {
		if filepath.Ext(name) == ".yaml" {
			definitions.WriteString("---\n" + string(olmcrds.MustAsset(name)))
		}
	}
	file := filepath.Join(t.TempDir(), "crds.yaml")
	if err := os.WriteFile(file, []byte(definitions.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "kubectl apply --server-side --force-conflicts -f "+file+`
kubectl wait --for=condition=Established crd/olmconfigs.operators.coreos.com
kubectl apply -f - <<'EOF'
apiVersion: operators.coreos.com/v1
kind: OLMConfig
metadata: {name: cluster}
spec: {features: {disableCopiedCSVs: true}}
EOF
`)
	kubeconfig := filepath.Join(clusterDir, "olm.kubeconfig")
	for _, program := range programs {
		log, err := os.Create(filepath.Join(t.TempDir(), program+".log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(testcluster.Root(), "bin", "controlplane", program), "--namespace=olm") // OLM's
		cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "OPERATOR_NAMESPACE=olm", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		if program == "catalog" {
			cmd.Args = append(cmd.Args, "--kubeconfig="+kubeconfig)
		}
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()         // with an error, since it was killed
			if t.Failed() {
				text, _ := os.ReadFile(log.Name()) // only to explain the failure
				t.Logf("the log of OLM's %s ends with:\n%s", program, text[max(0, len(text)-4000):])
			}
		})
	}
}

// stage is a namespace with an operator from a catalog in the global namespace.
type stage struct {
	namespace, folder string
	sub               *v1alpha1.Subscription
}

const (
	name        = "mover"
	global      = "olm"
	webhookName = "validate.mover.example.com"
)

func newStage(t *testing.T, versions ...string) *stage {
	t.Helper()
	s := &stage{namespace: cluster.Namespace(t, name), folder: filepath.Join(t.TempDir(), "catalog")}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "group"}}
	group.Spec.TargetNamespaces = []string{s.namespace}
	s.sub = &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	s.sub.Spec = &olm.SubscriptionSpec{Package: name, Channel: "stable", CatalogSource: name, CatalogSourceNamespace: global}
	s.offer(t, versions...)
	cluster.Create(t, group, s.sub)
	t.Cleanup(func() {
		if err := testcluster.Devcluster(t.Context(), "catalog", "--dir="+clusterDir, "--stop", name); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return s
}

// offer replaces the versions in the catalog. Each but the first replaces the one before it.
func (s *stage) offer(t *testing.T, versions ...string) {
	t.Helper()
	foos := testcatalog.Holding(name, versions...)
	for i := range foos {
		foos[i].Change = addWebhook
	}
	if err := testcatalog.Write(s.folder, testcatalog.Published(t, foos...)); err != nil {
		t.Fatal(err)
	}
	cluster.ServeCatalog(t, clusterDir, client.ObjectKey{Namespace: global, Name: name}, s.folder)
}

// addWebhook adds a webhook to a bundle, which no pod serves: it is ignored.
func addWebhook(csv, _ *unstructured.Unstructured) {
	webhook := map[string]any{
		"type": "ValidatingAdmissionWebhook", "generateName": webhookName, "deploymentName": name + "-operator", "webhookPath": "/validate",
		"containerPort": int64(9443), "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
		"rules": []any{map[string]any{
			"apiGroups": []any{name + ".example.com"}, "apiVersions": []any{"v1"}, "resources": []any{name + "s"}, "operations": []any{"CREATE"},
		}},
	}
	csv.Object["spec"].(map[string]any)["webhookdefinitions"] = []any{webhook}
}

func csvOf(version string) string { return testcatalog.Foo{Name: name, Version: version}.CSV() }

// awaitRunning waits until a version runs, its predecessor is deleted, and the Subscription is up to date.
func (s *stage) awaitRunning(t *testing.T, version string) {
	t.Helper()
	cluster.Await(t, s.sub, func() string {
		csvs := &v1alpha1.ClusterServiceVersionList{}
		if err := cluster.Client.List(t.Context(), csvs, client.InNamespace(s.namespace)); err != nil {
			return err.Error()
		}
		upToDate := s.sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate)
		if len(csvs.Items) != 1 || csvs.Items[0].Name != csvOf(version) || csvs.Items[0].Status.Phase != olm.CSVPhaseSucceeded ||
			upToDate.Status != "True" || !strings.HasPrefix(upToDate.Message, csvOf(version)) {
			out := fmt.Sprintf("UpToDate is %s: %s; ClusterServiceVersions:", upToDate.Status, upToDate.Message)
			for _, csv := range csvs.Items {
				out += fmt.Sprintf(" %s %s (%s: %s)", csv.Name, csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
			}
			return out
		}
		return ""
	})
}

// awaitInherited waits until the loops report that they have not granted a version its webhook.
func (s *stage) awaitInherited(t *testing.T, version string) {
	t.Helper()
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csvOf(version)}}
	cluster.Await(t, csv, func() string {
		if csv.Status.Phase != olm.CSVPhasePending || !strings.Contains(csv.Status.Message, "stay until its next version is installed") {
			return fmt.Sprintf("it is %s: %s", csv.Status.Phase, csv.Status.Message)
		}
		return ""
	})
}

// checkWebhook waits until the API server calls the webhook of the operator once.
func (s *stage) checkWebhook(t *testing.T, version string) {
	t.Helper()
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csvOf(version)}}
	cluster.Await(t, csv, func() string { // the objects of the version before go after it
		list := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
		if err := cluster.Client.List(t.Context(), list); err != nil {
			return err.Error()
		}
		var found []string
		for _, configuration := range list.Items {
			for _, webhook := range configuration.Webhooks {
				if webhook.Name == webhookName {
					found = append(found, configuration.Name)
				}
			}
		}
		if len(found) != 1 {
			return fmt.Sprintf("the webhook is in the configurations %q, want one", found)
		}
		return ""
	})
}

func (s *stage) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	out := &appsv1.Deployment{}
	if err := cluster.Client.Get(t.Context(), types.NamespacedName{Namespace: s.namespace, Name: name + "-operator"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkSameDeployment verifies that the Deployment of the operator is unchanged, so its pods keep running.
func (s *stage) checkSameDeployment(t *testing.T, before *appsv1.Deployment) {
	t.Helper()
	now := s.deployment(t)
	if diff := cmp.Diff(before.Spec, now.Spec); diff != "" || now.UID != before.UID {
		t.Errorf("the Deployment has changed from %s to %s: -before +after\n%s", before.UID, now.UID, diff)
	}
}

// createExample creates a custom resource of the operator.
func (s *stage) createExample(t *testing.T) *metav1.PartialObjectMetadata {
	t.Helper()
	_, group, _ := strings.Cut(testcatalog.Foo{Name: name}.CRD(), ".")
	kind := strings.ToUpper(name[:1]) + name[1:]
	cluster.Rediscovered(t).Apply(t, s.namespace, fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: example}\n", group, kind))
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "example"}}
	out.APIVersion, out.Kind = group+"/v1", kind
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(out), out); err != nil {
		t.Fatal(err)
	}
	return out
}
