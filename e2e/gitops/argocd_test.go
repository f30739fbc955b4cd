package gitops

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// application returns the Application of docs/gitops.md with another name, for a repository and a namespace. changes are old and new texts.
func application(t *testing.T, name string, r repository, namespace string, changes ...string) string {
	t.Helper()
	return strings.NewReplacer(append([]string{
		"name: operators", "name: " + name, "https://git.example.com/operators.git", "file://" + r.folder, "namespace: operators", "namespace: " + namespace,
		"{duration: 10s, maxDuration: 5m}", "{duration: 1s, maxDuration: 5s}",
	}, changes...)...).Replace(documented(t, "Application"))
}

// documented returns the manifests of docs/gitops.md that begin with one of a kind.
func documented(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "docs", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		if lines := strings.Split(paragraph, "\n"); len(lines) > 1 && lines[1] == "    kind: "+kind {
			return strings.ReplaceAll("\n"+paragraph+"\n", "\n    ", "\n")
		}
	}
	t.Fatalf("docs/gitops.md has no %s", kind)
	return ""
}

// platform is an operator of a PlatformOperator, with its Probe in a later wave.
const platform = `---
apiVersion: operators.coreos.com/v1alpha1
kind: Probe
metadata: {name: composed-operator.v1.0.0, namespace: composed, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec:
  probeResources: [{name: composeds.composed.example.com, upgradeable: "!Migrating"}]
---
apiVersion: platform.openshift.io/v1alpha1
kind: PlatformOperator
metadata: {name: composed}
spec: {package: {name: composed}}
`

// soak is how long the statuses change while Argo CD watches: 200 times at least.
var soak = flag.Duration("soak", 0, "how long statuses change while Argo CD watches, 200 times at least")

// argo is the running Argo CD with one Application.
type argo struct {
	server string // address of its API
	app    *unstructured.Unstructured
}

// newArgo configures the Argo CD of the devcluster with the health checks of config/argocd.
func newArgo(t *testing.T) argo {
	t.Helper()
	kubectl(t, "apply", "--server-side", "--field-manager=operator-status", "-k", filepath.Join(testcluster.Root(), "config", "argocd"))
	address, err := os.ReadFile(filepath.Join(clusterDir, "argocd", "address"))
	if err != nil {
		t.Fatal(err)
	}
	out := argo{server: strings.TrimSpace(string(address)), app: &unstructured.Unstructured{}}
	out.app.SetAPIVersion("argoproj.io/v1alpha1")
	out.app.SetKind("Application")
	out.app.SetNamespace("argocd")
	out.app.SetName("operators")
	return out
}

// drift returns the output of `argocd app diff` if the cluster differs from Git, or empty.
func (a argo) drift(t *testing.T) string {
	t.Helper()
	command := exec.Command(filepath.Join(testcluster.Root(), "bin", "controlplane", "argocd"),
		"app", "diff", "operators", "--server="+a.server, "--plaintext", "--server-side-diff", "--refresh")
	command.Env = append(os.Environ(), "ARGOCD_BINARY_NAME=argocd", "HOME="+t.TempDir())
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v\n%s", err, out)
	}
	return ""
}

// sync creates the Application.
func (a argo) sync(t *testing.T, r repository, namespace string) {
	t.Helper()
	cluster.Rediscovered(t).Apply(t, "argocd", application(t, "operators", r, namespace))
}

// await waits until the Application has those statuses.
func (a argo) await(t *testing.T, sync, health string) {
	t.Helper()
	cluster.Await(t, a.app, func() string {
		if got, want := a.field("sync", "status")+" "+a.field("health", "status"), sync+" "+health; got != want {
			return "want " + want + ", got " + got
		}
		return ""
	})
}

// field returns a field of the status of the Application.
func (a argo) field(path ...string) string {
	out, _, _ := unstructured.NestedString(a.app.Object, append([]string{"status"}, path...)...) // empty if not found
	return out
}

