package watch

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// listWatch lists and watches a target through the decoder.
type listWatch struct {
	target Target
	client rest.Interface
	plan   *plan

	// failed is called with the error of a failed list or watch, and worked when a watch has been opened. heard is called for
	// each object and bookmark, and also when a list was read or a watch was opened after it: these may have no objects.
	failed func(error)
	worked func()
	heard  func()
}

var _ cache.ListerWatcherWithContext = listWatch{}

// ListWithContext lists the target's objects.
func (l listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.list(ctx, options)
	if err != nil {
		l.failed(err)
		return nil, err
	}
	return list, nil
}

func (l listWatch) list(ctx context.Context, options metav1.ListOptions) (*page, error) {
	body, err := l.stream(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // read to its end, or failed
	meta, objects, err := newDecoder(body, l.plan, l.heard).list()
	if err != nil {
		return nil, err
	}
	return &page{ListMeta: meta, Items: []objectBatch{{Object: noMeta, contents: objects}}}, nil
}

// WatchWithContext watches the target's objects.
func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.Watch = true
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	body, err := l.stream(ctx, options)
	if err != nil {
		if isLastWord(err, initial) {
			l.failed(err)
		}
		return nil, err
	}
	events := &eventStream{decoder: newDecoder(body, l.plan, l.heard), body: body}
	if initial {
		events.initial = &objectBatch{Object: noMeta, streamed: true}
	} else {
		l.heard()
		l.worked()
	}
	return apiwatch.NewStreamWatcher(events, apierrors.NewClientErrorReporter(500, "GET", "ClientWatchDecoding")), nil
}

// isLastWord reports whether a Reflector does not list right after that error of a watch. A list would succeed, or
// return a better error.
func isLastWord(err error, initial bool) bool {
	if initial {
		return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
	}
	return !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err)
}

// List implements cache.ListerWatcher. A Reflector does not call it, because ListWithContext exists.
func (l listWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher, like List.
func (l listWatch) Watch(options metav1.ListOptions) (apiwatch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}

func (l listWatch) stream(ctx context.Context, options metav1.ListOptions) (io.ReadCloser, error) {
	body, err := l.client.Get().
		MaxRetries(0). // or the client would wait as long as the API server asks, before it reports that
		AbsPath("/apis", l.target.Resource.Group, l.target.Resource.Version).
		NamespaceIfScoped(l.target.Namespace, l.target.Namespace != "").
		Resource(l.target.Resource.Resource).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", l.target.Resource.GroupResource(), err)
	}
	return body, nil
}

// eventStream is a decoder for a StreamWatcher.
type eventStream struct {
	decoder *decoder
	body    io.ReadCloser

	// initial collects the initial list until it is complete. end is the bookmark that ends it.
	initial *objectBatch
	end     *object
}

// Decode reads the next event. It returns the initial list as one event.
func (s *eventStream) Decode() (apiwatch.EventType, runtime.Object, error) {
	if end := s.end; end != nil {
		s.end = nil
		return apiwatch.Bookmark, end, nil
	}
	for {
		kind, r, err := s.decoder.event()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return "", nil, io.ErrUnexpectedEOF // unwrapped: after a lost connection a Reflector watches again, without a list
		case err != nil:
			return "", nil, err
		case kind == apiwatch.Error && r.failure == nil:
			return kind, &metav1.Status{Status: metav1.StatusFailure}, nil
		case kind == apiwatch.Error:
			return kind, r.failure, nil
		case s.initial == nil:
			return kind, newObject(r), nil
		case kind == apiwatch.Added, kind == apiwatch.Modified:
			s.initial.set(string(r.key), r.pattern)
		case kind == apiwatch.Deleted:
			s.initial.unset(string(r.key))
		case kind == apiwatch.Bookmark && r.initialEnd:
			initial := s.initial
			s.initial, s.end = nil, newObject(r)
			return apiwatch.Added, initial, nil
		}
	}
}

// Close ends the stream.
func (s *eventStream) Close() { _ = s.body.Close() } // the error of an abandoned stream does not matter
