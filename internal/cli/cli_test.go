package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/operator-status/operator-status/internal/installer/olmv0"
	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/test/golden"
)

var now = time.Unix(100000, 0)

// operators are one of each: healthy, held, broken, without a Subscription, and not all of which may be read.
func operators() []operator.Operator {
	return []operator.Operator{
		{
			Installer: "OLM", Namespace: "apps", Name: "bar", Package: "bar", Channel: "stable", Catalog: "olm/catalog",
			State: operator.Running, Installed: "bar.v2.0.0", Version: "2.0.0", UpToDate: metav1.ConditionTrue,
			Upgradeable: metav1.ConditionTrue,
			Notices: []operator.Blocker{{
				Impact: operator.Notice, By: "Probe apps/bar.v2.0.0", Reason: "ConditionsTrue", Since: metav1.NewTime(now.Add(-2 * time.Hour)),
				Cause: "Bar apps/example: CertificateExpires is True",
				Steps: []operator.Step{{To: "To see why", Command: "kubectl describe probe.operators.coreos.com -n apps bar.v2.0.0"}},
			}},
		},
		{
			Installer: "OLM", Namespace: "default", Name: "foo", Package: "foo", Channel: "stable", Catalog: "olm/catalog", PlatformOperator: "foos",
			State: operator.Running, Installed: "foo.v1.0.0", Version: "1.0.0", UpToDate: metav1.ConditionFalse, Update: "foo.v1.1.0",
			Upgradeable: metav1.ConditionFalse,
			Blockers: []operator.Blocker{{
				Impact: operator.Held, By: "Probe default/foo.v1.0.0", Reason: "ProbeNotUpgradeable", Since: metav1.NewTime(now.Add(-90 * time.Minute)),
				Cause: "The update to foo.v1.1.0 is held: Probe default/foo.v1.0.0 reports Upgradeable=False: Waiting for Foo apps/example: Migrating is True",
				Steps: []operator.Step{
					{To: "To see the blocking resource", Command: "kubectl get foos.example.com -n apps example -o yaml"},
					{To: "To update anyway", Command: "kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v1.1.0"},
				},
			}},
		},
		{
			Installer: "OLM", Namespace: "default", Name: "lost", Package: "lost", Channel: "stable", Catalog: "olm/gone",
			State: operator.NotInstalled, UpToDate: metav1.ConditionFalse, Upgradeable: metav1.ConditionUnknown,
			Approval: &operator.Approval{Plan: "install-1", Installs: []string{"lost.v1.0.0"}},
			Blockers: []operator.Blocker{
				{
					Impact: operator.Broken, By: "CatalogSource olm/gone", Reason: "CatalogSourceNotFound", Cause: "CatalogSource olm/gone not found.",
					Steps: []operator.Step{{To: "To see which exist", Command: "kubectl get catalogsources.operators.coreos.com -A"}},
				},
				{Impact: operator.Held, By: "InstallPlan default/install-1", Reason: "RequiresApproval", Cause: "It waits"},
			},
		},
		{Installer: "OLM", Namespace: "default", Name: "manual.v1", State: operator.Failed, Installed: "manual.v1", Version: "0.1.0", UpToDate: metav1.ConditionUnknown,
			Upgradeable: metav1.ConditionTrue},
		{Installer: "OLM", Namespace: "default", Name: "partly", State: operator.Running, Installed: "partly.v1", Version: "1.0.0", UpToDate: metav1.ConditionUnknown,
			Upgradeable: metav1.ConditionUnknown, Unread: []string{olmv0.InstallPlans, olmv0.CatalogSources}},
	}
}

// ofOpenShift are operators with the namespaces, names and versions that they have on OpenShift.
func ofOpenShift() []operator.Operator {
	of := func(namespace, name, version string, upToDate metav1.ConditionStatus) operator.Operator {
		return operator.Operator{Namespace: namespace, Name: name, Version: version, State: operator.Running, UpToDate: upToDate}
	}
	held := of("open-cluster-management", "advanced-cluster-management", "2.11.2", metav1.ConditionFalse)
	held.Update = "advanced-cluster-management.v2.12.0"
	held.Blockers = []operator.Blocker{{
		Impact: operator.Held, Since: metav1.NewTime(now.Add(-26 * time.Hour)),
		By: "Probe open-cluster-management/advanced-cluster-management.v2.11.2",
		Cause: "The update to advanced-cluster-management.v2.12.0 is held: Probe open-cluster-management/advanced-cluster-management.v2.11.2 reports " +
			"Upgradeable=False: Waiting for MultiClusterHub open-cluster-management/multiclusterhub: Complete is False",
	}}
	installing := operator.Operator{
		Namespace: "openshift-logging", Name: "cluster-logging", State: operator.Installing, Update: "cluster-logging.v5.9.7",
		Unfinished: &operator.Unfinished{Message: "waiting for install components to report healthy", Since: metav1.NewTime(now.Add(-20 * time.Second))},
	}
	next := of("openshift-gitops-operator", "openshift-gitops-operator", "1.13.1", metav1.ConditionTrue)
	next.WouldHold = []operator.Blocker{{Impact: operator.Held, Cause: "Audit until Friday"}}
	return []operator.Operator{
		held, next, installing,
		of("openshift-operator-lifecycle-manager", "packageserver", "0.0.1-snapshot", metav1.ConditionUnknown),
	}
}

