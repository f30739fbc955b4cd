package peer

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// BenchmarkList measures the time and memory to list 5,000 operators with the command line, against kubectl, which prints
// the objects of the same kinds as JSON.
func BenchmarkList(b *testing.B) {
	const operators, namespaces = 5000, 500
	c := onCluster(b, "a crowd")
	kubeconfig, bin := "--kubeconfig="+filepath.Join(c.folder, "kubeconfig"), filepath.Join(testcluster.Root(), "bin")
	kubectl := filepath.Join(bin, "controlplane", "kubectl")
	for _, folder := range []string{"crd", "lifecycle/crd"} {
		run(b, kubectl, "create", "-k", filepath.Join(testcluster.Root(), "config", folder), kubeconfig)
	}
	run(b, kubectl, "wait", "crd", "--all", "--for=condition=Established", kubeconfig)
	c.cluster = c.cluster.Rediscovered(b)
	c.crowd(b, operators, namespaces)
	kinds := "subscriptions.operators.coreos.com,clusterserviceversions,installplans,probes,operatorconditions,catalogsources,platformoperators"
	for b.Loop() {
		peer := run(b, kubectl, "get", kinds, "-A", "-o", "json", kubeconfig)
		ours := run(b, filepath.Join(bin, "kubectl-operator_status"), "get", "-A", kubeconfig)
		if lines := strings.Count(ours.out, "\n"); lines != operators+1 {
			b.Fatalf("the command line prints %d lines, want %d", lines, operators+1)
		}
		b.Logf("kubectl: %s, %d MiB; operator-status: %s, %d MiB", peer.took, peer.memory>>20, ours.took, ours.memory>>20)
		b.ReportMetric(ours.took.Seconds()/peer.took.Seconds(), "x-of-kubectl")
		b.ReportMetric(float64(ours.memory)/1e6, "peak-MB")
	}
}

// crowd creates operators that run and are up to date, as OLM leaves them.
func (c *contender) crowd(b *testing.B, operators, namespaces int) {
	b.Helper()
	published := testcatalog.Published(b, testcatalog.Foo{Name: "foo", Version: "1.0.0"})
	description := strings.Repeat("An operator of average size has a description of several kilobytes, and an icon. ", 100)
	var group errgroup.Group
	group.SetLimit(32)
	for i := range namespaces {
		namespace := fmt.Sprintf("crowd-%d", i)
		group.Go(func() error {
			if err := c.cluster.Client.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
				return err
			}
			for j := range operators / namespaces {
				if err := c.operator(b, namespace, fmt.Sprintf("foo-%d", j), description, published.Newest()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// operator creates the objects of one operator, with their statuses.
func (c *contender) operator(b *testing.B, namespace, name, description string, bundle testcatalog.Bundle) error {
	b.Helper()
	now := metav1.Now()
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	sub.Spec = &olm.SubscriptionSpec{Package: name, Channel: "stable", CatalogSource: catalogName, CatalogSourceNamespace: global}
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "install-" + name}}
	plan.Spec = olm.InstallPlanSpec{Approval: olm.ApprovalAutomatic, Approved: true, ClusterServiceVersionNames: []string{name + ".v1.0.0"}}
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + ".v1.0.0"}, Spec: *bundle.CSV.Spec.DeepCopy()}
	csv.Spec.Description = description
	condition := &operatorsv2.OperatorCondition{ObjectMeta: csv.ObjectMeta}
	for _, o := range []client.Object{sub, plan, csv, condition} {
		if err := c.cluster.Client.Create(b.Context(), o); err != nil {
			return fmt.Errorf("creating %s/%s: %w", o.GetNamespace(), o.GetName(), err)
		}
	}
	sub.Status.State, sub.Status.CurrentCSV, sub.Status.InstalledCSV, sub.Status.LastUpdated = olm.SubscriptionStateAtLatest, csv.Name, csv.Name, now
	sub.Status.InstallPlanRef = &corev1.ObjectReference{Namespace: namespace, Name: plan.Name}
	plan.Status.Phase, plan.Status.CatalogSources = olm.InstallPlanPhaseComplete, []string{catalogName}
	csv.Status.Phase, csv.Status.LastTransitionTime = olm.CSVPhaseSucceeded, &now
	for _, o := range []client.Object{sub, plan, csv} {
		if err := c.cluster.Client.Status().Update(b.Context(), o); err != nil {
			return fmt.Errorf("updating the status of %s/%s: %w", o.GetNamespace(), o.GetName(), err)
		}
	}
	return nil
}

// runResult is the output and the cost of running a program.
type runResult struct {
	out    string
	took   time.Duration
	memory int64 // bytes, at the peak
}

func run(b *testing.B, program string, args ...string) runResult {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it is read below
	var problem strings.Builder
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = file, &problem
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	out := runResult{}
	// Not Rusage's: until the program replaces it, the new process has the memory of this one.
	for ended := false; !ended; {
		select {
		case err := <-done:
			if err != nil {
				b.Fatalf("%s: %v: %s", cmd, err, problem.String())
			}
			ended = true
		case <-time.After(5 * time.Millisecond):
			if peak, err := testcluster.PeakMemoryOf(cmd.Process.Pid); err == nil { // unless it has just ended
				out.memory = max(out.memory, peak)
			}
		}
	}
	out.took = time.Since(start)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		b.Fatal(err)
	}
	out.out = string(text)
	return out
}
