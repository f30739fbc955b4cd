package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/operator-status/operator-status/internal/inventory"
	"github.com/operator-status/operator-status/internal/test/golden"
)

var now = time.Unix(100000, 0)

// operators are one of each: healthy, held, broken, and without a Subscription.
func operators() []inventory.Operator {
	return []inventory.Operator{
		{
			Namespace: "apps", Name: "bar", Package: "bar", Channel: "stable", Catalog: "olm/catalog",
			State: inventory.Running, CSV: "bar.v2.0.0", Version: "2.0.0", UpToDate: metav1.ConditionTrue,
		},
		{
			Namespace: "default", Name: "foo", Package: "foo", Channel: "stable", Catalog: "olm/catalog", PlatformOperator: "foos",
			State: inventory.Running, CSV: "foo.v1.0.0", Version: "1.0.0", UpToDate: metav1.ConditionFalse, Update: "foo.v1.1.0",
			Blockers: []inventory.Blocker{{
				Impact: inventory.Held, By: "Probe default/foo.v1.0.0", Reason: "ProbeNotUpgradeable", Since: metav1.NewTime(now.Add(-90 * time.Minute)),
				Cause: "The update to foo.v1.1.0 is held: Probe default/foo.v1.0.0 reports Upgradeable=False: Waiting for Foo apps/example: Migrating is True",
				Steps: []inventory.Step{
					{To: "To see what it waits for", Command: "kubectl get foos.example.com -n apps example -o yaml"},
					{To: "To update anyway", Command: "kubectl annotate subscription -n default foo operatorstatus.io/allow-upgrade=foo.v1.1.0"},
				},
			}},
		},
		{
			Namespace: "default", Name: "lost", Package: "lost", Channel: "stable", Catalog: "olm/gone",
			State: inventory.NotInstalled, UpToDate: metav1.ConditionFalse,
			Blockers: []inventory.Blocker{
				{
					Impact: inventory.Broken, By: "CatalogSource olm/gone", Reason: "CatalogSourceNotFound", Cause: "There is no CatalogSource olm/gone.",
					Steps: []inventory.Step{{To: "To see why", Command: "kubectl describe catalogsource -n olm gone"}},
				},
				{Impact: inventory.Held, By: "InstallPlan default/install-1", Reason: "RequiresApproval", Cause: "It waits"},
			},
		},
		{Namespace: "default", Name: "manual.v1", State: inventory.Failed, CSV: "manual.v1", Version: "0.1.0", UpToDate: metav1.ConditionUnknown},
	}
}

// TestOutput compares what the commands print with testdata.
func TestOutput(t *testing.T) {
	texts := golden.Open(t)
	for name, tc := range map[string]struct {
		all  bool
		args []string
	}{
		"get": {}, "get -A": {all: true}, "get -A -o wide": {true, []string{"-o", "wide"}}, "get --no-headers": {false, []string{"--no-headers"}},
		"get -o name": {false, []string{"-o", "name"}}, "get -o yaml": {false, []string{"-o", "yaml"}}, "get -o json": {false, []string{"-o", "json"}},
		"get -o jsonpath":       {false, []string{"-o", `jsonpath={.items[*].blockers[*].reason}`}},
		"get -o custom-columns": {false, []string{"-o", "custom-columns=NAME:.metadata.name,UP TO DATE:.upToDate"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, allNamespaces: tc.all}
			flags, cmd := get.NewGetPrintFlags(), &cobra.Command{}
			flags.AddFlags(cmd)
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			if err := o.printOperators(flags, operators(), now); err != nil {
				t.Fatal(err)
			}
			texts.Check(t, t.Name(), out.String())
		})
	}
	for _, op := range operators() {
		t.Run("why "+op.Name, func(t *testing.T) {
			var out bytes.Buffer
			explain(&out, op, now)
			texts.Check(t, t.Name(), out.String())
		})
	}
}

func TestExitCodes(t *testing.T) {
	want := map[inventory.Impact]exit{"": 0, inventory.Held: 2, inventory.Broken: 3}
	for impact, code := range want {
		if got := codeOf(impact); got != code {
			t.Errorf("%q has exit code %d, want %d", impact, got, code)
		}
	}
}

// TestDocumentation verifies that docs/command-line.md shows what the commands print.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	var list, explained bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &list}, allNamespaces: true}
	if err := o.printOperators(get.NewGetPrintFlags(), operators()[:3], now); err != nil {
		t.Fatal(err)
	}
	explain(&explained, operators()[1], now)
	for _, printed := range []string{list.String(), explained.String()} {
		var shown strings.Builder
		for line := range strings.Lines(printed) {
			if line != "\n" {
				line = "    " + line
			}
			shown.WriteString(line)
		}
		if !strings.Contains(string(text), shown.String()) {
			t.Errorf("it does not show what is printed:\n%s", shown.String())
		}
	}
}