// tree is the tree of an operator whose update is held.
func tree() operator.Node {
	foo := operator.Node{Name: "Foo apps/example", State: "Blocking", Message: "Migrating=True"}
	others := operator.Node{Name: "11 custom resources", State: "Not blocking"}
	probe := operator.Node{
		Name: "Probe default/foo.v1.0.0", State: "Upgradeable=False", Message: "Waiting for Foo apps/example:\nMigrating is True",
		Children: []operator.Node{foo, others},
	}
	csv := operator.Node{
		Name: "ClusterServiceVersion default/foo.v1.0.0", State: "Succeeded",
		Children: []operator.Node{{Name: "1 Deployment", State: "Available"}, probe},
	}
	return operator.Node{
		Name: "Subscription default/foo", State: "Held",
		Children: []operator.Node{csv, {Name: "ClusterServiceVersion default/foo.v1.1.0", State: "Pending"}},
	}
}

// output returns the output of a command in a terminal of a width, or elsewhere if that is 0.
func output(t *testing.T, width uint, print func(*options) error) string {
	t.Helper()
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, width: width, flags: genericclioptions.NewConfigFlags(true)}
	if err := print(o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// explanation prints the output of why for an operator.
func explanation(op operator.Operator) func(*options) error {
	return func(o *options) error {
		o.explain(op, now)
		return nil
	}
}

// flags returns the flags of get with arguments.
func flags(t *testing.T, args []string) *get.PrintFlags {
	t.Helper()
	out, cmd := get.NewGetPrintFlags(), &cobra.Command{}
	out.AddFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOutput compares the output of the commands with testdata.
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
			texts.Check(t, t.Name(), output(t, 0, func(o *options) error {
				o.allNamespaces = tc.all
				return o.printOperators(flags(t, tc.args), operators(), now)
			}))
		})
	}
	for name, args := range map[string][]string{"check": nil, "check -o yaml": {"-o", "yaml"}, "check --no-headers": {"--no-headers"}, "check -o wide": {"-o", "wide"}} {
		t.Run(name, func(t *testing.T) {
			texts.Check(t, t.Name(), output(t, 0, func(o *options) error {
				o.allNamespaces = true
				return o.printCheck(flags(t, args), operators(), false, now)
			}))
		})
	}
	for _, width := range []uint{60, 80, 120} {
		t.Run(fmt.Sprintf("get -A of OpenShift in a terminal of %d columns", width), func(t *testing.T) {
			texts.Check(t, t.Name(), output(t, width, func(o *options) error {
				o.allNamespaces = true
				return o.printOperators(flags(t, nil), ofOpenShift(), now)
			}))
		})
	}
	for name, op := range map[string]operator.Operator{"clear": operators()[0], "unknown": operators()[4]} {
		t.Run("check that is "+name, func(t *testing.T) {
			texts.Check(t, t.Name(), output(t, 0, func(o *options) error { return o.printCheck(flags(t, nil), []operator.Operator{op}, false, now) }))
		})
	}
	for name, operators := range map[string][]operator.Operator{"summary": operators(), "summary of one that is up to date": operators()[:1], "summary of none": nil} {
		t.Run(name, func(t *testing.T) {
			texts.Check(t, t.Name(), output(t, 0, func(o *options) error { o.summarize(operators); return nil }))
		})
	}
	t.Run("tree", func(t *testing.T) {
		texts.Check(t, t.Name(), output(t, 0, func(o *options) error { o.printTree(tree()); return nil }))
	})
	for name, print := range map[string]func(*options) error{
		"get": func(o *options) error { return o.printOperators(flags(t, nil), operators(), now) },
		"wide": func(o *options) error {
			return o.printOperators(flags(t, []string{"-o", "wide"}), operators()[:1], now)
		},
		"check": func(o *options) error { return o.printCheck(flags(t, nil), operators(), false, now) },
		"tree":  func(o *options) error { o.printTree(tree()); return nil },
	} {
		t.Run(name+" in a terminal of 60 columns", func(t *testing.T) {
			texts.Check(t, t.Name(), output(t, 60, print))
		})
	}
	for _, op := range operators() {
		t.Run("why "+op.Name, func(t *testing.T) {
			texts.Check(t, t.Name(), output(t, 0, explanation(op)))
		})
		t.Run("why "+op.Name+" in a terminal of 60 columns", func(t *testing.T) {
			texts.Check(t, t.Name(), output(t, 60, explanation(op)))
		})
		t.Run("wait "+op.Name, func(t *testing.T) {
			texts.Check(t, t.Name(), progress([]operator.Operator{op}, op.Name, op.Namespace)+"\n")
		})
	}
}

