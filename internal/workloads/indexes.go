package workloads

import (
	"context"
	"fmt"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/helm"
)

// Indexes of the cache: bindings by the service accounts among their subjects, and workloads by their account, by their operator, and by the
// namespace and release of the records that Helm keeps of them.
const (
	byAccount  = "account"
	byOperator = "operator"
	byRelease  = "release"
)

// index is an index of the cache.
type index struct {
	of   client.Object
	name string
	keys client.IndexerFunc
}

// accountIndexes returns those by which the rights of workloads are found.
func accountIndexes() []index {
	var out []index
	for _, kind := range []client.Object{&rbacv1.ClusterRoleBinding{}, &rbacv1.RoleBinding{}} {
		out = append(out, index{kind, byAccount, func(o client.Object) []string {
			var out []string
			for _, account := range AccountsIn(o) {
				out = append(out, account.String())
			}
			slices.Sort(out)
			return slices.Compact(out)
		}})
	}
	return append(out, ofWorkloads(byAccount, func(w installer.Workload) []string { return []string{w.Account().String()} })...)
}

// operatorIndexes returns those by which the workloads of operators are found.
func operatorIndexes() []index {
	return append(
		ofWorkloads(byOperator, func(w installer.Workload) []string { return []string{controllers.Owner(w).String()} }),
		ofWorkloads(byRelease, func(w installer.Workload) []string {
			var out []string
			for _, of := range helm.OfWorkload(w) {
				out = append(out, releaseKey(helm.Storage(of, w), of.Name))
			}
			return out
		})...)
}

func releaseKey(namespace, release string) string { return namespace + "/" + release }

func ofWorkloads(name string, keys func(installer.Workload) []string) []index {
	var out []index
	for _, kind := range Kinds() {
		out = append(out, index{kind, name, func(o client.Object) []string {
			w, _ := installer.WorkloadOf(o)
			return keys(w)
		}})
	}
	return out
}

// indexes are those that the cache does not have yet.
type indexes struct {
	mu      sync.Mutex
	missing []index
}

// add adds the indexes, which starts to watch their kinds. The API server may not answer which these are, so one that cannot be added
// is added later.
func (x *indexes) add(ctx context.Context, c cache.Cache) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for ; len(x.missing) > 0; x.missing = x.missing[1:] {
		i := x.missing[0]
		if err := c.IndexField(ctx, i.of, i.name, i.keys); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", i.of, i.name, err)
		}
	}
	return nil
}
