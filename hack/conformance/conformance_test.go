package conformance

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	runSuite = flag.Bool("conformance", false, "Run the suite on a cluster.")
	all      = flag.Bool("all", false, "Also run the specs that wait until they time out.")
	update   = flag.Bool("update", false, "Write the outcomes to the table.")
	focus    = flag.String("focus", "", "Run only the specs that match this regular expression, regardless of the table.")
)

const tablePath = "specs.tsv"

var (
	cluster    *testcluster.Cluster
	clusterDir string
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !*runSuite {
		os.Exit(m.Run())
	}
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }))
}

// TestConformance verifies that the result of every spec of the suite is the one in the table.
func TestConformance(t *testing.T) {
	if !*runSuite {
		t.Skip("`make conformance` runs it")
	}
	began := time.Now()
	folder := filepath.Join(testcluster.Root(), "bin", "conformance")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	binary, sources, err := build(testcluster.Root(), folder)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := list(binary, sources, folder)
	if err != nil {
		t.Fatal(err)
	}
	want, err := readTable(tablePath)
	if err != nil && !*update {
		t.Fatal(err)
	}

	built := time.Since(began)
	prepare(t)
	m := cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--lifecycle=builtin", "--global-catalog-namespace="+globalNamespace,
		"--trusted-catalogs=*")
	results := runAll(t, want, specs, process{
		binary: binary, sources: sources, kubeconfig: filepath.Join(clusterDir, "kubeconfig"), folder: folder, focus: *focus,
	})
	m.CheckAlive(t)
	if *update {
		if err := os.WriteFile(tablePath, []byte(want.update(results).String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(summary(want, results) + fmt.Sprintf("; the suite was built in %s, the whole took %s", built.Round(time.Second), time.Since(began).Round(time.Second)))
	if *focus != "" {
		return
	}
	for _, problem := range want.compare(results) {
		t.Error(problem)
	}
}

// prepare creates the objects that the suite expects: an OperatorGroup for all namespaces and a global catalog.
func prepare(t *testing.T) {
	cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}},
		&operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "global-operators"}})
	cluster.Offer(t, types.NamespacedName{Namespace: globalNamespace, Name: "operatorhubio-catalog"},
		testcatalog.Published(t, testcatalog.Foo{Name: "community", Version: "1.0.0"}))
}

// runAll runs the files of the suite that have specs to run, in sequence, and returns the results of all specs.
func runAll(t *testing.T, want table, specs map[key]result, p process) map[key]result {
	wanted := map[string]bool{}
	skip := map[string][]key{}
	for k := range specs {
		if *focus == "" && !*all && want[k].outcome == waits {
			skip[k.file] = append(skip[k.file], k)
		} else {
			wanted[k.file] = true
		}
	}
	for _, file := range slices.Sorted(maps.Keys(wanted)) {
		began := time.Now()
		p.file, p.skip = file, skip[file]
		results, err := p.run(t.Context())
		if err != nil {
			t.Error(err)
		}
		count := map[state]int{}
		for k, r := range results {
			if k.file == file {
				specs[k] = r
				count[r.state]++
			}
		}
		fmt.Printf("%s: %d passed, %d failed, %d not run in %s\n", file, count[passed], count[failed], count[skipped], time.Since(began).Round(time.Second))
	}
	return specs
}

// summary returns the numbers of specs that passed, failed unexpectedly, and are excused, by class.
func summary(want table, results map[key]result) string {
	count := map[string]int{}
	for k, r := range results {
		switch expected := want[k]; {
		case r.state == passed:
			count["passed"]++
		case expected.outcome == pass || expected.outcome == "":
			count["failed unexpectedly"]++
		default:
			count["excused "+expected.class]++
		}
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		out = append(out, fmt.Sprintf("%d %s", count[what], what))
	}
	return strings.Join(out, ", ")
}
