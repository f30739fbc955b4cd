package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// PodReader reads the custom resources of one Probe, with the permissions of its own process, and writes its part of the
// status. It runs in the pod of a Probe with isolation Pod.
type PodReader struct {
	identity string
	plan     podPlan
	client   client.Client
	engine   *watch.Engine
	readings *readings
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]
	log      logr.Logger

	current  atomic.Bool // whether the status reflects the last reading
	reported bool        // whether it has reflected one: a pod that restarts keeps its identity
}

// NewPodReader returns a PodReader for the plan that the manager made.
func NewPodReader(config *rest.Config, identity, planText string, log logr.Logger) (*PodReader, error) {
	plan, err := parsePodPlan(planText)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil) // its permissions do not include discovery
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.ProbeKind), meta.RESTScopeNamespace)
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	out := &PodReader{
		identity: identity, plan: plan, client: c, engine: watch.New(config, log.WithName("watch")), log: log,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	out.readings = &readings{
		reader: out.engine, notify: out.notify, ownFirst: plan.HideForeign, budget: watches,
		byProbe: map[types.NamespacedName]map[reading]*watch.Subscription{},
	}
	return out, nil
}

// Run reads and reports until the context ends.
func (r *PodReader) Run(ctx context.Context) error {
	defer r.engine.Close()
	plan := r.plan.plan()
	subs, refused, err := r.readings.keep(r.plan.Probe, plan.wanted())
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	r.queue.Add(r.plan.Probe)
	for {
		key, ended := r.queue.Get()
		if ended {
			return nil
		}
		in := probestatus.Inputs{
			Problems: r.plan.Problems, HideForeign: r.plan.HideForeign, Reader: r.identity, Targets: r.plan.Targets, Version: r.plan.Version,
		}
		in.Resources = plan.resources(subs, refused)
		if err := r.report(ctx, in); err != nil {
			r.current.Store(false)
			r.log.Error(err, "Failed to update the status of the Probe")
			r.queue.AddRateLimited(key)
		} else {
			r.queue.Forget(key)
		}
		r.queue.Done(key)
	}
}

func (r *PodReader) notify(probe types.NamespacedName, urgent bool) {
	if urgent {
		r.queue.Add(probe)
	} else {
		r.queue.AddAfter(probe, coalesce)
	}
}

// report updates the status if it changed.
func (r *PodReader) report(ctx context.Context, in probestatus.Inputs) error {
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: r.plan.Probe.Namespace, Name: r.plan.Probe.Name}}
	if err := r.client.SubResource("status").Get(ctx, probe, probe); err != nil {
		return fmt.Errorf("getting the status of Probe %s: %w", r.plan.Probe, err)
	}
	probe.Generation = r.plan.Generation // of which the status is, even if the spec is newer
	in.Probe, in.Now, in.Restarted = probe, metav1.Now(), !r.reported
	if pending(in) {
		return nil
	}
	status := probestatus.ComputeRead(in)
	if wait := probestatus.AllowsIn(probe.Spec, status, in.Now.Time); wait > 0 {
		r.queue.AddAfter(r.plan.Probe, wait)
	}
	if equality.Semantic.DeepEqual(status, probe.Status) {
		r.done()
		return nil
	}
	out := probe.DeepCopy()
	out.Status = status
	err := r.client.Status().Update(ctx, out, client.FieldOwner(FieldOwner+"-reader"))
	if apierrors.IsConflict(err) { // the manager wrote its part
		r.queue.Add(r.plan.Probe)
		return nil
	}
	if err != nil {
		return fmt.Errorf("updating the status of Probe %s: %w", r.plan.Probe, err)
	}
	r.log.Info("Updated the status of the Probe", "conditions", len(status.Conditions))
	r.done()
	return nil
}

// done notes that the status reflects the last reading.
func (r *PodReader) done() {
	r.current.Store(true)
	r.reported = true
}

// Ready returns an error unless the status reflects the last reading.
func (r *PodReader) Ready(*http.Request) error {
	if !r.current.Load() {
		return errors.New("the status of the Probe is not current")
	}
	return nil
}
