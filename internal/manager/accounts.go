package manager

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/paged"
)

// accounts creates clients for the API server: the manager's own, and those that impersonate service accounts.
type accounts struct {
	config *rest.Config
	mgr    ctrl.Manager
	byName sync.Map
}

// own returns a client that acts as the manager itself.
func (a *accounts) own() (client.WithWatch, error) { return a.connect(a.config) }

// installer returns a client that acts as the service account of an OperatorGroup.
func (a *accounts) installer(account types.NamespacedName) (client.Client, error) {
	out, err := a.watching(account)
	if err != nil {
		return nil, fmt.Errorf("connecting as the OperatorGroup's service account: %w", err)
	}
	return out, nil
}

// watching returns a client that acts as a service account. It returns an error if the account does not exist, which
// impersonation does not check.
func (a *accounts) watching(account types.NamespacedName) (client.WithWatch, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	if err := a.mgr.GetClient().Get(context.Background(), account, found); err != nil {
		return nil, fmt.Errorf("finding service account %s: %w", account, err)
	}
	if c, ok := a.byName.Load(account); ok {
		return c.(client.WithWatch), nil
	}
	config := rest.CopyConfig(a.config)
	// The API server adds the groups of a service account. To set them here would require another permission.
	config.Impersonate = rest.ImpersonationConfig{UserName: serviceaccount.MakeUsername(account.Namespace, account.Name)}
	out, err := a.connect(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client that acts as service account %s: %w", account, err)
	}
	a.byName.Store(account, out)
	return out, nil
}

func (a *accounts) connect(config *rest.Config) (client.WithWatch, error) {
	out, err := client.NewWithWatch(config, client.Options{Scheme: a.mgr.GetScheme(), Mapper: a.mgr.GetRESTMapper()})
	if err != nil {
		return nil, err
	}
	return paged.Client{WithWatch: out}, nil
}
