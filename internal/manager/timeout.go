package manager

import (
	"context"
	"io"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/operator-status/operator-status/internal/paged"
)

// requestTimeout is how long a request may take that is no watch. The API server gives up after as long, too.
const requestTimeout = time.Minute

// withTimeout returns a transport that neither waits for long nor has client-go wait. A worker that waits for one kind is
// lost to all others: for a kind whose conversion webhook is away, the API server asks for half a minute with each
// refusal, and client-go sleeps for that long, ten times. Instead the error is returned, and the work queue backs off.
func withTimeout(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if watches(request) {
			return withoutRetryAfter(next.RoundTrip(request))
		}
		ctx, cancel := context.WithTimeout(request.Context(), requestTimeout)
		response, err := withoutRetryAfter(next.RoundTrip(request.WithContext(ctx)))
		if err != nil {
			cancel()
			return nil, err
		}
		response.Body = &deadlined{ReadCloser: response.Body, cancel: cancel}
		return response, nil
	})
}

func watches(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// withoutRetryAfter removes the Retry-After header from an error response.
func withoutRetryAfter(response *http.Response, err error) (*http.Response, error) {
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// deadlined ends the deadline of a request once its response is read.
type deadlined struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (d *deadlined) Close() error {
	defer d.cancel()
	return d.ReadCloser.Close()
}

// inPages is a manager whose controllers read lists from the API server in pages, and record Events that it accepts.
type inPages struct{ ctrl.Manager }

func (m inPages) GetAPIReader() client.Reader { return paged.Reader{Reader: m.Manager.GetAPIReader()} }

func (m inPages) GetEventRecorder(name string) recorder.EventRecorder {
	return notes{m.Manager.GetEventRecorder(name)}
}