// refresh has Argo CD read Git and the cluster anew.
func (a argo) refresh(t *testing.T) {
	t.Helper()
	const annotation = "argocd.argoproj.io/refresh"
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"hard"}}}`, annotation)
	if err := cluster.Client.Patch(t.Context(), a.app, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, a.app, func() string {
		if a.app.GetAnnotations()[annotation] != "" {
			return "the Application is being refreshed"
		}
		return ""
	})
}

// health returns the health and message of an object of the Application.
func (a argo) health(kind string) (string, string) {
	resources, _, _ := unstructured.NestedSlice(a.app.Object, "status", "resources") // none if not found
	for _, r := range resources {
		resource := r.(map[string]any)
		if health, ok := resource["health"].(map[string]any); ok && resource["kind"] == kind {
			message, _ := health["message"].(string) // empty if not set
			return health["status"].(string), message
		}
	}
	return "", ""
}

// node is an object of the resource tree.
type node struct {
	Kind, Name string
	ParentRefs []struct{ Kind, Name string }
}

// tree returns the resource tree of the Application.
func (a argo) tree(t *testing.T) []node {
	t.Helper()
	response, err := http.Get("http://" + a.server + "/api/v1/applications/operators/resource-tree")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // read as a whole
	var out struct{ Nodes []node }
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Nodes
}

// TestArgoCD verifies that Argo CD neither finds drift nor syncs anything again because of the writes of operator-status,
// that its next wave waits until an operator runs but not while an update of it is held, and that its tree shows the
// objects of a PlatformOperator. The Application and its content are those of docs/gitops.md.
func TestArgoCD(t *testing.T) {
	versions := testcatalog.Holding("synced", "1.0.0", "2.0.0")
	composed := testcatalog.Published(t, testcatalog.Foo{Name: "composed", Version: "1.0.0"})
	namespace := cluster.Namespace(t, "gitops")
	catalog := client.ObjectKey{Namespace: global, Name: namespace}
	cluster.Offer(t, catalog, testcatalog.Published(t, versions[0]), composed)
	git := newRepository(t)
	git.commit(t, "operators.yaml", strings.NewReplacer("[operators]", "["+namespace+"]", "source: catalog", "source: "+catalog.Name,
		"foo", "synced", "Foo", "Synced").Replace(documented(t, "OperatorGroup"))+platform)
	a := newArgo(t)
	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "synced.example.com/v1", "kind": "Synced"}}
	custom.SetNamespace(namespace)
	custom.SetName("example")

	// Before the loops run, the custom resource waits for its operator.
	a.sync(t, git, namespace)
	a.await(t, "OutOfSync", "Progressing")
	cluster.Await(t, a.app, func() string {
		if message := a.field("operationState", "message"); !strings.Contains(message, "waiting for healthy state") {
			return "the sync does not wait for a healthy state: " + message
		}
		return ""
	})
	cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--default-catalog="+catalog.String())
	a.await(t, "Synced", "Healthy")
	cluster.Await(t, custom, func() string { return "" })
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "synced"}}
	cluster.Await(t, sub, func() string {
		if !sub.Status.UpToDate {
			return "it is not up to date"
		}
		return ""
	})

	t.Run("Tree", func(t *testing.T) {
		tree := a.tree(t)
		for kind, parent := range map[string]string{"Subscription": "PlatformOperator", "InstallPlan": "Subscription"} {
			found := false
			for _, n := range tree {
				found = found || n.Kind == kind && len(n.ParentRefs) > 0 && n.ParentRefs[0].Kind == parent
			}
			if !found {
				t.Errorf("the resource tree has no %s below a %s:\n%+v", kind, parent, tree)
			}
		}
		for _, n := range tree {
			if n.Kind == "Subscription" && n.Name == "composed" {
				o := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "composed", Name: "composed"}}
				cluster.Await(t, o, func() string { return "" })
				if id := o.Annotations["argocd.argoproj.io/tracking-id"]; id != "" {
					t.Errorf("the composed Subscription has Argo CD's tracking ID %s", id)
				}
			}
		}
	})

	began := a.field("operationState", "startedAt")
	t.Run("NoDrift", func(t *testing.T) {
		probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: versions[0].CSV()}}
		change := func(is bool) {
			setMigrating(t, custom, is)
			cluster.Await(t, probe, func() string {
				if meta.IsStatusConditionFalse(probe.Status.Conditions, v1alpha1.ConditionUpgradeable) != is {
					return "it does not report the last change"
				}
				return ""
			})
		}
		changes := 0
		for end := time.Now().Add(*soak); changes < 200 || time.Now().Before(end); changes++ {
			change(changes%2 == 0)
		}
		change(true)
		t.Logf("the condition changed %d times", changes)
		cluster.Offer(t, catalog, testcatalog.Published(t, versions...), composed)
		cluster.Await(t, a.app, func() string {
			if health, message := a.health("Subscription"); health != "Healthy" || !strings.Contains(message, "held") {
				return fmt.Sprintf("the Subscription is %s: %s", health, message)
			}
			return ""
		})
		a.refresh(t)
		a.await(t, "Synced", "Healthy")
		if again := a.field("operationState", "startedAt"); again != began {
			t.Errorf("the Application was synced again, at %s after %s", again, began)
		}
		if drift := a.drift(t); drift != "" {
			t.Errorf("argocd app diff: %s", drift)
		}
	})

	// Another client's change is drift, so the test above can fail.
	if err := cluster.Client.Patch(t.Context(), sub, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"channel":"other"}}`))); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, sub, func() string {
		if sub.Spec.Channel != "stable" {
			return "the changed object was not restored"
		}
		return ""
	})
	cluster.Await(t, a.app, func() string {
		if a.field("operationState", "startedAt") == began {
			return "the Application was not synced again"
		}
		return ""
	})
}

// setMigrating sets the condition Migrating of a custom resource.
func setMigrating(t *testing.T, o *unstructured.Unstructured, is bool) {
	t.Helper()
	condition := "Migrating=False"
	if is {
		condition = "Migrating=True"
	}
	patch := fmt.Appendf(nil, `{"status":%s}`, builder.Conditions(condition))
	if err := cluster.Client.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}
