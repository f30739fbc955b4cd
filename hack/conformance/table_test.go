package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	passes := key{"csv_e2e", "passes"}
	fails := key{"csv_e2e", "fails"}
	slow := key{"csv_e2e", "waits in vain"}
	expected := table{passes: {outcome: pass}, fails: {excused, "B", "a decision"}, slow: {waits, "A", "a pod"}}
	for name, tc := range map[string]struct {
		reason  string
		results map[key]result
		want    []string
	}{
		"as expected": {
			reason:  "No difference is reported if specs pass, fail and are skipped as in the table.",
			results: map[key]result{passes: {state: passed}, fails: {state: failed}, slow: {state: skipped}},
		},
		"stopped passing": {
			reason:  "A spec that stopped passing is reported with the first line of its failure.",
			results: map[key]result{passes: {state: failed, message: "timed out"}, fails: {state: failed}, slow: {state: failed}},
			want:    []string{`csv_e2e: "passes": stopped passing: timed out`},
		},
		"started passing": {
			reason:  "An excused spec that passes is reported.",
			results: map[key]result{passes: {state: passed}, fails: {state: passed}, slow: {state: passed}},
			want: []string{
				`csv_e2e: "fails": started passing: it is excused with class B (a decision)`,
				`csv_e2e: "waits in vain": started passing: it is excused with class A (a pod)`,
			},
		},
		"not run": {
			reason:  "A spec that should pass and was not run is reported.",
			results: map[key]result{passes: {state: skipped}, fails: {state: skipped}, slow: {state: skipped}},
			want:    []string{`csv_e2e: "passes": was not run`},
		},
		"another suite": {
			reason:  "Specs that only the suite or only the table has are reported.",
			results: map[key]result{passes: {state: passed}, fails: {state: failed}, {"csv_e2e", "new"}: {state: passed}},
			want: []string{
				`csv_e2e: "new": is not in the table`,
				`csv_e2e: "waits in vain": is in the table, and not in the suite`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, expected.compare(tc.results)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	known := key{"csv_e2e", "known"}
	for name, tc := range map[string]struct {
		reason string
		before row
		state  state
		want   row
	}{
		"mended":      {"A spec that passes loses its excuse.", row{excused, "D", "wording"}, passed, row{outcome: pass}},
		"broken":      {"A spec that fails becomes excused and unclassified.", row{outcome: pass}, failed, row{excused, "D", "not yet classified"}},
		"fails still": {"A spec that still fails keeps its excuse.", row{waits, "A", "a pod"}, failed, row{waits, "A", "a pod"}},
		"not run":     {"A spec that was not run keeps its outcome.", row{outcome: pass}, skipped, row{outcome: pass}},
	} {
		t.Run(name, func(t *testing.T) {
			got := table{known: tc.before}.update(map[key]result{known: {state: tc.state}})
			if got[known] != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got[known], tc.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	text, err := os.ReadFile(tablePath)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.String(), string(text)); diff != "" {
		t.Errorf("the table differs from the output of -update (-want +got):\n%s", diff)
	}
	for name, bad := range map[string]string{
		"no such outcome":    "csv_e2e\tmaybe\tB\treason\tspec\n",
		"no such class":      "csv_e2e\texcused\tZ\treason\tspec\n",
		"no reason":          "csv_e2e\texcused\tB\t\tspec\n",
		"a reason to pass":   "csv_e2e\tpass\t\treason\tspec\n",
		"a column too few":   "csv_e2e\tpass\t\tspec\n",
		"twice the same key": "csv_e2e\tpass\t\t\tspec\ncsv_e2e\tpass\t\t\tspec\n",
	} {
		if _, err := parseTable(header + bad); err == nil {
			t.Errorf("a table with %s returned no error", name)
		}
	}
}

func TestReadReport(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "report.json")
	text := `[{"SpecReports": [
		{"LeafNodeType": "BeforeSuite", "State": "passed"},
		{"ContainerHierarchyTexts": ["Operator", "when  it runs"], "LeafNodeType": "It", "LeafNodeText": "runs",
		 "LeafNodeLocation": {"FileName": "test/e2e/csv_e2e_test.go"}, "State": "passed", "RunTime": 2000000000},
		{"ContainerHierarchyTexts": ["Operator"], "LeafNodeType": "It", "LeafNodeText": "panics",
		 "LeafNodeLocation": {"FileName": "test/e2e/csv_e2e_test.go"}, "State": "panicked", "Failure": {"Message": "nil\nmap"}}
	]}]`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readReport(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[key]result{
		{"csv_e2e", "Operator when it runs runs"}: {state: passed, took: 2 * time.Second},
		{"csv_e2e", "Operator panics"}:            {state: failed, message: "nil map"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, `"State": "passed"`, `"State": "failed"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readReport(path); err == nil {
		t.Error("the report of a suite that failed to start returned no error")
	}
}
