package lifecycle

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestTrace verifies with the OpenTelemetry Collector's own receiver that an update that waits for an approval and is held
// is one trace, although the manager is killed meanwhile, and so is an install, and one that fails.
func TestTrace(t *testing.T) {
	receiver := startReceiver(t)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100") // milliseconds
	flags := []string{"--catalog-dir=" + t.TempDir(), "--tracing-endpoint=" + receiver.address, "--tracing-insecure"}
	manager := cluster.StartManager(t, flags...)
	s, sub, versions := installHolding(t, "foo")
	busy := s.custom(t, "foo", "example", `[{type: Migrating, status: "True"}]`)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: versions[0].CSV()}}
	s.await(t, probe, func() string { return checkNotUpgradeable(probe) })
	killed := probe.Status.Reader

	manual := []byte(`{"spec":{"installPlanApproval":"Manual"}}`)
	if err := cluster.Client.Patch(t.Context(), sub, client.RawPatch(types.MergePatchType, manual)); err != nil {
		t.Fatal(err)
	}
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "example")
	s.approve(t, sub)
	const approval = "InstallPlan awaiting approval"
	receiver.await(t, "the approval of the update", func(s span) bool { return s.Name == approval })
	manager.Kill(t)
	manager = cluster.StartManager(t, flags...)
	s.await(t, probe, func() string {
		if probe.Status.Reader == killed {
			return "the new manager has not read the custom resources"
		}
		return ""
	})
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "example")
	finishMigration(t, busy)
	s.awaitInstalled(t, sub, versions[1].CSV())
	update := receiver.trace(t, fmt.Sprintf("update %s -> %s", versions[0].CSV(), versions[1].CSV()))

	for _, want := range []struct{ reason, name, key, value string }{
		{"The span of a hold has its reason.", "held", "operatorstatus.reason", v1alpha1.ReasonProbeNotUpgradeable},
		{"The span of a hold names the blocking custom resource.", "held", "operatorstatus.message", "Waiting for Foo " + s.namespace + "/example: Migrating is True"},
		{"The span of an InstallPlan has the name of the InstallPlan.", "InstallPlan installing", "olm.install_plan.name", sub.Status.InstallPlanRef.Name},
		{"The root span has the name of the replaced ClusterServiceVersion.", update[0].Name, "olm.csv.replaces", versions[0].CSV()},
		{"Every span has the name of its Subscription.", approval, "olm.subscription.name", sub.Name},
		{"Every span has its namespace as OpenTelemetry's attribute.", approval, "k8s.namespace.name", s.namespace},
	} {
		i := slices.IndexFunc(update, func(s span) bool { return s.Name == want.name })
		if i < 0 || !strings.Contains(update[i].attribute(want.key), want.value) {
			t.Errorf("%s\n%s of %q should have %q; got %+v", want.reason, want.key, want.name, want.value, update)
		}
	}

	s.offer(t, publish(t, versions...), publish(t, testcatalog.Foo{Name: "bar", Version: "1.0.0"}),
		publish(t, testcatalog.Foo{Name: "baz", Version: "1.0.0", Change: testcatalog.NeverStarts}))
	s.awaitInstalled(t, s.subscribe(t, "bar"), "bar-operator.v1.0.0")
	checkDocumented(t, tree(update), tree(receiver.trace(t, "install bar-operator.v1.0.0")))
	s.awaitTrue(t, s.subscribe(t, "baz"), v1alpha1.SubscriptionInstalledCSVFailed, v1alpha1.ReasonCSVFailed)
	receiver.await(t, "the failed install", func(s span) bool {
		return s.Name == "ClusterServiceVersion baz-operator.v1.0.0" && s.Status.Code == statusError
	})
	receiver.check(t)

	receiver.stop(t) // without its collector, the manager works and ends as usual
	s.offer(t, publish(t, testcatalog.Holding("foo", "1.0.0", "2.0.0", "3.0.0")...))
	s.approve(t, sub)
	s.awaitInstalled(t, sub, "foo-operator.v3.0.0")
	manager.CheckAlive(t)
	manager.Terminate(t)
}

// span is a span in OTLP's JSON.
type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []keyValue
	Events                              []struct{ Name, TimeUnixNano string }
	Status                              struct {
		Code    int
		Message string
	}
}

const statusError = 2

type keyValue struct {
	Key   string
	Value struct{ StringValue string }
}

func (s span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue
		}
	}
	return ""
}

