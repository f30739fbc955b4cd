package gitops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestTogether verifies that the command line lists the operators of all installers of a cluster, as docs/installers.md shows.
func TestTogether(t *testing.T) {
	for _, program := range []string{"neighbours/operator-controller", "neighbours/helm-controller", "helm"} {
		if _, err := os.Stat(filepath.Join(testcluster.Root(), "bin", program)); err != nil {
			t.Skip("skipped: make e2e-installers builds it: ", err)
		}
	}
	kubeconfig := filepath.Join(clusterDir, "kubeconfig")
	in := func(name string) story.Op {
		createNamespace(t, name)
		return story.In(t, cluster, kubeconfig, name, name)
	}
	run := func(program string, args ...string) string {
		command := exec.Command(filepath.Join(testcluster.Root(), "bin", program), args...)
		command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", program, args[0], err, out)
		}
		return string(out)
	}
	createNamespace(t, "databases")
	catalog := client.ObjectKey{Namespace: global, Name: "databases"}
	cluster.Offer(t, catalog, testcatalog.Published(t, testcatalog.Foo{Name: "database", Version: "1.0.0"}))
	cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--default-catalog="+catalog.String())
	cluster.Apply(t, "databases", subscribed)

	queue := in("queue")
	run("helm", "upgrade", "--install", queue.Name, neighbour.Chart(t, queue, story.First), "--namespace="+queue.Namespace)
	certificates := in("certificates")
	cluster.Apply(t, certificates.Namespace, certificates.Manifests(story.First))
	startFlux(t, "flux-together")
	backups, search := in("backups"), in("search")
	fluxed(t, "HelmRelease", backups, newRepository(t)).Install(t, backups, story.First)
	fluxed(t, "Kustomization", search, newRepository(t)).Install(t, search, story.First)
	pipelines := in("pipelines")
	argued(t, pipelines, newRepository(t), "ServerSideApply=true").Install(t, pipelines, story.First)
	storage := in("storage")
	neighbour.Extend(t, cluster, neighbour.StartOLMv1(t, cluster, kubeconfig), storage)
	for _, o := range []story.Op{queue, certificates, backups, search, pipelines, storage} {
		o.AwaitImage(t, story.First)
	}
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "databases", Name: "database"}}
	cluster.Await(t, sub, func() string {
		if !sub.Status.UpToDate {
			return "it is not up to date"
		}
		return ""
	})
	run("kubectl-operator_status", "hold", queue.Name, "--namespace="+queue.Namespace, "--message=audit")

	document, err := os.ReadFile(filepath.Join(testcluster.Root(), "docs", "installers.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(document), "$ kubectl operator-status ")
	arguments, after, _ := strings.Cut(after, "\n")
	shown, _, _ := strings.Cut(after, "\n\n")
	got := run("kubectl-operator_status", strings.Fields(arguments)...)
	if diff := cmp.Diff(words(shown), words(got)); diff != "" {
		t.Errorf("docs/installers.md shows another list: -want +got\n%s\n%s", diff, got)
	}
}

// subscribed is an operator of the built-in loops, which OLM could install as well.
const subscribed = `
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: group}
spec: {targetNamespaces: [databases]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: database}
spec: {name: database, channel: stable, source: databases, sourceNamespace: olm}
`

// words returns the lines of a table without its spaces.
func words(table string) []string {
	var out []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}
