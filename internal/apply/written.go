package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written remembers what a controller wrote last, until the cache shows it. One that looked at an object as it was before
// its own last write would write the same again, and be refused. Forgetting it, as a restart does, costs only that. The
// zero value is ready to use.
type Written struct {
	mu       sync.Mutex
	versions map[types.UID]write
	swept    time.Time
}

type write struct {
	version string
	at      time.Time
}

// lag is how long a cache is behind at most. An object that was deleted meanwhile is not asked about again.
const lag = time.Minute

// Note takes down an object as the API server returned it for a write.
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

// Behind is true while the cache shows an object as it was before the last write. The event of that write is yet to come,
// and with it the next look.
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