// nanoseconds returns a time of a span.
func nanoseconds(t *testing.T, text string) int64 {
	t.Helper()
	out, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// receiver is a running receiver of traces.
type receiver struct {
	address, output string
	command         *exec.Cmd
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	output, err := os.Create(filepath.Join(t.ArtifactDir(), "traces.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := &receiver{address: testcluster.FreeAddress(t), output: output.Name()}
	out.command = exec.Command(filepath.Join(testcluster.Root(), "bin", "otlpreceiver"), "-address="+out.address)
	out.command.Stdout, out.command.Stderr = output, os.Stderr
	if err := out.command.Start(); err != nil {
		t.Fatalf("starting bin/otlpreceiver (`make e2e` builds it): %v", err)
	}
	t.Cleanup(func() {
		if out.command.ProcessState == nil {
			_ = out.command.Process.Kill() // the test failed
			_ = out.command.Wait()
		}
		_ = output.Close()
	})
	return out
}

func (r *receiver) stop(t *testing.T) {
	t.Helper()
	if err := r.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := r.command.Wait(); err != nil {
		t.Fatal(err)
	}
}

// spans returns all that have been received, in that order.
func (r *receiver) spans(t *testing.T) (out []span) {
	t.Helper()
	file, err := os.Open(r.output)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return out // the rest has not been written yet
		}
		var batch struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []keyValue }
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err := json.Unmarshal(line, &batch); err != nil {
			t.Fatal(err)
		}
		for _, of := range batch.ResourceSpans {
			if service := (span{Attributes: of.Resource.Attributes}).attribute("service.name"); service != "operator-status" {
				t.Errorf("the service name is %q, want operator-status", service)
			}
			for _, scope := range of.ScopeSpans {
				out = append(out, scope.Spans...)
			}
		}
	}
}

// await waits until such a span has been received.
func (r *receiver) await(t *testing.T, what string, is func(span) bool) span {
	t.Helper()
	var got []span
	at := -1
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testcluster.Timeout, true, func(context.Context) (bool, error) {
		got = r.spans(t)
		at = slices.IndexFunc(got, is)
		return at >= 0, nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v; received %+v", what, err, got)
	}
	return got[at]
}

// trace waits for a root of that name, and returns the spans of its trace, from the root on.
func (r *receiver) trace(t *testing.T, root string) []span {
	t.Helper()
	out := []span{r.await(t, "the span "+root, func(s span) bool { return s.Name == root })}
	for _, s := range r.spans(t) {
		if s.TraceID == out[0].TraceID && s.SpanID != out[0].SpanID {
			out = append(out, s)
		}
	}
	return out
}

// check verifies of all traces that their parts are within their roots, and that no identifier has two meanings.
func (r *receiver) check(t *testing.T) {
	t.Helper()
	spans := r.spans(t)
	byID, roots := map[string]span{}, map[string]span{}
	for _, s := range spans {
		if other, ok := byID[s.SpanID]; ok {
			if diff := gocmp.Diff(other, s); diff != "" {
				t.Errorf("two spans have the same identifier: %s", diff)
			}
		}
		byID[s.SpanID] = s
		if s.ParentSpanID == "" {
			roots[s.TraceID] = s
		}
	}
	for _, s := range spans {
		root, ended := roots[s.TraceID]
		if !ended || s.SpanID == root.SpanID {
			continue
		}
		start, end := nanoseconds(t, s.StartTimeUnixNano), nanoseconds(t, s.EndTimeUnixNano)
		from, to := nanoseconds(t, root.StartTimeUnixNano), nanoseconds(t, root.EndTimeUnixNano)
		if s.ParentSpanID != root.SpanID || start > end || start < from || end > to {
			t.Errorf("span %+v\nis not within its root %+v", s, root)
		}
	}
}

// tree renders a trace.
func tree(spans []span) string {
	out := spans[0].Name + "\n"
	for i, s := range spans[1:] {
		line := "├── "
		if i == len(spans)-2 {
			line = "└── "
		}
		out += line + s.Name + cmp.Or(strings.TrimSuffix(" ("+s.attribute("operatorstatus.reason")+")", " ()"), "") + "\n"
	}
	return out
}

// checkDocumented verifies that docs/tracing.md shows those trees.
func checkDocumented(t *testing.T, trees ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "docs", "tracing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range trees {
		if shown := "    " + strings.ReplaceAll(strings.TrimSpace(tree), "\n", "\n    ") + "\n"; !strings.Contains(string(text), shown) {
			t.Errorf("docs/tracing.md does not show\n%s", shown)
		}
	}
}
