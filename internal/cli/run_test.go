package cli

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
)

// manifests are an operator that is up to date, one whose update waits for approval, and one without its catalog.
const manifests = `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {namespace: default, name: fine}
spec: {name: fine, source: catalog, sourceNamespace: olm}
status:
  currentCSV: fine.v1
  installedCSV: fine.v1
  conditions: [{type: UpToDate, status: "True", reason: NewestRuns, message: fine.v1 is the newest}]
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: default, name: fine.v1}
status: {phase: Succeeded}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Probe
metadata: {namespace: default, name: fine.v1}
status:
  conditions:
  - {type: Upgradeable, status: "True", reason: Upgradeable}
  - {type: Important, status: "True", reason: ConditionsTrue, message: "Fine default/example: CertificateExpires is True"}
---
apiVersion: operators.coreos.com/v2
kind: OperatorCondition
metadata: {namespace: default, name: fine.v1}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {namespace: default, name: held}
spec: {name: held, source: catalog, sourceNamespace: olm, installPlanApproval: Manual}
status:
  state: UpgradePending
  currentCSV: held.v2
  installedCSV: held.v1
  installPlanRef: {namespace: default, name: install-1}
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {namespace: default, name: install-1}
spec: {approval: Manual, approved: false, clusterServiceVersionNames: [held.v2]}
status: {phase: RequiresApproval, catalogSources: []}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: default, name: held.v1}
status: {phase: Succeeded}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {namespace: other, name: lost}
spec: {name: lost, source: gone, sourceNamespace: olm}
status:
  conditions: [{type: CatalogSourceInvalid, status: "True", reason: CatalogSourceNotFound, message: CatalogSource olm/gone not found}]
---
apiVersion: platform.openshift.io/v1alpha1
kind: PlatformOperator
metadata: {name: composer}
spec: {package: {name: lost}}
status:
  resources: [{reference: {kind: Subscription, namespace: other, name: lost}}]
---
apiVersion: platform.openshift.io/v1alpha1
kind: PlatformOperator
metadata: {name: new}
spec: {package: {name: package}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {namespace: olm, name: catalog}
status: {connectionState: {lastObservedState: READY}}
`

// archived returns an archive with the manifests.
func archived(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "manifests.yaml"), []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// run runs the command line on the manifests.
func run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	folder := archived(t)
	t.Setenv("KUBECONFIG", os.DevNull)
	var out bytes.Buffer
	args = append([]string{args[0], "--from=" + folder}, args[1:]...)
	if args[0] == "__complete" {
		args = append([]string{"__complete", args[2], args[1]}, args[3:]...)
	}
	code := Run(args, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	return out.String(), code
}

func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		words  string
	}{
		"Clear":  {"Nothing blocks it.", []string{"why", "fine"}, 0, "fine.v1 is running"},
		"Notice": {"An important condition is no blocker.", []string{"why", "fine"}, 0, "Notice by Probe default/fine.v1"},
		"Held":   {"An update is held.", []string{"why", "held"}, 2, "(RequiresApproval)"},
		"Broken": {"Something is broken.", []string{"why", "lost"}, 3, "(CatalogSourceNotFound)"},
		"Composed": {"A PlatformOperator is in no namespace, and found whatever the kubeconfig's is.", []string{"why", "composer", "--namespace=default"}, 3,
			"other/lost"},
		"OtherFile": {"Its steps are for the cluster that was asked about.", []string{"why", "lost", "--kubeconfig=" + os.DevNull}, 3, " --kubeconfig=/dev/null\n"},
		"NotFound":  {"The command fails.", []string{"why", "none"}, 1, "error: "},
		"NoName":    {"Its usage is wrong.", []string{"why"}, 1, "error: accepts 1 arg(s), received 0"},
		"Unknown":   {"There is no such command.", []string{"whatever"}, 1, "error: unknown command"},
		"Get":       {"Listing is no judgement.", []string{"get"}, 0, "lost"},
		"Check":     {"The worst of all operators counts.", []string{"check"}, 3, "Updates are blocked: 1 broken, 1 held, 1 clear"},
		"CheckOne":  {"The worst of those that are named counts.", []string{"check", "fine", "held"}, 2, "Updates are blocked: 1 held, 1 clear"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, code := run(t, tc.args...)
			if code != tc.code || !strings.Contains(out, tc.words) {
				t.Errorf("%s\nexit code %d, want %d; the output should contain %q:\n%s", tc.reason, code, tc.code, tc.words, out)
			}
			if strings.Contains(out, "\x1b") {
				t.Errorf("without a terminal, the output has colors: %q", out)
			}
		})
	}
}

