package ui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// testK9s verifies the columns and commands of config/k9s in the real k9s.
func testK9s(t *testing.T, as types.NamespacedName) {
	for view, shows := range map[string][]string{
		"probes all": {
			`NAMESPACE\S* +NAME\S* +UPGRADEABLE +IMPORTANT +SYNCED +BLOCKING +MESSAGE`,
			`database +database-operator\.v1\.0\.0 +False +False +True +customers,orders +Waiting for Database`,
		},
		"subscriptions.operators.coreos.com all": {
			`CHANNEL +INSTALLED +UPTODATE +HELD +APPROVE +MESSAGE`,
			`cache +cache +stable +cache-operator\.v1\.0\.0 +False +False +True`,
			`queue +queue +stable +queue-operator\.v1\.0\.0 +False +True +False`,
		},
		"clusterserviceversions all": {`database +database-operator\.v1\.0\.0 +1\.0\.0 +Succeeded +False`},
		"installplans all":           {`cache +install-\S+ +cache-operator\.v1\.1\.0 +Manual +false +RequiresApproval`},
		"platformoperators":          {`search +search +True +False +True +True`},
	} {
		s := startK9s(t, as, view)
		for _, expression := range shows {
			s.awaitText(t, expression)
		}
	}
	for _, c := range []struct{ view, selects, key, prints string }{
		{"probes database", `database-operator\.v1\.0\.0 +False`, "W", `Held by Probe database/database-operator\.v1\.0\.0, for .* \(ProbeNotUpgradeable\)`},
		{"probes database", `database-operator\.v1\.0\.0 +False`, "T", `Database database/orders +Blocking`},
		{"platformoperators", `search +search +True`, "W", `search/search: search-operator\.v1\.0\.0 is running`},
	} {
		s := startK9s(t, as, c.view)
		s.awaitText(t, c.selects)
		s.pressKeys(t, c.key)
		s.awaitText(t, c.prints)
	}
	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: "search", Name: "search-operator.v1.0.0"}}
	for _, c := range []struct {
		key  string
		held bool
	}{{"H", true}, {"R", false}} {
		s := startK9s(t, as, "subscriptions.operators.coreos.com search")
		s.awaitText(t, `search-operator\.v1\.0\.0 +True`)
		s.confirm(t, c.key)
		cluster.Await(t, condition, func() string {
			if held := meta.IsStatusConditionFalse(condition.Spec.Overrides, operatorsv2.Upgradeable); held != c.held {
				return fmt.Sprintf("updates of search are held: %t; the terminal shows\n%s", held, s.run(t, "capture-pane", "-p"))
			}
			return ""
		})
	}
}

// testK9sApproves verifies that a key approves an update. Headlamp's pages have approved the one before.
func testK9sApproves(t *testing.T, as types.NamespacedName) {
	offer(t, "1.0.0", "1.1.0", "1.2.0")
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "cache", Name: "cache"}}
	awaitCondition(t, sub, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval)
	s := startK9s(t, as, "subscriptions.operators.coreos.com cache")
	s.awaitText(t, `cache-operator\.v1\.1\.0 +False +False +True`)
	s.confirm(t, "V")
	s.awaitText(t, `approved: it installs cache-operator\.v1\.2\.0`)
	cluster.Await(t, sub, func() string {
		if want := "cache-operator.v1.2.0"; sub.Status.InstalledCSV != want {
			return "the operator is not updated: " + sub.Status.Message
		}
		return ""
	})
}

// session is k9s in a terminal of tmux.
type session struct {
	tmux, socket string
}

// startK9s starts k9s with the configuration and a view, as a user who has the command line installed. It skips the test without tmux or k9s.
func startK9s(t *testing.T, as types.NamespacedName, view string) *session {
	t.Helper()
	k9s := builtPath(t, filepath.Join(testcluster.Root(), "bin", "neighbours", "k9s"))
	s := &session{tmux: program(t, "tmux"), socket: filepath.Join(t.TempDir(), "tmux")}
	program(t, "less")
	config := t.TempDir()
	for _, name := range []string{"views.yaml", "plugins.yaml"} {
		text, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "k9s", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(config, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(testcluster.Root(), "bin")
	kubeconfig := cluster.Kubeconfig(t, as)
	s.run(t, "new-session", "-d", "-x", "200", "-y", "40", "env", // tmux has a PATH of its own
		"PATH="+strings.Join([]string{bin, filepath.Join(bin, "controlplane"), os.Getenv("PATH")}, ":"),
		"KUBECONFIG="+kubeconfig, "K9S_CONFIG_DIR="+config, "K9S_LOGS_DIR="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(),
		"XDG_DATA_HOME="+t.TempDir(), "LESS=", k9s, "--logoless", "--splashless", "-c", view)
	t.Cleanup(func() { _ = exec.Command(s.tmux, "-S", s.socket, "kill-server").Run() }) // k9s may have ended
	return s
}

func (s *session) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(s.tmux, append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// pressKeys presses keys, by their names in tmux.
func (s *session) pressKeys(t *testing.T, names ...string) {
	t.Helper()
	s.run(t, append([]string{"send-keys"}, names...)...)
}

// confirm presses a key, and confirms its action.
func (s *session) confirm(t *testing.T, name string) {
	t.Helper()
	s.pressKeys(t, name)
	s.awaitText(t, `Confirm`)
	s.pressKeys(t, "Tab", "Enter") // from Cancel to OK
}

// awaitText waits until the terminal's content matches an expression.
func (s *session) awaitText(t *testing.T, expression string) {
	t.Helper()
	pattern := regexp.MustCompile(expression)
	var last string
	for deadline := time.Now().Add(testcluster.Timeout); time.Now().Before(deadline); {
		if last = s.run(t, "capture-pane", "-p"); pattern.MatchString(last) {
			return
		}
		time.Sleep(100 * time.Millisecond) // a terminal has no event to wait for
	}
	t.Fatalf("the terminal does not show %q, but\n%s", expression, last)
}
