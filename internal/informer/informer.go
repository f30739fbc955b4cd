// Package informer decodes custom resources for the manager's cache one by one. The informers of client-go decode a
// list as a whole: one object that does not fit its Go type, although the schema of its CustomResourceDefinition allows
// it, keeps all objects of its kind out of the cache.
package informer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewCache returns a function that creates a cache whose informers decode the custom resources of the given API groups
// one by one. An object that cannot be decoded is reported. Its previous version, if any, stays in the cache until the
// informer lists again.
func NewCache(report *Undecodable, groups ...string) cache.NewCacheFunc {
	return func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		of := source{
			config: config, http: o.HTTPClient, mapper: o.Mapper, scheme: o.Scheme,
			codecs: serializer.NewCodecFactory(o.Scheme), report: report,
		}
		o.NewInformer = func(whole toolscache.ListerWatcher, object runtime.Object, resync time.Duration,
			indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			if kind, ok := of.kind(object); ok && slices.Contains(groups, kind.Group) {
				return toolscache.NewSharedIndexInformer(of.listWatch(kind), object, resync, indexers)
			}
			return toolscache.NewSharedIndexInformer(whole, object, resync, indexers)
		}
		return cache.New(config, o)
	}
}

// source lists and watches objects for informers.
type source struct {
	config *rest.Config
	http   *http.Client
	mapper meta.RESTMapper
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	report *Undecodable
}

// kind returns the kind of an object with a Go type, and false for other objects.
func (s source) kind(o runtime.Object) (schema.GroupVersionKind, bool) {
	switch o.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return schema.GroupVersionKind{}, false
	}
	kind, err := apiutil.GVKForObject(o, s.scheme)
	return kind, err == nil
}

// listWatch lists and watches the objects of a kind in all namespaces.
func (s source) listWatch(kind schema.GroupVersionKind) *toolscache.ListWatch {
	connect := sync.OnceValues(func() (rest.Interface, error) { return s.client(kind.GroupVersion()) })
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			request, err := s.request(connect, kind, options)
			if err != nil {
				return nil, err
			}
			body, err := request.Do(ctx).Raw()
			if err != nil {
				return nil, err
			}
			return s.decodeList(kind, body)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch, options.AllowWatchBookmarks = true, true
			request, err := s.request(connect, kind, options)
			if err != nil {
				return nil, err
			}
			events, err := request.Watch(ctx)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, func(event watch.Event) (watch.Event, bool) { return s.pass(kind, event) }), nil
		},
	}
}

// client returns a client whose watches decode with decoder.
func (s source) client(version schema.GroupVersion) (rest.Interface, error) {
	config := rest.CopyConfig(s.config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = oneByOne{serializer.WithoutConversionCodecFactory{CodecFactory: s.codecs}}
	out, err := rest.RESTClientForConfigAndClient(config, s.http)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", version, err)
	}
	return out, nil
}

func (s source) request(connect func() (rest.Interface, error), kind schema.GroupVersionKind, options metav1.ListOptions) (*rest.Request, error) {
	client, err := connect()
	if err != nil {
		return nil, err
	}
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	return client.Get().Resource(mapping.Resource.Resource).VersionedParams(&options, metav1.ParameterCodec), nil
}

// decodeList returns a list without the objects that cannot be decoded, which it reports.
func (s source) decodeList(kind schema.GroupVersionKind, body []byte) (runtime.Object, error) {
	var got struct {
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return nil, fmt.Errorf("decoding the list of %s: %w", kind.Kind, err)
	}
	list, err := s.scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	decoder := decoder{runtime.WithoutVersionDecoder{Decoder: s.codecs.UniversalDeserializer()}}
	items := make([]runtime.Object, 0, len(got.Items))
	seen := map[types.UID]bool{}
	for _, raw := range got.Items {
		o, _, err := decoder.Decode(raw, &kind, nil)
		if err != nil {
			return nil, err
		}
		if bad, ok := o.(*undecodable); ok {
			s.report.add(kind, bad)
			seen[bad.UID] = true
			continue
		}
		items = append(items, o)
	}
	s.report.keep(kind, seen)
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	in, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	in.SetResourceVersion(got.ResourceVersion)
	in.SetContinue(got.Continue)
	in.SetRemainingItemCount(got.RemainingItemCount)
	return list, nil
}

// pass returns the event to forward to the cache, and false if the object cannot be decoded. Deletions are always
// forwarded.
func (s source) pass(kind schema.GroupVersionKind, event watch.Event) (watch.Event, bool) {
	bad, ok := event.Object.(*undecodable)
	if !ok {
		if o, err := meta.Accessor(event.Object); err == nil {
			s.report.remove(kind, o.GetUID())
		}
		return event, true
	}
	if event.Type != watch.Deleted {
		s.report.add(kind, bad)
		return event, false
	}
	s.report.remove(kind, bad.UID)
	gone, err := s.scheme.New(kind)
	if err != nil {
		return event, false
	}
	if o, err := meta.Accessor(gone); err == nil {
		o.SetNamespace(bad.Namespace)
		o.SetName(bad.Name)
		o.SetUID(bad.UID)
		o.SetResourceVersion(bad.ResourceVersion)
	}
	event.Object = gone
	return event, true
}
