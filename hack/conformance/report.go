package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// state is the result of a spec.
type state string

const (
	passed  state = "passed"
	skipped state = "skipped"
	failed  state = "failed" // also panicked, timed out or interrupted
)

// result is the report of one spec.
type result struct {
	state   state
	message string // the start of the failure message, on one line
	took    time.Duration
}

// report holds the fields of Ginkgo's JSON report that are read.
type report struct {
	SpecReports []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		LeafNodeLocation        struct{ FileName string }
		State                   string
		RunTime                 time.Duration
		Failure                 struct{ Message string }
	}
}

// readReport returns the results of the specs in a JSON report. It fails if a setup node has failed.
func readReport(path string) (map[key]result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reports []report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	out := map[key]result{}
	for _, r := range reports {
		for _, s := range r.SpecReports {
			if s.LeafNodeType != "It" {
				if s.State == string(failed) {
					return nil, fmt.Errorf("%s failed: %s", s.LeafNodeType, s.Failure.Message)
				}
				continue
			}
			k := key{
				file: strings.TrimSuffix(filepath.Base(s.LeafNodeLocation.FileName), "_test.go"),
				spec: strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " "),
			}
			k.spec = strings.Join(strings.Fields(k.spec), " ")
			if _, twice := out[k]; twice {
				return nil, fmt.Errorf("two specs of %s are called %q", k.file, k.spec)
			}
			out[k] = result{state: stateOf(s.State), message: firstLine(s.Failure.Message), took: s.RunTime}
		}
	}
	return out, nil
}

func stateOf(ginkgo string) state {
	switch ginkgo {
	case "passed":
		return passed
	case "skipped", "pending":
		return skipped
	}
	return failed
}

// firstLine returns the start of a message, on one line.
func firstLine(message string) string {
	const most = 200
	out := strings.Join(strings.Fields(message), " ")
	if len(out) > most {
		out = out[:most] + "…"
	}
	return out
}
