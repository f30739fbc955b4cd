package export

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/operator-status/operator-status/internal/tracing"
)

var (
	whole = tracing.Span{Trace: tracing.TraceID{1}, ID: tracing.SpanID{2}, Name: "update", Start: time.Unix(1000, 0), End: time.Unix(1060, 0)}
	part  = tracing.Span{
		Trace: whole.Trace, ID: tracing.SpanID{3}, Parent: whole.ID, Name: "part", Start: time.Unix(1005, 0), End: time.Unix(1025, 0),
		Attributes: []tracing.Attribute{{Key: "k", Value: "v"}},
		Events:     []tracing.Event{{Name: "Pending", Time: time.Unix(1010, 0), Attributes: []tracing.Attribute{{Key: "e", Value: "w"}}}},
		Error:      "it failed",
	}
)

// sink is a SpanExporter that keeps the spans, or fails.
type sink struct {
	mu   sync.Mutex
	fail error
	got  []sdktrace.ReadOnlySpan
}

func (s *sink) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, spans...)
	return s.fail
}

func (s *sink) Shutdown(context.Context) error { return nil }

// names returns the names of the spans, in their order.
func (s *sink) names() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.got {
		out = append(out, span.Name())
	}
	return out
}

// TestExport verifies that spans are exported as they were computed.
func TestExport(t *testing.T) {
	to := &sink{}
	e := newExporter(to, resource.Empty(), logr.Discard())
	for _, want := range []tracing.Span{part, whole} {
		e.Export(want)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []tracing.Span
	for _, s := range to.got {
		got = append(got, toSpan(s))
	}
	if diff := cmp.Diff([]tracing.Span{part, whole}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// toSpan converts an exported span.
func toSpan(s sdktrace.ReadOnlySpan) tracing.Span {
	out := tracing.Span{
		Trace: tracing.TraceID(s.SpanContext().TraceID()), ID: tracing.SpanID(s.SpanContext().SpanID()),
		Name: s.Name(), Start: s.StartTime(), End: s.EndTime(),
	}
	if parent := s.Parent().SpanID(); parent != (trace.SpanID{}) {
		out.Parent = tracing.SpanID(parent)
	}
	if s.Status().Code == codes.Error {
		out.Error = s.Status().Description
	}
	for _, a := range s.Attributes() {
		out.Attributes = append(out.Attributes, tracing.Attribute{Key: string(a.Key), Value: a.Value.AsString()})
	}
	for _, e := range s.Events() {
		event := tracing.Event{Name: e.Name, Time: e.Time}
		for _, a := range e.Attributes {
			event.Attributes = append(event.Attributes, tracing.Attribute{Key: string(a.Key), Value: a.Value.AsString()})
		}
		out.Events = append(out.Events, event)
	}
	return out
}

// TestQuiet verifies that failures are logged when they begin and when they end.
func TestQuiet(t *testing.T) {
	var logged []string
	to := &sink{}
	q := &quietExporter{SpanExporter: to, log: funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})}
	for _, fail := range []error{nil, errors.New("refused"), errors.New("refused"), nil, nil, errors.New("refused")} {
		to.fail = fail
		if err := q.ExportSpans(t.Context(), nil); err != nil {
			t.Errorf("OpenTelemetry would log %v", err)
		}
	}
	const failed = `"msg"="Failed to export traces; dropping them until the collector accepts them" "error"="refused"`
	want := []string{failed, `"level"=0 "msg"="Resumed exporting traces"`, failed}
	if diff := cmp.Diff(want, logged); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnreachable verifies that a collector that accepts connections and never replies neither blocks an export nor the end.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // nothing is read from it
	e, err := NewExporter(t.Context(), Options{Endpoint: silent.Addr().String(), Insecure: true}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // more than fit into the queue
		e.Export(part)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := e.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the last traces should be dropped: %v", err)
	}
}

func TestEnabled(t *testing.T) {
	cases := map[string]struct {
		reason  string
		options Options
		env     string
		want    bool
	}{
		"Default":   {"Traces are disabled by default.", Options{}, "", false},
		"Flag":      {"The endpoint flag enables traces.", Options{Endpoint: "collector:4317"}, "", true},
		"Env":       {"OpenTelemetry's variable for all signals enables traces.", Options{}, "OTEL_EXPORTER_OTLP_ENDPOINT", true},
		"EnvTraces": {"OpenTelemetry's variable for traces enables traces.", Options{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", true},
		"Metrics":   {"OpenTelemetry's variable for metrics does not enable traces.", Options{}, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", false},
		"Insecure":  {"The flag for insecure connections does not enable traces without an endpoint.", Options{Insecure: true}, "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, env := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
				t.Setenv(env, "")
			}
			if tc.env != "" {
				t.Setenv(tc.env, "http://127.0.0.1:4317")
			}
			if got := tc.options.Enabled(); got != tc.want {
				t.Errorf("%s\ngot %v", tc.reason, got)
			}
		})
	}
}

func TestService(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=east,service.name=ours")
	got, err := service(t.Context(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"k8s.cluster.name=east", "service.name=ours", "service.version=1.2.3", "telemetry.sdk.name=opentelemetry"} {
		if !slices.Contains(attributesOf(got), want) {
			t.Errorf("%v lacks %s", got, want)
		}
	}
}

func attributesOf(r *resource.Resource) (out []string) {
	for _, a := range r.Attributes() {
		out = append(out, string(a.Key)+"="+a.Value.AsString())
	}
	return out
}
