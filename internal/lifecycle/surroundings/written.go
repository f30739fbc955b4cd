package surroundings

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written remembers what a stage wrote last, until the cache shows it. A stage that looked at an object as it was before
// its own last write would write the same again, and be refused. Forgetting it, as a restart does, costs only that. The
// zero value is ready to use.
type Written struct {
	versions sync.Map // of types.UID: the resourceVersion
}

// Note takes down an object as the API server returned it for a write.
func (w *Written) Note(o client.Object) { w.versions.Store(o.GetUID(), o.GetResourceVersion()) }

// Behind is true while the cache shows an object as it was before the last write. The event of that write is yet to come,
// and with it the next look.
func (w *Written) Behind(cached client.Object) bool {
	version, ok := w.versions.Load(cached.GetUID())
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), version.(string))
	if err == nil && order < 0 {
		return true
	}
	w.versions.Delete(cached.GetUID())
	return false
}
