package export

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/tracing"
)

const (
	queueSize    = 1000 // updates that wait to be recorded; more are dropped
	flushTimeout = 5 * time.Second
)

// Recorder exports the spans that ended with an update of a Subscription's status, while this process leads.
type Recorder struct {
	live     client.Reader
	exporter *Exporter
	leading  <-chan struct{}
	log      logr.Logger
	updates  chan update
}

// update is an update of a Subscription with which something ended.
type update struct {
	before, after *v1alpha1.Subscription
	needs         tracing.Needs
}

// NewRecorder returns a Recorder that ignores everything before leading is closed. It reads InstallPlans and
// ClusterServiceVersions live, since a cache may be behind the status that was computed from them.
func NewRecorder(live client.Reader, exporter *Exporter, leading <-chan struct{}, log logr.Logger) *Recorder {
	return &Recorder{live: live, exporter: exporter, leading: leading, log: log, updates: make(chan update, queueSize)}
}

// Handler returns a handler for the informer of Subscriptions.
func (r *Recorder) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		select {
		case <-r.leading:
		default:
			return
		}
		u := update{before: before.(*v1alpha1.Subscription), after: after.(*v1alpha1.Subscription)}
		var ended bool
		if u.needs, ended = tracing.Reads(u.before, u.after); !ended {
			return
		}
		select {
		case r.updates <- u:
		default:
			r.log.Info("Dropped part of a trace: the export queue is full", "subscription", client.ObjectKeyFromObject(u.after))
		}
	}}
}

// Start exports spans until the context ends, and then the remaining ones within flushTimeout.
func (r *Recorder) Start(ctx context.Context) error {
	for {
		select {
		case u := <-r.updates:
			r.record(ctx, u)
			continue
		case <-ctx.Done():
		}
		break
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	for len(r.updates) > 0 && ctx.Err() == nil {
		r.record(ctx, <-r.updates)
	}
	if err := r.exporter.Shutdown(ctx); err != nil {
		r.log.Error(err, "Dropped the last traces")
	}
	return nil
}

// NeedLeaderElection makes the manager start it on every replica, and end it with the process.
func (r *Recorder) NeedLeaderElection() bool { return false }

// record exports the spans that ended with an update.
func (r *Recorder) record(ctx context.Context, u update) {
	in := tracing.Inputs{Before: u.before, After: u.after}
	var err error
	if in.Plan, err = read[olm.InstallPlan](ctx, r.live, u.after.Namespace, u.needs.Plan); err == nil {
		in.CSV, err = read[v1alpha1.ClusterServiceVersion](ctx, r.live, u.after.Namespace, u.needs.CSV)
	}
	if err != nil {
		r.log.Error(err, "Omitted part of a trace", "subscription", client.ObjectKeyFromObject(u.after))
		return
	}
	for _, span := range tracing.Ended(in) {
		r.exporter.Export(span)
	}
}

// read returns an object, or nil if it does not exist or name is empty.
func read[T any, O interface {
	*T
	client.Object
}](ctx context.Context, live client.Reader, namespace, name string) (*T, error) {
	if name == "" {
		return nil, nil
	}
	out := O(new(T))
	err := live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, out)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s/%s: %w", namespace, name, err)
	}
	if err != nil {
		return nil, nil
	}
	return (*T)(out), nil
}