// TestNamespaceComposed verifies for which operators that do not exist one can wait, and where.
func TestNamespaceComposed(t *testing.T) {
	o := &options{from: []string{archived(t)}, installers: installer.Installers{olmv0.Installer{}}, flags: genericclioptions.NewConfigFlags(true)}
	for name, tc := range map[string]struct {
		reason string
		want   string
	}{
		"new":     {"A PlatformOperator has its name.", "new"},
		"package": {"The package of a PlatformOperator has its name.", "new"},
		"none":    {"Nothing has its name.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, _, err := o.operatorsOf(t.Context(), []string{name}, o.installers.Operators)
			if !errors.As(err, &notFoundError{}) {
				t.Fatal(err)
			}
			if got := namespaceComposed(cluster, name); got != tc.want {
				t.Errorf("%s It is composed in %q.", tc.reason, got)
			}
		})
	}
}

// TestIncompleteArchive verifies that kinds missing from an archive are unknown, unless gather wrote it and could read them.
func TestIncompleteArchive(t *testing.T) {
	const subscription = `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {namespace: default, name: foo}
spec: {name: foo, source: catalog, sourceNamespace: olm}
status: {state: UpgradePending, currentCSV: foo.v2, installedCSV: foo.v1}
`
	cases := map[string]struct {
		reason  string
		command string
		files   map[string]string
		code    int
		words   string
	}{
		"Folder": {"Whoever wrote it may have left out the rest.", "why", nil, 1,
			"blocks it without its ClusterServiceVersions, InstallPlans, OperatorConditions, CatalogSources"},
		"GatherWithoutDeployments": {"They are not shown.", "tree", map[string]string{"notes.txt": "you may not list deployments.apps\n"}, 0,
			"Warning: the archive lacks some or all Deployments; "},
		"Gather": {"It has written all that there was.", "why", map[string]string{"notes.txt": "\n"}, 3, "(CatalogSourceNotFound)"},
		"GatherWithoutRights": {"It says what it could not read.", "why", map[string]string{
			"notes.txt": "you may not list catalogsources.operators.coreos.com\nyou may not list clusterserviceversions.operators.coreos.com\n",
		}, 1, "blocks it without its ClusterServiceVersions, CatalogSources"},
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			files := map[string]string{"foo.yaml": subscription}
			maps.Copy(files, tc.files)
			for file, content := range files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			code := Run([]string{tc.command, "foo", "--from=" + folder}, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
			if code != tc.code || !strings.Contains(out.String(), tc.words) {
				t.Errorf("%s\nexit code %d, want %d and %q:\n%s", tc.reason, code, tc.code, tc.words, out.String())
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	const noFiles = ":4\n"
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"One":       {"The first argument is an operator.", []string{"__complete", "why", ""}, "fine\nheld\nlost\n" + noFiles},
		"OnlyOne":   {"There is no second one.", []string{"__complete", "why", "fine", ""}, noFiles},
		"Namespace": {"Only operators of the namespace are suggested.", []string{"__complete", "tree", "--namespace=other", ""}, "lost\n" + noFiles},
		"Several":   {"Of several, those that are given are not suggested again.", []string{"__complete", "check", "fine", ""}, "held\nlost\n" + noFiles},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, code := run(t, tc.args...)
			if got, _, _ := strings.Cut(out, "Completion ended"); code != 0 || got != tc.want {
				t.Errorf("%s\nexit code %d, got %q, want %q", tc.reason, code, got, tc.want)
			}
		})
	}
	for _, name := range []string{"approve", "hold", "release", "wait", "get"} {
		if out, _ := run(t, "__complete", name, ""); !strings.Contains(out, "fine\nheld\nlost\n") {
			t.Errorf("%s suggests %q", name, out)
		}
	}
	if script, code := run(t, "completion", "bash"); code != 0 || !strings.Contains(script, "__start_kubectl-operator_status kubectl-operator_status\n") {
		t.Errorf("the script, for something else: %.500s", script)
	}
}

// TestCheckDamagedArchive verifies that a check of all operators does not say that nothing blocks them if an archive may have had another
// operator.
func TestCheckDamagedArchive(t *testing.T) {
	var fine []string
	for part := range strings.SplitSeq(manifests, "---\n") {
		if !strings.Contains(part, "held") && !strings.Contains(part, "lost") && !strings.Contains(part, "composer") {
			fine = append(fine, part)
		}
	}
	const damaged = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {namespace: default, name: other}\nspec: [1]\n"
	for name, tc := range map[string]struct {
		reason string
		more   string
		args   []string
		code   int
		words  string
	}{
		"Whole":   {"All operators are in it.", "", []string{"check"}, 0, "No update is blocked: 1 clear"},
		"Damaged": {"The other one may be blocked.", damaged, []string{"check"}, 1, "Cannot tell whether updates are blocked"},
		"Named":   {"The other one does not matter.", damaged, []string{"check", "fine"}, 0, "No update is blocked: 1 clear"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", os.DevNull)
			folder := t.TempDir()
			for file, content := range map[string]string{"fine.yaml": strings.Join(fine, "---\n"), "more.yaml": tc.more, "notes.txt": "\n"} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			code := Run(append(tc.args, "--from="+folder), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
			if code != tc.code || !strings.Contains(out.String(), tc.words) {
				t.Errorf("%s\nexit code %d, want %d and %q:\n%s", tc.reason, code, tc.code, tc.words, out.String())
			}
		})
	}
}
