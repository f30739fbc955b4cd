package installers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestOLMv1 tells the story of a ClusterExtension, which a ProbePolicy holds.
func TestOLMv1(t *testing.T) {
	if _, err := os.Stat(neighbour.Program{Name: "operator-controller"}.Path()); err != nil {
		t.Skip("skipped: make e2e-installers builds operator-controller: ", err)
	}
	installConditions(t)
	o := story.New(t, cluster, kubeconfig, "extended")
	o.ByPolicy = true
	registry := neighbour.StartOLMv1(t, cluster, kubeconfig)
	e := &extended{neighbour.Extend(t, cluster, registry, o)}
	story.Tell(t, e, o)
	e.awaitConditions(t, "Running=True/WorkloadsAvailable", "UpToDate=True/NewestRuns", "UpgradeHeld=False/NotHeld", "Installed=True/Succeeded",
		"Progressing=True/Succeeded")
	e.checkPolicy(t)
	e.checkNotFound(t, o)
	checkCondition(t, registry)
}

// checkNotFound verifies that the command line names the error of a ClusterExtension that OLM v1 cannot install.
func (e *extended) checkNotFound(t *testing.T, o story.Op) {
	t.Helper()
	missing := builder.Object("olm.operatorframework.io/v1", "ClusterExtension", "", o.Name+"-missing")
	spec, _, _ := unstructured.NestedMap(e.extension.Object, "spec") // it has one
	missing.Object["spec"] = spec
	if err := unstructured.SetNestedField(spec, missing.GetName(), "source", "catalog", "packageName"); err != nil {
		t.Fatal(err)
	}
	cluster.Create(t, missing)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), missing); err != nil {
			t.Error(err)
		}
	})
	why := func(args ...string) string {
		cmd := command("kubectl-operator_status", append([]string{"why", missing.GetName(), "-n", o.Namespace}, args...)...)
		out, _ := cmd.CombinedOutput() // the exit code is below
		if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(out), "Broken by ClusterExtension "+missing.GetName()) ||
			!strings.Contains(string(out), "no bundles found for package") {
			return fmt.Sprintf("why exits with %d: %s", code, out)
		}
		return ""
	}
	cluster.Await(t, missing, func() string { return why() })
	file := filepath.Join(t.TempDir(), "cluster.tar.gz")
	if out, err := command("kubectl-operator_status", "gather", "--output="+file).CombinedOutput(); err != nil {
		t.Fatalf("gather: %v\n%s", err, out)
	}
	if problem := why("--from=" + file); problem != "" {
		t.Errorf("of an archive, %s", problem)
	}
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
