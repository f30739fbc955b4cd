package lifecycle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// outcome is the result of installing or updating one package.
type outcome struct {
	pkg      testcatalog.Package
	action   string
	csv      string
	result   string
	reason   string
	duration time.Duration
}

// TestBundles installs every package in the folder BUNDLES and updates those with more than one version. It logs a
// table and fails if a package ends in a state other than Succeeded without a reason.
func TestBundles(t *testing.T) {
	folder := os.Getenv("BUNDLES")
	if folder == "" {
		t.Skip("BUNDLES is not set: `make test-bundles BUNDLES=…` sets it to a folder of packages")
	}
	packages, err := testcatalog.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	source := newServed(t, "bundles")
	older := make([]testcatalog.Package, 0, len(packages))
	for _, p := range packages {
		p.Bundles = p.Bundles[:1]
		older = append(older, p)
	}
	source.offer(t, older...)
	var outcomes []outcome
	for _, p := range older {
		outcomes = append(outcomes, subscribeTo(t, source, p))
	}
	outcomes = settle(t, outcomes)
	source.offer(t, packages...)
	var updates []outcome
	for _, p := range packages {
		if len(p.Bundles) > 1 {
			updates = append(updates, outcome{pkg: p, action: "update", csv: p.Newest().CSV.Name})
		}
	}
	outcomes = append(outcomes, settle(t, updates)...)
	t.Log("\n" + table(outcomes))
	for _, o := range outcomes {
		if o.result != string(olm.CSVPhaseSucceeded) && o.reason == "" {
			t.Errorf("%s of %s ended in %q without a reason", o.action, o.csv, o.result)
		}
	}
	checkUpToDate(t, outcomes)
}

// subscribeTo subscribes to a package in a new namespace with an OperatorGroup that the package supports.
func subscribeTo(t *testing.T, source *served, p testcatalog.Package) outcome {
	t.Helper()
	namespace := "b-" + p.Name
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}}
	if !p.Bundles[0].Supports(olm.InstallModeTypeAllNamespaces) {
		group.Spec.TargetNamespaces = []string{namespace}
	}
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name}}
	sub.Spec = &olm.SubscriptionSpec{Package: p.Name, Channel: p.Channel, CatalogSource: source.key.Name, CatalogSourceNamespace: source.key.Namespace}
	cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, group, sub)
	return outcome{pkg: p, action: "install", csv: p.Bundles[0].CSV.Name}
}

// patience is the timeout for all packages, and resting how long one must keep its reason to be settled.
const (
	patience = 5 * time.Minute
	resting  = 20 * time.Second
)

// settle waits until every package has Succeeded or keeps a state with a reason.
func settle(t *testing.T, outcomes []outcome) []outcome {
	t.Helper()
	start := time.Now()
	changed := make([]time.Time, len(outcomes))
	for {
		open := 0
		for i := range outcomes {
			o := &outcomes[i]
			result, reason := resultOf(o)
			if result != o.result || reason != o.reason {
				o.result, o.reason, o.duration, changed[i] = result, reason, time.Since(start), time.Now()
			}
			if result != string(olm.CSVPhaseSucceeded) && (reason == "" || time.Since(changed[i]) < resting) {
				open++
			}
		}
		if open == 0 || time.Since(start) > patience {
			return outcomes
		}
		time.Sleep(500 * time.Millisecond) // the poll interval
	}
}

// resultOf returns the phase of a package's ClusterServiceVersion, or else a condition of its Subscription.
func resultOf(o *outcome) (result, reason string) {
	ctx := context.Background()
	csv := &v1alpha1.ClusterServiceVersion{}
	err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: "b-" + o.pkg.Name, Name: o.csv}, csv)
	if err == nil && csv.Status.Phase != "" {
		if csv.Status.Phase == olm.CSVPhaseSucceeded {
			return string(csv.Status.Phase), ""
		}
		return string(csv.Status.Phase), fmt.Sprintf("%s: %s", csv.Status.Reason, csv.Status.Message)
	}
	sub := &v1alpha1.Subscription{}
	if err := cluster.Client.Get(ctx, client.ObjectKey{Namespace: "b-" + o.pkg.Name, Name: o.pkg.Name}, sub); err != nil {
		return "", ""
	}
	for _, c := range sub.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Type != v1alpha1.SubscriptionInstalledCSVReplacementAvailable {
			return string(c.Type), fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
	}
	return "Waiting", sub.Status.Message
}

// checkUpToDate checks that each Subscription's upToDate is true exactly if the newest version runs.
func checkUpToDate(t *testing.T, outcomes []outcome) {
	t.Helper()
	last := map[string]outcome{}
	for _, o := range outcomes {
		last[o.pkg.Name] = o
	}
	wrong := 0
	for name, o := range last {
		sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "b-" + name, Name: name}}
		truth := o.result == string(olm.CSVPhaseSucceeded)
		deadline := time.Now().Add(10 * time.Second) // the Subscription is updated a moment later
		for {
			if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(sub), sub); err != nil {
				t.Fatal(err)
			}
			if sub.Status.UpToDate == truth || time.Now().After(deadline) {
				break
			}
			time.Sleep(50 * time.Millisecond) // the poll interval
		}
		if sub.Status.UpToDate != truth {
			wrong++
			t.Errorf("Subscription %s reports UpToDate=%v (%s), but %s is %s", name, sub.Status.UpToDate, sub.Status.Message, o.csv, o.result)
		}
	}
	t.Logf("compared UpToDate of %d Subscriptions with the running versions: %d are wrong", len(last), wrong)
}

func table(outcomes []outcome) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PACKAGE\tACTION\tCSV\tRESULT\tSECONDS\tREASON")
	for _, o := range outcomes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%s\n", o.pkg.Name, o.action, o.csv, o.result, o.duration.Seconds(), o.reason)
	}
	_ = w.Flush() // to a strings.Builder
	return out.String()
}

// served is a catalog that the devcluster serves.
type served struct {
	key    client.ObjectKey
	folder string
	dir    string
}

func newServed(t *testing.T, name string) *served {
	t.Helper()
	return &served{key: client.ObjectKey{Namespace: global, Name: name}, folder: filepath.Join(t.TempDir(), "catalog"), dir: clusterDir}
}

// offer replaces the contents of the catalog with packages.
func (s *served) offer(t *testing.T, packages ...testcatalog.Package) {
	t.Helper()
	if err := testcatalog.Write(s.folder, packages...); err != nil {
		t.Fatal(err)
	}
	cluster.ServeCatalog(t, s.dir, s.key, s.folder)
}
