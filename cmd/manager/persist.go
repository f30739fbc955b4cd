package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// firstPause and longestPause are how long a manager waits after the API server has failed before it starts again.
	// Each pause is twice the one before.
	firstPause   = time.Second
	longestPause = time.Minute

	// variablePause holds the last pause of a manager that has started again, in seconds.
	variablePause = "OPERATOR_STATUS_LAST_PAUSE"

	// settled is how long a manager has to run for the next pause to be the first one again.
	settled = 5 * time.Minute
)

// persist runs the manager, and again after a pause if it ends because the API server fails. It does so in the same
// process, which replaces itself: a container that exits repeatedly reports less, and is restarted ever later even
// once the API server is back. While it pauses, it is alive and not ready.
func persist(ctx context.Context, log logr.Logger, healthAddress string, run func(context.Context) error) error {
	began := time.Now()
	err := run(ctx)
	if err == nil || ctx.Err() != nil || !ofAPIServer(err) {
		return err
	}
	pause := nextPause(os.Getenv(variablePause), time.Since(began))
	log.Error(err, "The API server failed, restarting the manager", "after", pause.String())
	serve(ctx, healthAddress, pause)
	if ctx.Err() != nil {
		return nil // it was asked to end
	}
	self, executableErr := os.Executable()
	if executableErr != nil {
		return errors.Join(err, executableErr)
	}
	seconds := strconv.FormatFloat(pause.Seconds(), 'f', -1, 64)
	return errors.Join(err, syscall.Exec(self, os.Args, append(os.Environ(), variablePause+"="+seconds)))
}

func nextPause(last string, ran time.Duration) time.Duration {
	seconds, err := strconv.ParseFloat(last, 64)
	if err != nil || !(seconds > 0) || ran > settled {
		return firstPause
	}
	return time.Duration(min(max(2*seconds, firstPause.Seconds()), longestPause.Seconds()) * float64(time.Second))
}

// serve reports that the process is alive and not ready, for a while.
func serve(ctx context.Context, address string, during time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	if address != "" && address != "0" {
		mux := http.NewServeMux()
		mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
		mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the API server failed: waiting to restart", http.StatusServiceUnavailable)
		})
		server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Second}
		go func() { _ = server.ListenAndServe() }() // without it, the kubelet restarts the container
		defer func() { _ = server.Close() }()
	}
	<-ctx.Done()
}

// ofAPIServer reports whether an error is that of a request to the API server that may succeed later. A lost lease is
// not such an error: the process ends, so none of its work continues.
func ofAPIServer(err error) bool {
	if listening, ok := errors.AsType[*net.OpError](err); ok && listening.Op == "listen" {
		return false
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return reason != metav1.StatusReasonInvalid && reason != metav1.StatusReasonBadRequest
	}
	return errors.Is(err, context.DeadlineExceeded)
}
