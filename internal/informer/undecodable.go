package informer

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
)

// Undecodable reports the objects that cannot be decoded: with an Event for each version of an object, and by their
// number in the metric operator_status_undecodable_objects.
type Undecodable struct {
	// Recorder records the Events. It must be set before the cache starts.
	Recorder events.EventRecorder

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]map[types.UID]string // resourceVersion by object
	count *prometheus.GaugeVec
}

// NewUndecodable returns an Undecodable whose metric is registered with registry.
func NewUndecodable(registry prometheus.Registerer) (*Undecodable, error) {
	out := &Undecodable{
		kinds: map[schema.GroupVersionKind]map[types.UID]string{},
		count: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "operator_status_undecodable_objects",
			Help: "Objects that cannot be decoded and are ignored.",
		}, []string{"group", "kind"}),
	}
	return out, registry.Register(out.count)
}

// add reports an object, once per resourceVersion.
func (u *Undecodable) add(kind schema.GroupVersionKind, o *undecodable) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kinds[kind] == nil {
		u.kinds[kind] = map[types.UID]string{}
	}
	known := u.kinds[kind][o.UID] == o.ResourceVersion
	u.kinds[kind][o.UID] = o.ResourceVersion
	u.publish(kind)
	if !known {
		u.Recorder.Eventf(&o.PartialObjectMetadata, nil, corev1.EventTypeWarning, v1alpha1.EventUndecodable, v1alpha1.EventActionRead,
			"The object cannot be decoded and is ignored until it is corrected: %s", kube.ErrorMessage(o.why, maxMessage))
	}
}

// maxMessage is the maximum length of the error in an Event, in bytes. The message of an Event is limited to 1024.
const maxMessage = 800

// remove forgets an object that was deleted or can be decoded.
func (u *Undecodable) remove(kind schema.GroupVersionKind, uid types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.kinds[kind][uid]; ok {
		delete(u.kinds[kind], uid)
		u.publish(kind)
	}
}

// keep forgets all objects of a kind except these.
func (u *Undecodable) keep(kind schema.GroupVersionKind, these map[types.UID]bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for uid := range u.kinds[kind] {
		if !these[uid] {
			delete(u.kinds[kind], uid)
		}
	}
	u.publish(kind)
}

func (u *Undecodable) publish(kind schema.GroupVersionKind) {
	u.count.WithLabelValues(kind.Group, kind.Kind).Set(float64(len(u.kinds[kind])))
}