// TestColors verifies that the words for states have colors in a terminal, in the place where they are without, and that texts of others
// have none.
func TestColors(t *testing.T) {
	rows := [][]string{{"NAME", "STATUS", "WHY"}, {"foo", "Held", "it is Broken"}, {"Held-by-name", "UpToDate", "\x1b[31mred"}, {"ünïcode", "Broken", ""}}
	const red, yellow, green, none = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"
	cases := map[string]struct {
		reason  string
		width   int
		colored bool
		want    string
	}{
		"Colored": {
			reason: "The state of a row has its color, and nothing else.", width: 60, colored: true,
			want: "NAME          STATUS    WHY\n" +
				"foo           " + yellow + "Held" + none + "      it is Broken\n" +
				"Held-by-name  " + green + "UpToDate" + none + "  \ufffd[31mred\n" +
				"ünïcode       " + red + "Broken" + none + "\n",
		},
		"Cut": {
			reason: "A word that is cut has none.", width: 17, colored: true,
			want: "NAME          ST…\nfoo           He…\nHeld-by-name  Up…\nünïcode       Br…\n",
		},
		"Plain": {
			reason: "Elsewhere there are none.", width: 60,
			want: "NAME          STATUS    WHY\nfoo           Held      it is Broken\nHeld-by-name  UpToDate  \ufffd[31mred\nünïcode       Broken\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := &options{IOStreams: genericiooptions.IOStreams{Out: safe(&out)}, flags: genericclioptions.NewConfigFlags(true)}
			if tc.colored {
				o.terminal = &out
			}
			o.printTable(rows, tc.width)
			if got := out.String(); got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
	if terminal(&bytes.Buffer{}) != nil {
		t.Error("a buffer is a terminal")
	}
}

func TestExitCodes(t *testing.T) {
	want := map[operator.Impact]exit{"": 0, operator.Held: 2, operator.Broken: 3}
	for impact, code := range want {
		if got := codeOf(impact); got != code {
			t.Errorf("%q has exit code %d, want %d", impact, got, code)
		}
	}
}

func TestGoals(t *testing.T) {
	want := map[string][]string{"up-to-date": {"bar"}, "ready": {"bar", "foo", "partly"}, "upgradeable": {"bar", "manual.v1"}}
	got := map[string][]string{}
	for goal, reached := range goals {
		for _, op := range operators() {
			if reached(op) {
				got[goal] = append(got[goal], op.Name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operators that reached a goal: -want +got\n%s", diff)
	}
}

// TestDocumentation verifies that docs/command-line.md shows the output of the commands.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{
		output(t, 0, func(o *options) error {
			o.allNamespaces = true
			defer o.summarize(operators()[:3])
			return o.printOperators(flags(t, nil), operators()[:3], now)
		}),
		output(t, 0, func(o *options) error {
			o.allNamespaces = true
			return o.printCheck(flags(t, nil), operators()[:3], false, now)
		}),
		output(t, 0, explanation(operators()[1])),
		output(t, 0, func(o *options) error { o.printTree(tree()); return nil }),
	} {
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

// TestLimitedByUser verifies that why names the newer version of an operator that is as new as its user allows.
func TestLimitedByUser(t *testing.T) {
	op := operators()[0]
	op.Notices, op.Limited = nil, "bar.v2.0.0 runs, and annotation operatorstatus.io/version does not allow the newer bar.v3.0.0"
	if got, want := output(t, 0, explanation(op)), "apps/bar: "+op.Limited+". Nothing blocks it.\n"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}
