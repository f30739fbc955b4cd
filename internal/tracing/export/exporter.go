// Package export sends the traces of updates to an OpenTelemetry collector.
package export

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/operator-status/operator-status/internal/tracing"
)

// Options are where to send traces. Everything else, such as certificates, is read from OpenTelemetry's environment variables.
type Options struct {
	// Endpoint is the <host>:<port> of a collector that receives OTLP over gRPC. If it is empty it is that of the environment.
	Endpoint string

	// Insecure disables TLS for Endpoint.
	Insecure bool

	// Version is that of the manager.
	Version string
}

// Enabled reports whether a collector is configured.
func (o Options) Enabled() bool {
	return o.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Exporter sends spans in batches. It never blocks, and drops spans while the collector cannot be reached for long.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// NewExporter returns an Exporter that has not connected yet.
func NewExporter(ctx context.Context, o Options, log logr.Logger) (*Exporter, error) {
	var options []otlptracegrpc.Option
	if o.Endpoint != "" {
		options = append(options, otlptracegrpc.WithEndpoint(o.Endpoint))
	}
	if o.Insecure {
		options = append(options, otlptracegrpc.WithInsecure())
	}
	client, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the trace collector: %w", err)
	}
	manager, err := service(ctx, o.Version)
	if err != nil {
		return nil, fmt.Errorf("creating the OpenTelemetry resource: %w", err)
	}
	return newExporter(client, manager, log), nil
}

// service describes the manager, unless OpenTelemetry's environment variables describe it otherwise.
func service(ctx context.Context, version string) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "operator-status"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
}

// newExporter returns an Exporter that sends spans of a service with to.
func newExporter(to sdktrace.SpanExporter, service *resource.Resource, log logr.Logger) *Exporter {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&quietExporter{SpanExporter: to, log: log}), sdktrace.WithResource(service), sdktrace.WithIDGenerator(spanIDs{}))
	return &Exporter{provider: provider, tracer: provider.Tracer("github.com/operator-status/operator-status")}
}

// Export enqueues a span.
func (e *Exporter) Export(s tracing.Span) {
	ctx := context.WithValue(context.Background(), spanKey{}, s)
	if s.Parent != (tracing.SpanID{}) {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID(s.Trace), SpanID: trace.SpanID(s.Parent), TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	_, span := e.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Start), trace.WithAttributes(convert(s.Attributes)...))
	for _, event := range s.Events {
		span.AddEvent(event.Name, trace.WithTimestamp(event.Time), trace.WithAttributes(convert(event.Attributes)...))
	}
	if s.Error != "" {
		span.SetStatus(codes.Error, s.Error)
	}
	span.End(trace.WithTimestamp(s.End))
}

// Shutdown sends the enqueued spans, until the context ends.
func (e *Exporter) Shutdown(ctx context.Context) error { return e.provider.Shutdown(ctx) }

func convert(in []tracing.Attribute) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(in))
	for _, a := range in {
		out = append(out, attribute.String(a.Key, a.Value))
	}
	return out
}

// spanKey is the key of a context for the span to export.
type spanKey struct{}

// spanIDs generates the identifiers that the span in the context has.
type spanIDs struct{}

func (spanIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s := ctx.Value(spanKey{}).(tracing.Span)
	return trace.TraceID(s.Trace), trace.SpanID(s.ID)
}

func (spanIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return trace.SpanID(ctx.Value(spanKey{}).(tracing.Span).ID)
}

// quietExporter logs when exporting begins to fail and when it works again, instead of every failure. The batcher calls it from
// one goroutine.
type quietExporter struct {
	sdktrace.SpanExporter
	log     logr.Logger
	failing bool
}

func (q *quietExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := q.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !q.failing:
		q.log.Error(err, "Failed to export traces; dropping them until the collector accepts them")
	case err == nil && q.failing:
		q.log.Info("Resumed exporting traces")
	}
	q.failing = err != nil
	return nil
}
