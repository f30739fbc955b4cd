package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

func TestStatus(t *testing.T) {
	held := []operator.Blocker{{Impact: operator.Held}, {Impact: operator.Waiting}}
	for name, tc := range map[string]struct {
		reason string
		op     operator.Operator
		want   status
	}{
		"broken": {"A user has to act, whatever runs.",
			operator.Operator{State: operator.Running, Blockers: []operator.Blocker{{Impact: operator.Broken}}}, "Broken"},
		"held":          {"The worst blocker counts.", operator.Operator{State: operator.Running, Update: "foo.v2.0.0", Blockers: held}, "Held"},
		"next held":     {"Nothing waits.", operator.Operator{State: operator.Running, UpToDate: metav1.ConditionTrue, WouldHold: held}, "UpToDate"},
		"unread":        {"What cannot be read may block.", operator.Operator{State: operator.Running, Unread: []string{"Probes"}}, "Unknown"},
		"held, unread":  {"A known blocker is one.", operator.Operator{Unread: []string{"Probes"}, Blockers: held}, "Held"},
		"installing":    {"It does not run yet.", operator.Operator{State: operator.Installing, Update: "foo.v1.0.0"}, "Installing"},
		"not installed": {"Nothing runs, nothing blocks.", operator.Operator{State: operator.NotInstalled}, "NotInstalled"},
		"updating":      {"The next version is known.", operator.Operator{State: operator.Running, Update: "foo.v2.0.0"}, "Updating"},
		"outdated":      {"Only that there is a next version is known.", operator.Operator{State: operator.Running, UpToDate: metav1.ConditionFalse}, "Outdated"},
		"running":       {"Its installer knows of no versions.", operator.Operator{State: operator.Running, UpToDate: metav1.ConditionUnknown}, "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := statusOf(tc.op); got != tc.want {
				t.Errorf("%s It is %s, want %s.", tc.reason, got, tc.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, version, update, want string
	}{
		"convention":    {"ClusterServiceVersions are named after their version.", "1.0.0", "foo.v1.1.0-rc.1", "1.0.0 → 1.1.0-rc.1"},
		"first":         {"Nothing runs.", "", "foo.v1.1.0", "→ 1.1.0"},
		"other name":    {"The name is all that is known.", "1.0.0", "foo-latest", "1.0.0 → foo-latest"},
		"no update":     {"Nothing is to be installed.", "1.0.0", "", "1.0.0"},
		"nothing known": {"As kubectl writes it.", "", "", "<none>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versions(operator.Operator{Version: tc.version, Update: tc.update}); got != tc.want {
				t.Errorf("%s It is %q, want %q.", tc.reason, got, tc.want)
			}
		})
	}
}

// TestHere verifies that a printed command is for the cluster and the user of the command that prints it.
func TestHere(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"None":    {"The current context of kubectl is that cluster.", nil, "kubectl get pods"},
		"Context": {"Another one has to be named.", []string{"--context=prod", "--kubeconfig=/a"}, "kubectl get pods --kubeconfig=/a --context=prod"},
		"Server":  {"So has a server.", []string{"--server=https://a:1", "--cluster=b", "--user=c"}, "kubectl get pods --cluster=b --user=c --server=https://a:1"},
		"As":      {"Another user may not have the rights.", []string{"--as=admin", "--as-group=a", "--as-group=b"}, "kubectl get pods --as=admin --as-group=a --as-group=b"},
		"Secret":  {"A token is not printed.", []string{"--token=secret"}, "kubectl get pods"},
		"Hostile": {"A value that a shell would not take as it is does not become part of the command.", []string{"--context=a; b"}, "kubectl get pods --context=NAME"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &options{flags: genericclioptions.NewConfigFlags(true)}
			flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
			o.flags.AddFlags(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if got := o.here("kubectl get pods"); got != tc.want {
				t.Errorf("%s\ngot %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestInstallersOf verifies which operators have an OperatorCondition, and which installers know of newer versions.
func TestInstallersOf(t *testing.T) {
	of := func(i holdv1alpha1.Installer) operator.Operator {
		return operator.Operator{Namespace: "a", Name: "foo", Reference: holdv1alpha1.OperatorReference{Installer: i, Namespace: "a", Name: "foo"}}
	}
	cases := map[string]struct {
		reason    string
		op        operator.Operator
		condition bool
		problem   string // or empty if the installer knows of newer versions
	}{
		"OLM":          {"OLM reads the OperatorCondition.", of(holdv1alpha1.InstallerOLM), true, ""},
		"Unsubscribed": {"Also without a Subscription.", operator.Operator{Namespace: "a", Name: "foo.v1", Installed: "foo.v1"}, true, ""},
		"Nothing":      {"Nothing is installed.", operator.Operator{Namespace: "a", Name: "foo"}, false, ""},
		"OLMv1":        {"A ClusterExtension reports it.", of(holdv1alpha1.InstallerOLMv1), false, "kubectl wait clusterextension.olm.operatorframework.io/foo"},
		"Helm":         {"Helm knows no newer chart.", of(holdv1alpha1.InstallerHelm), false, "Use --for=ready"},
		"Workload":     {"Nor does kubectl.", of(holdv1alpha1.InstallerWorkload), false, "Use --for=ready"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hasCondition(tc.op); got != tc.condition {
				t.Errorf("%s\nit has an OperatorCondition: %t", tc.reason, got)
			}
			err := (&options{flags: genericclioptions.NewConfigFlags(true)}).reportsUpdates([]operator.Operator{tc.op})
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}
