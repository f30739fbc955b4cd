package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/controller/probe"
)

// ReaderAgent identifies the pods of Probes in the audit log of the API server.
const ReaderAgent = "operator-status-probe-reader"

// ReadProbe reads the custom resources of one Probe with isolation Pod until the context ends. It serves /healthz,
// and /readyz while the status of the Probe reflects the last reading.
func ReadProbe(ctx context.Context, config *rest.Config, log logr.Logger, identity, plan, healthAddress string) error {
	config = rest.CopyConfig(config)
	config.Wrap(withTimeout)
	config.UserAgent = ReaderAgent
	reader, err := probe.NewPodReader(config, identity, plan, log)
	if err != nil {
		return err
	}
	if healthAddress == "0" {
		return reader.Run(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, request *http.Request) {
		if err := reader.Ready(request); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Addr: healthAddress, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serving /readyz: %w", err))
		}
	}()
	defer func() { _ = server.Close() }()
	if err := reader.Run(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// ownImage returns a function that returns the given image, or that of the manager's own pod, or "" outside a cluster.
func ownImage(reader client.Reader, given string) func(context.Context) (string, error) {
	var mu sync.Mutex
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		name := os.Getenv("POD_NAME")
		if given != "" || name == "" {
			return given, nil
		}
		pods, options := &corev1.PodList{}, &client.ListOptions{
			Namespace: os.Getenv("POD_NAMESPACE"), FieldSelector: fields.OneTermEqualSelector("metadata.name", name),
		}
		if err := reader.List(ctx, pods, options); err != nil {
			return "", fmt.Errorf("reading the image of the manager's own pod %s: %w", name, err)
		}
		for _, pod := range pods.Items {
			for _, c := range pod.Spec.Containers {
				if c.Name == "manager" {
					given = c.Image // it cannot change
				}
			}
		}
		return given, nil
	}
}
