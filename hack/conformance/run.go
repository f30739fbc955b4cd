package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// The namespaces that the suite uses.
const (
	// globalNamespace is the namespace of catalogs that are visible from every namespace.
	globalNamespace = "olm"

	// testNamespace is the namespace in which the suite expects an OperatorGroup for all namespaces.
	testNamespace = "operators"
)

// process configures a run of the suite. A run is limited to one file, so a spec that hangs or panics affects no
// other file. Runs on one cluster must not overlap: the suite deletes CustomResourceDefinitions of other specs.
type process struct {
	binary     string
	sources    string // the folder of the suite's sources and test data
	kubeconfig string
	file       string // a file of the suite, without _test.go
	skip       []key  // specs to skip
	focus      string // a regular expression that selects specs, or empty for all
	folder     string // where the report and the output are written
}

// deadline is the timeout of a file. Ginkgo then interrupts the current spec and skips the remaining ones.
const deadline = 40 * time.Minute

// run runs the specs of a file. It returns the results of the whole suite, with the specs of other files as skipped.
func (p process) run(ctx context.Context) (map[key]result, error) {
	reportPath := filepath.Join(p.folder, p.file+".json")
	output, err := os.Create(filepath.Join(p.folder, p.file+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // the suite has its own handle
	if err := os.Remove(reportPath); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	args := append(clusterFlags(p.kubeconfig, p.sources),
		"-ginkgo.focus-file="+`/`+regexp.QuoteMeta(p.file)+`_test\.go$`,
		"-ginkgo.json-report="+reportPath,
		"-ginkgo.timeout="+deadline.String(),
		"-ginkgo.grace-period=10s",
		"-ginkgo.flake-attempts=2", // specs that wait for a fixed time fail on a busy machine
		"-ginkgo.v", "-ginkgo.no-color", "-test.timeout=0")
	if p.focus != "" {
		args = append(args, "-ginkgo.focus="+p.focus)
	}
	for _, k := range p.skip {
		args = append(args, "-ginkgo.skip="+expression(k.spec))
	}
	suite := exec.CommandContext(ctx, p.binary, args...)
	suite.Dir = p.sources
	suite.Stdout, suite.Stderr = output, output
	suite.Cancel = func() error { return suite.Process.Signal(syscall.SIGINT) }
	suite.WaitDelay = time.Minute
	ended := suite.Run() // also fails if a spec fails
	results, err := readReport(reportPath)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", p.file, errors.Join(ended, err))
	}
	return results, nil
}

func clusterFlags(kubeconfig, sources string) []string {
	return []string{
		"-kubeconfig=" + kubeconfig, "-namespace=" + testNamespace, "-olmNamespace=" + globalNamespace, "-catalogNamespace=" + globalNamespace,
		"-test-data-dir=" + filepath.Join(sources, "testdata"), "-gather-artifacts-script-path=/bin/true",
	}
}

// list returns every spec of the suite as skipped, without running any.
func list(binary, sources, folder string) (map[key]result, error) {
	path := filepath.Join(folder, "list.json")
	dry := exec.Command(binary, "-ginkgo.dry-run", "-ginkgo.json-report="+path)
	dry.Dir = sources
	if out, err := dry.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("listing the specs: %w\n%s", err, out)
	}
	out, err := readReport(path)
	for k := range out {
		out[k] = result{state: skipped}
	}
	return out, err
}

// expression returns a regular expression for the specs whose text equals spec or ends with it.
func expression(spec string) string {
	words := strings.Fields(spec)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return strings.Join(words, `\s+`) + `\s*$`
}
