package watch

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Target is the resource, namespace and identity of one Reflector.
type Target struct {
	// Identity is the service account to impersonate. The zero value does not impersonate.
	Identity types.NamespacedName

	// Resource is the resource to read.
	Resource schema.GroupVersionResource

	// Namespace is the namespace to read. Empty means all, or a cluster-scoped resource.
	Namespace string
}

// Engine reads custom resources for Subscriptions. It is safe for concurrent use.
type Engine struct {
	clients clients
	log     logr.Logger
	errors  *prometheus.CounterVec // by reason

	mu      sync.Mutex
	sources map[Target]*source
	closed  chan struct{}
}

// New returns an Engine for the API server of the given config. Close it to end its watches.
func New(config *rest.Config, log logr.Logger) *Engine {
	out := &Engine{
		clients: newClients(config),
		log:     log,
		errors:  newErrors(),
		sources: map[Target]*source{},
		closed:  make(chan struct{}),
	}
	go out.reviewSources()
	return out
}

// reviewSources reviews all sources regularly until the Engine is closed.
func (e *Engine) reviewSources() {
	tick := time.NewTicker(reviewEvery)
	defer tick.Stop()
	for {
		select {
		case <-e.closed:
			return
		case <-tick.C:
			for _, s := range e.all() {
				s.review(uptime())
			}
		}
	}
}

func (e *Engine) all() []*source {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.sources))
}

// Subscribe judges the objects of a target until the Subscription is closed.
//
// It returns an error if the Engine is closed or no client can be created for the target's identity, and
// ErrTooManyTerms. Later errors, such as a missing permission, are in the Snapshot of the Subscription and are retried.
func (e *Engine) Subscribe(request Request) (*Subscription, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isClosed() {
		return nil, fmt.Errorf("subscribing to %s: the engine is closed", request.Target.Resource)
	}
	s, shared := e.sources[request.Target]
	if !shared {
		client, err := e.clients.as(request.Target.Identity)
		if err != nil {
			return nil, err
		}
		s = newSource(request.Target, client, e.log, e.errors)
	}
	sub := &Subscription{engine: e, source: s, request: request}
	if err := s.subscribe(sub); err != nil {
		return nil, fmt.Errorf("subscribing to %s: %w", request.Target.Resource, err)
	}
	e.sources[request.Target] = s
	return sub, nil
}

// Close ends all watches. Subscriptions keep their last Snapshot.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.isClosed() {
		close(e.closed)
	}
	for target, s := range e.sources {
		s.stop()
		delete(e.sources, target)
	}
}

func (e *Engine) isClosed() bool {
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

// unsubscribe ends a Subscription, and its source if it was the last one.
func (e *Engine) unsubscribe(sub *Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := sub.source
	if s.unsubscribe(sub) > 0 || e.sources[s.target] != s {
		return
	}
	s.stop()
	delete(e.sources, s.target)
}

// clients makes clients that read JSON. All of them share their connections.
type clients struct{ config *rest.Config }

func newClients(config *rest.Config) clients {
	config = rest.CopyConfig(config)
	config.QPS = -1 // API priority and fairness limits enough
	config.Timeout = 0
	config.AcceptContentTypes = "application/json"
	config.ContentType = "application/json"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return clients{config}
}

// as returns a client that impersonates an identity.
func (c clients) as(identity types.NamespacedName) (rest.Interface, error) {
	config := rest.CopyConfig(c.config)
	if identity.Name != "" {
		config.Impersonate = rest.ImpersonationConfig{
			UserName: serviceaccount.MakeUsername(identity.Namespace, identity.Name),
		}
	}
	out, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for service account %s: %w", identity, err)
	}
	return out, nil
}
