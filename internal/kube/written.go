package kube

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written remembers the resourceVersion of a controller's last write to an object until the cache has it. A controller
// that reconciles an older version would repeat the write and get a conflict. Losing the memory, as on a restart, costs
// no more than that. The zero value is ready to use.
type Written struct {
	mu       sync.Mutex
	versions map[types.UID]write
	swept    time.Time
}

type write struct {
	version string
	at      time.Time
}

// lag is how long a cache is behind at most. Older entries are dropped, since their objects may have been deleted.
const lag = time.Minute

// Note records the version of an object that the API server returned for a write.
func (w *Written) Note(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.swept) > lag {
		for uid, found := range w.versions {
			if now.Sub(found.at) > lag {
				delete(w.versions, uid)
			}
		}
		w.swept = now
	}
	if w.versions == nil {
		w.versions = map[types.UID]write{}
	}
	w.versions[o.GetUID()] = write{o.GetResourceVersion(), now}
}

// Behind reports whether the cache still has an object from before the last write. The caller can skip it: the watch
// event of that write enqueues it again.
func (w *Written) Behind(cached client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, ok := w.versions[cached.GetUID()]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), found.version)
	if err == nil && order < 0 {
		return true
	}
	delete(w.versions, cached.GetUID())
	return false
}
