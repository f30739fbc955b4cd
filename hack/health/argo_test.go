package health

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var argocd = filepath.Join("..", "..", "config", "argocd")

// TestArgoLayout runs the tests beside the scripts in config/argocd as Argo CD runs those of its own scripts, whose layout they
// have.
func TestArgoLayout(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(argocd, "*", "*", "health.lua"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts found in %s: %v", argocd, err)
	}
	for _, path := range scripts {
		dir := filepath.Dir(path)
		script, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var suite struct {
			Tests []struct {
				InputPath    string
				HealthStatus health.HealthStatus
			}
		}
		read(t, filepath.Join(dir, "health_test.yaml"), &suite)
		tested := map[string]bool{}
		for _, tc := range suite.Tests {
			tested[filepath.Join(dir, tc.InputPath)] = true
			t.Run(filepath.Join(filepath.Base(dir), tc.InputPath), func(t *testing.T) {
				o := &unstructured.Unstructured{}
				read(t, filepath.Join(dir, tc.InputPath), &o.Object)
				got, err := (lua.VM{UseOpenLibs: true}).ExecuteHealthLua(o, string(script))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&tc.HealthStatus, got); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		}
		inputs, err := filepath.Glob(filepath.Join(dir, "testdata", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, input := range inputs {
			if !tested[input] {
				t.Errorf("no test uses %s", input)
			}
		}
	}
}

// recorded are the objects in testdata that have the status of a case of the status tests.
var recorded = []struct {
	folder, version, kind string
	files                 map[string]string // cases by file
}{
	{"subscription", "operators.coreos.com/v1alpha1", "Subscription", map[string]string{
		"up_to_date.yaml": "NothingToHold", "held.yaml": "Held", "awaiting_approval.yaml": "ManualFirstInstall", "installing.yaml": "Installing",
		"installed_csv_failed.yaml": "Failed", "install_plan_failed.yaml": "PlanFailed", "install_plan_forbidden.yaml": "PlanForbidden",
		"catalog_source_not_found.yaml": "NoSourceAtAll",
	}},
	{"installplan", "operators.coreos.com/v1alpha1", "InstallPlan", map[string]string{
		"complete.yaml": "Complete", "held.yaml": "Held", "awaiting_approval.yaml": "Manual", "resolved.yaml": "Resolved", "failed.yaml": "RefusedHalfway",
		"unresolved.yaml": "Unresolved", "installing.yaml": "NeverHeld",
	}},
	{"csv", "operators.coreos.com/v1alpha1", "ClusterServiceVersion", map[string]string{
		"succeeded.yaml": "Succeeded", "replacing.yaml": "Replacing", "deleting.yaml": "Deleting", "installing.yaml": "Installing", "failed.yaml": "FailedBefore",
	}},
	{"probe", "operators.coreos.com/v1alpha1", "Probe", map[string]string{
		"no_resources.yaml": "NoResources", "not_upgradeable.yaml": "OneBlocks", "not_served.yaml": "AbsentDoesNotBlock", "reading.yaml": "NotReadYet",
		"no_identity.yaml": "OneOfTwoUnreadable", "important.yaml": "UnreadableConditions",
	}},
	{"platformoperator", "platform.openshift.io/v1alpha1", "PlatformOperator", map[string]string{
		"ready.yaml": "OLM/UpToDate", "update_held.yaml": "Update/Held", "installing.yaml": "Install/PlanRunning",
		"package_not_found.yaml": "Install/PackageNotFound", "important.yaml": "Run/Probe",
	}},
	{"clusteroperator", "config.openshift.io/v1", "ClusterOperator", map[string]string{
		"available.yaml": "a_short_trouble/first/many", "progressing.yaml": "pending/first/many", "degraded.yaml": "bundle_cannot_be_unpacked/first/one",
	}},
}

// TestArgoTestdata verifies that those objects are current. UPDATE_GOLDEN=1 writes them.
func TestArgoTestdata(t *testing.T) {
	for _, tc := range recorded {
		var statuses map[string]map[string]any
		read(t, filepath.Join("..", "..", "internal", "status", tc.folder, "testdata", "TestCompute.yaml"), &statuses)
		for file, of := range tc.files {
			t.Run(tc.kind+"/"+file, func(t *testing.T) {
				if statuses[of] == nil {
					t.Fatalf("the golden file has no case %s", of)
				}
				want := &unstructured.Unstructured{Object: map[string]any{"status": statuses[of]}}
				want.SetAPIVersion(tc.version)
				want.SetKind(tc.kind)
				want.SetName("foo")
				if tc.version == "operators.coreos.com/v1alpha1" {
					want.SetNamespace("default")
				}
				path := filepath.Join(argocd, want.GroupVersionKind().Group, tc.kind, "testdata", file)
				if os.Getenv("UPDATE_GOLDEN") != "" {
					write(t, path, want.Object)
				}
				got := map[string]any{}
				read(t, path, &got)
				if diff := cmp.Diff(want.Object, got); diff != "" {
					t.Errorf("the test data is out of date: UPDATE_GOLDEN=1 updates it (-want +got)\n%s", diff)
				}
			})
		}
	}
}

func read(t *testing.T, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func write(t *testing.T, path string, content any) {
	t.Helper()
	data, err := yaml.Marshal(content)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
