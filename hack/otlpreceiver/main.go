// Command otlpreceiver receives traces over gRPC with the OpenTelemetry Collector's own receiver, and prints each batch as a
// line of OTLP's JSON, until it is interrupted. Tests read it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	address := flag.String("address", "127.0.0.1:4317", "Address to receive traces at.")
	cert := flag.String("cert", "", "Certificate file for TLS; none if empty.")
	key := flag.String("key", "", "Key file of the certificate.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address, *cert, *key); err != nil {
		fmt.Fprintln(os.Stderr, "otlpreceiver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, cert, key string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	grpc := map[string]any{"endpoint": address}
	if cert != "" {
		grpc["tls"] = map[string]any{"cert_file": cert, "key_file": key}
	}
	if err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"grpc": grpc}}).Unmarshal(config); err != nil {
		return err
	}
	out, err := consumer.NewTraces(func(_ context.Context, traces ptrace.Traces) error {
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err == nil {
			_, err = fmt.Printf("%s\n", line)
		}
		return err
	})
	if err != nil {
		return err
	}
	settings := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	traces, err := factory.CreateTraces(ctx, settings, config, out)
	if err != nil {
		return err
	}
	if err := traces.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	<-ctx.Done()
	return traces.Shutdown(context.WithoutCancel(ctx))
}
