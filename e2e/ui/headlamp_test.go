package ui

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// settings are the inputs of the test in the browser, which reads them from the environment.
type settings struct {
	Chromium string         `json:"chromium"`
	Shell    string         `json:"shell"`    // the folder with Headlamp's components
	Plugin   string         `json:"plugin"`   // the file of the plugin
	Pictures string         `json:"pictures"` // the folder for screenshots, or empty
	Clusters map[string]int `json:"clusters"` // the ports of API servers, by user
}

// testHeadlamp verifies the pages of the plugin, built as Headlamp loads it, in a browser. The steps of the test are in
// ui/headlamp/e2e/story.mjs.
func testHeadlamp(t *testing.T, as types.NamespacedName) {
	plugin := filepath.Join(testcluster.Root(), "ui", "headlamp")
	s := settings{
		Chromium: program(t, "chromium"),
		Shell:    builtPath(t, filepath.Join(testcluster.Root(), "bin", "headlamp")),
		Plugin:   builtPath(t, filepath.Join(plugin, "dist", "main.js")),
	}
	if os.Getenv("UPDATE_PICTURES") != "" {
		s.Pictures = filepath.Join(testcluster.Root(), "docs", "pictures")
	}
	node := program(t, "node")
	s.Clusters = map[string]int{
		"admin":     proxy(t, cluster.Kubeconfig(t, as)),
		"viewer":    proxy(t, cluster.Kubeconfig(t, viewer(t))),
		"olm-alone": proxy(t, startOLMOnly(t)),
	}
	config, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	test := exec.CommandContext(t.Context(), node, "--test", "--test-reporter=spec", filepath.Join(plugin, "e2e", "story.mjs"))
	test.Env = append(os.Environ(), "UI_TEST="+string(config))
	test.Stdout, test.Stderr = os.Stdout, os.Stderr
	if err := test.Run(); err != nil {
		t.Fatalf("running the test in the browser: %v", err)
	}
	for _, name := range []string{"database", "queue", "cache"} {
		sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}}
		cluster.Await(t, sub, func() string {
			if want := name + "-operator.v1.1.0"; sub.Status.InstalledCSV != want {
				return "the operator is not updated: " + sub.Status.Message
			}
			return ""
		})
	}
}

// startOLMOnly starts a cluster with OLM and none of operator-status, on which an operator waits for approval to be
// installed. It returns the kubeconfig of its admin.
func startOLMOnly(t *testing.T) string {
	t.Helper()
	c, folder := testcluster.Up(t, "--olm")
	content := t.TempDir()
	if err := testcatalog.Write(content, testcatalog.Published(t, testcatalog.Foo{Name: "alone", Version: "1.0.0"})); err != nil {
		t.Fatal(err)
	}
	c.ServeCatalog(t, folder, catalog, content)
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "alone"}}
	sub.Spec = &olm.SubscriptionSpec{
		Package: "alone", Channel: "stable", CatalogSource: catalog.Name, CatalogSourceNamespace: catalog.Namespace,
		InstallPlanApproval: olm.ApprovalManual,
	}
	c.Create(t, sub)
	return filepath.Join(folder, "kubeconfig")
}

// program returns the path of a program, and skips the test if it is not installed.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	return path
}

// builtPath returns a path that make ui-test builds, and skips the test if it does not exist.
func builtPath(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("skipped: `make ui-test` builds it: %v", err)
	}
	return path
}

// viewer returns a service account in namespace default that may read most of the objects on the pages, and may change
// nothing.
func viewer(t *testing.T) types.NamespacedName {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "viewer"}, Rules: []rbacv1.PolicyRule{
		{
			APIGroups: []string{"operators.coreos.com", "platform.openshift.io"}, Verbs: []string{"get", "list", "watch"},
			Resources: []string{"subscriptions", "clusterserviceversions", "installplans", "probes", "platformoperators"},
		},
	}}
	cluster.Create(t, role)
	return cluster.Account(t, "default", "viewer", role.Name)
}

var served = regexp.MustCompile(`127\.0\.0\.1:(\d+)`)

// proxy runs `kubectl proxy` with a kubeconfig until the test ends, and returns its port.
func proxy(t *testing.T, kubeconfig string) int {
	t.Helper()
	kubectl := filepath.Join(testcluster.Root(), "bin", "controlplane", "kubectl")
	command := exec.CommandContext(t.Context(), kubectl, "proxy", "--port=0", "--kubeconfig="+kubeconfig)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()         // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(served.FindStringSubmatch(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	return port
}
