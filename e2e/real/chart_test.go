package real

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/e2e/images"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestChart verifies that Helm finds nothing wrong with the chart; and that it installs it with the built-in loops, which
// hold an update while Helm updates the manager and the CustomResourceDefinitions, and uninstalls all but those.
func TestChart(t *testing.T) {
	chart := filepath.Join(testcluster.Root(), "charts", "operator-status")
	helm(t, "lint", "--strict", chart)
	everything := filepath.Join(t.TempDir(), "lifecycle.yaml")
	if err := os.WriteFile(everything, []byte(build(t, "lifecycle")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of Helm's leftovers, or of everything if the test failed
		if out, err := kubectl(context.Background(), "delete", "--ignore-not-found", "-f", everything); err != nil {
			t.Errorf("uninstalling the chart: %v\n%s", err, out)
		}
	})

	registry := images.Of(t, clusterDir)
	release := func(command, chart, image string) {
		t.Helper()
		repository, digest, _ := strings.Cut(image, "@")
		helm(t, command, "operator-status", chart, "--create-namespace", "--wait", "--timeout=3m",
			"--set=lifecycle.enabled=true,image.repository="+repository+",image.digest="+digest)
		if out := helm(t, "test", "operator-status", "--timeout=2m"); !strings.Contains(out, "Succeeded") {
			t.Errorf("`helm test` prints\n%s", out)
		}
	}
	const version = "controller-gen.kubebuilder.io/version"
	release("install", olderChart(t, chart, version+": ", version+": v0-"), registry.Manager(t, images.Current))
	if got := probeCRD(t).GetAnnotations()[version]; !strings.HasPrefix(got, "v0-") {
		t.Errorf("the version of the CustomResourceDefinition is %q, want that of the chart", got)
	}

	s := newSample(t, registry)
	release("upgrade", chart, registry.Manager(t, images.Next))
	if got := probeCRD(t).GetAnnotations()[version]; strings.HasPrefix(got, "v0-") {
		t.Errorf("the CustomResourceDefinition still has %q", got)
	}
	s.awaitHeld(t)
	s.finish(t)

	helm(t, "uninstall", "operator-status", "--wait")
	const selector = "--selector=app.kubernetes.io/name=operator-status"
	if out, err := kubectl(t.Context(), "wait", "--for=delete", "pods", "-A", selector, "--timeout=1m"); err != nil {
		t.Errorf("the pods still exist: %v\n%s", err, out)
	}
	out, err := kubectl(t.Context(), "get", "all,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,priorityclasses,clusterroles,clusterrolebindings,"+
		"validatingadmissionpolicies,validatingadmissionpolicybindings", "-A", selector, "-o", "name")
	if err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("Helm did not delete (%v)\n%s", err, out)
	}
	probeCRD(t) // stays, with the custom resources
}

// helm runs helm in the namespace of the manager, and returns its output.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin("helm"), append(args, "--namespace="+testcluster.ManagerAccount.Namespace)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(clusterDir, "kubeconfig"), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		describePods(t, testcluster.ManagerAccount.Namespace)
		t.Fatalf("helm %s (`make nodes` builds it): %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// olderChart returns a copy of the chart in whose CustomResourceDefinitions a text is replaced.
func olderChart(t *testing.T, chart, text, by string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(chart))
	if err := os.CopyFS(out, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "templates", "status-crds.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), text, by)), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// probeCRD returns the CustomResourceDefinition of Probes.
func probeCRD(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	out.SetName("probes.operators.coreos.com")
	cluster.Await(t, out, func() string { return "" })
	return out
}
