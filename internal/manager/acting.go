package manager

import (
	"context"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/operator-status/operator-status/internal/paged"
)

// LifecycleAccount is the name of the service account of the built-in loops, in the manager's namespace.
const LifecycleAccount = "operator-status-lifecycle-controller-manager"

// actingAs is a manager whose controllers act as another user than the process.
type actingAs struct {
	ctrl.Manager
	cluster cluster.Cluster
}

func (m actingAs) GetHTTPClient() *http.Client          { return m.cluster.GetHTTPClient() }
func (m actingAs) GetConfig() *rest.Config              { return m.cluster.GetConfig() }
func (m actingAs) GetCache() cache.Cache                { return m.cluster.GetCache() }
func (m actingAs) GetClient() client.Client             { return m.cluster.GetClient() }
func (m actingAs) GetAPIReader() client.Reader          { return paged.Reader{Reader: m.cluster.GetAPIReader()} }
func (m actingAs) GetFieldIndexer() client.FieldIndexer { return m.cluster.GetFieldIndexer() }

func (m actingAs) GetEventRecorder(name string) recorder.EventRecorder {
	return notes{m.cluster.GetEventRecorder(name)}
}

func (m actingAs) GetEventRecorderFor(name string) record.EventRecorder {
	return m.cluster.GetEventRecorderFor(name) //nolint:staticcheck // the interface has it
}

// asLifecycle returns a manager for the built-in loops: mgr itself, unless the process runs all controllers and lacks
// the permissions of the loops. Then the manager impersonates their service account. So one process with the permissions
// of config/rbac can run all controllers, unless config/constrained limits its permissions while it impersonates.
func asLifecycle(ctx context.Context, mgr ctrl.Manager, o Options, newCache cache.NewCacheFunc) (ctrl.Manager, error) {
	if o.Controllers != ControllersAll {
		return mgr, nil // it is the account of the loops, however many permissions it has been left
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	}}
	if err := mgr.GetClient().Create(ctx, review); err != nil {
		return nil, fmt.Errorf("reviewing the permissions for the built-in loops: %w", err)
	}
	if review.Status.Allowed {
		return mgr, nil
	}
	config := rest.CopyConfig(mgr.GetConfig())
	config.Impersonate.UserName = serviceaccount.MakeUsername(o.Namespace, LifecycleAccount)
	other, err := cluster.New(config, func(c *cluster.Options) {
		c.Scheme, c.NewCache, c.Cache = mgr.GetScheme(), newCache, cacheOptions(o.Namespace)
		c.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mgr.GetRESTMapper(), nil }
	})
	if err != nil {
		return nil, fmt.Errorf("creating a client that acts as %s: %w", config.Impersonate.UserName, err)
	}
	if err := mgr.Add(other); err != nil {
		return nil, fmt.Errorf("adding the cache of %s: %w", config.Impersonate.UserName, err)
	}
	return actingAs{Manager: mgr, cluster: other}, nil
}
