package csv

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

const (
	// IndexCRD indexes CSVs by the CustomResourceDefinitions that they own or require.
	IndexCRD = "spec.customresourcedefinitions.name"

	// IndexReplaces indexes CSVs by the CSV of their namespace that they replace.
	IndexReplaces = "spec.replaces"

	// IndexSubscription indexes CSVs by the Subscription that they were installed for.
	IndexSubscription = "metadata.annotations." + v1alpha1.AnnotationSubscription
)

// indexes are the indexes of CSVs.
var indexes = map[string]client.IndexerFunc{
	IndexCRD:          func(o client.Object) []string { return crdsOf(o.(*v1alpha1.ClusterServiceVersion)) },
	IndexReplaces:     func(o client.Object) []string { return []string{o.(*v1alpha1.ClusterServiceVersion).Spec.Replaces} },
	IndexSubscription: func(o client.Object) []string { return []string{o.GetAnnotations()[v1alpha1.AnnotationSubscription]} },
}

// related returns the CSVs of the namespace on which the checks of a CSV depend, by name: its chain, and the chains of those that
// own one of its kinds. They are shared with the cache. A namespace may have thousands of CSVs.
func (r *Reconciler) related(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) (map[string]*v1alpha1.ClusterServiceVersion, error) {
	sharing, err := r.sharing(ctx, csv)
	if err != nil {
		return nil, err
	}
	return r.chains(ctx, append(sharing, csv)...)
}

// sharing returns the CSVs of the namespace that own or require one of the kinds of a CSV.
func (r *Reconciler) sharing(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) (out []*v1alpha1.ClusterServiceVersion, err error) {
	for _, crd := range crdsOf(csv) {
		found, err := r.indexed(ctx, IndexCRD, crd, client.InNamespace(csv.Namespace))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// chains returns CSVs with all that they replace, and that replace them, directly or in several steps, by name.
func (r *Reconciler) chains(ctx context.Context, next ...*v1alpha1.ClusterServiceVersion) (map[string]*v1alpha1.ClusterServiceVersion, error) {
	out := map[string]*v1alpha1.ClusterServiceVersion{}
	for len(next) > 0 {
		last := next[len(next)-1]
		next = next[:len(next)-1]
		if out[last.Name] != nil {
			continue
		}
		out[last.Name] = last
		neighbours, err := r.neighbours(ctx, last)
		if err != nil {
			return nil, err
		}
		next = append(next, neighbours...)
	}
	return out, nil
}

// neighbours returns the CSV that a CSV replaces, and those that replace it.
func (r *Reconciler) neighbours(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) ([]*v1alpha1.ClusterServiceVersion, error) {
	out, err := r.indexed(ctx, IndexReplaces, csv.Name, client.InNamespace(csv.Namespace))
	if err != nil || csv.Spec.Replaces == "" {
		return out, err
	}
	before, err := r.cached(ctx, types.NamespacedName{Namespace: csv.Namespace, Name: csv.Spec.Replaces})
	if before == nil || err != nil {
		return out, err
	}
	return append(out, before), nil
}

// cached returns a CSV, shared with the cache; nil if it does not exist or is a copy.
func (r *Reconciler) cached(ctx context.Context, key types.NamespacedName) (*v1alpha1.ClusterServiceVersion, error) {
	csv := &v1alpha1.ClusterServiceVersion{}
	err := r.Client.Get(ctx, key, csv, &client.GetOptions{UnsafeDisableDeepCopy: new(true)})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting ClusterServiceVersion %s: %w", key, err)
	case csv.IsCopied():
		return nil, nil
	}
	return csv, nil
}

// indexed returns the CSVs under a key of an index, except copies. They are shared with the cache.
func (r *Reconciler) indexed(ctx context.Context, index, key string, options ...client.ListOption) ([]*v1alpha1.ClusterServiceVersion, error) {
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := r.Client.List(ctx, list, append(options, client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing the ClusterServiceVersions with %s %q: %w", index, key, err)
	}
	var out []*v1alpha1.ClusterServiceVersion
	for i := range list.Items {
		if csv := &list.Items[i]; !csv.IsCopied() {
			out = append(out, csv)
		}
	}
	return out, nil
}

// enqueueChain enqueues the CSVs that a CSV replaces, and those that replace it.
func (r *Reconciler) enqueueChain(ctx context.Context, o client.Object) []reconcile.Request {
	chain, err := r.chains(ctx, o.(*v1alpha1.ClusterServiceVersion))
	return requests(ctx, maps.Values(chain), err)
}

// enqueueSharing enqueues the CSVs of the namespace that own or require a kind of a CSV.
func (r *Reconciler) enqueueSharing(ctx context.Context, o client.Object) []reconcile.Request {
	sharing, err := r.sharing(ctx, o.(*v1alpha1.ClusterServiceVersion))
	return requests(ctx, slices.Values(sharing), err)
}

// requests logs an error, since a mapping function cannot return it, and the cache is about to stop.
func requests(ctx context.Context, csvs iter.Seq[*v1alpha1.ClusterServiceVersion], err error) (out []reconcile.Request) {
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the related ClusterServiceVersions")
		return nil
	}
	for csv := range csvs {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(csv)})
	}
	return out
}

// ofSubscription enqueues the CSVs that take spec.config of a Subscription.
func (r *Reconciler) ofSubscription(ctx context.Context, o client.Object) []reconcile.Request {
	out := r.list(ctx, all, client.InNamespace(o.GetNamespace()), client.MatchingFields{IndexSubscription: o.GetName()})
	if installed := o.(*v1alpha1.Subscription).Status.InstalledCSV; installed != "" {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: installed}})
	}
	return out
}
