package apply

import (
	"fmt"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Rights enqueues objects that wait for a permission when Roles, ClusterRoles or their bindings change anywhere in the
// cluster. The watches start when the first object has to wait and are metadata-only, since most clusters never need
// them.
type Rights struct {
	manager ctrl.Manager

	mu      sync.Mutex
	cache   cache.Cache
	watched map[controller.Controller]bool
}

// NewRights returns a Rights without watches.
func NewRights(mgr ctrl.Manager) *Rights {
	return &Rights{manager: mgr, watched: map[controller.Controller]bool{}}
}

// rightKinds are the kinds that grant permissions.
var rightKinds = []string{"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}

// Watch makes a controller enqueue the requests of waiting when permissions change. It does nothing if it was called for
// c before, or if r is nil.
func (r *Rights) Watch(c controller.Controller, waiting handler.MapFunc) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watched[c] {
		return nil
	}
	if r.cache == nil {
		var err error
		if r.cache, err = r.newCache(); err != nil {
			return err
		}
	}
	for _, kind := range rightKinds {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind))
		if err := c.Watch(source.Kind[client.Object](r.cache, o, handler.EnqueueRequestsFromMapFunc(waiting))); err != nil {
			return fmt.Errorf("watching %ss: %w", kind, err)
		}
	}
	r.watched[c] = true
	return nil
}

// newCache returns a separate cache, since the manager's cache holds only the roles of operators.
func (r *Rights) newCache() (cache.Cache, error) {
	out, err := cache.New(r.manager.GetConfig(), cache.Options{
		HTTPClient: r.manager.GetHTTPClient(),
		Scheme:     r.manager.GetScheme(),
		Mapper:     r.manager.GetRESTMapper(),
		DefaultTransform: func(o any) (any, error) {
			if m, ok := o.(*metav1.PartialObjectMetadata); ok {
				m.Labels, m.Annotations, m.OwnerReferences, m.ManagedFields = nil, nil, nil, nil
			}
			return o, nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("creating a cache of roles and bindings: %w", err)
	}
	return out, r.manager.Add(out)
}
