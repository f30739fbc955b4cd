package csv

import (
	"context"
	"fmt"
	"maps"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// IndexStatic indexes OperatorGroups with spec.staticProvidedAPIs under "true".
const IndexStatic = "spec.staticProvidedAPIs"

func staticOf(o client.Object) []string {
	if o.(*operatorsv1.OperatorGroup).Spec.StaticProvidedAPIs {
		return []string{"true"}
	}
	return nil
}

// groupConflict rejects a CSV if an operator of another OperatorGroup watches one of its kinds in one of its target
// namespaces.
func (r *Reconciler) groupConflict(ctx context.Context, s *situation) (*Verdict, error) {
	static, err := r.staticGroups(ctx, s.csv, s.targets)
	if err != nil {
		return nil, err
	}
	if verdict := staticConflict(s.csv, s.group, static); verdict != nil {
		return verdict, nil
	}
	for _, owned := range s.csv.Spec.CustomResourceDefinitions.Owned {
		list, err := r.owning(ctx, owned.Name)
		if err != nil {
			return nil, err
		}
		for i := range list {
			other := &list[i]
			if other.Namespace == s.csv.Namespace || other.IsCopied() || !owns(other, owned.Name) || !precedes(other, s.csv) {
				continue
			}
			if rival, err := r.overlaps(ctx, s, other); err != nil {
				return nil, err
			} else if rival {
				return fails(v1alpha1.CSVReasonInterOperatorGroupOwnerConflict, fmt.Sprintf(
					"ClusterServiceVersion %s/%s already owns CustomResourceDefinition %s in the same namespaces", other.Namespace, other.Name, owned.Name)), nil
			}
		}
	}
	return nil, nil
}

// precedes reports whether, of two CSVs that own the same kind, other stays. The older one stays, unless only one of
// them runs: a running operator is not stopped because another one may now run. A CSV that cannot run stops none
// either, or any user could keep an operator from being installed by claiming its kinds.
func precedes(other, csv *v1alpha1.ClusterServiceVersion) bool {
	switch {
	case operatorgroup.InConflict(other) && operatorgroup.Member(csv):
		return false
	case operatorgroup.InConflict(csv) && operatorgroup.Member(other):
		return true
	case csvchain.InstallStarted(other) != csvchain.InstallStarted(csv):
		return csvchain.InstallStarted(other)
	case isUnmet(other):
		return false
	}
	return olderThan(other, csv)
}

// isUnmet reports whether a CSV has never run, and cannot, since its requirements are not met.
func isUnmet(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.Status.Phase == olm.CSVPhasePending && !csvchain.InstallStarted(csv)
}

// overlaps reports whether the operators of two namespaces watch a common namespace. An operator without an
// OperatorGroup watches none, and neither does one that the static OperatorGroups of other namespaces exclude.
func (r *Reconciler) overlaps(ctx context.Context, s *situation, other *v1alpha1.ClusterServiceVersion) (bool, error) {
	group, problem, err := operatorgroup.Find(ctx, r.Client, other.Namespace)
	if err != nil || problem != nil {
		return false, err
	}
	targets, err := operatorgroup.Targets(ctx, r.Client, group)
	if err != nil || !operatorgroup.Overlap(s.targets, targets) {
		return false, err
	}
	static, err := r.staticGroups(ctx, other, targets)
	return staticConflict(other, group, static) == nil, err
}

// staticGroups returns the OperatorGroups with spec.staticProvidedAPIs in other namespaces that overlap with the
// targets of a CSV, sorted. Younger groups are ignored: a tenant who creates one cannot stop existing operators.
func (r *Reconciler) staticGroups(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, targets []string) ([]*operatorsv1.OperatorGroup, error) {
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{IndexStatic: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the OperatorGroups with spec.staticProvidedAPIs: %w", err)
	}
	var out []*operatorsv1.OperatorGroup
	for i := range list.Items {
		group := &list.Items[i]
		if group.Namespace == csv.Namespace || csv.CreationTimestamp.Before(&group.CreationTimestamp) {
			continue
		}
		others, err := operatorgroup.Targets(ctx, r.Client, group)
		if err != nil {
			return nil, err
		}
		if operatorgroup.Overlap(targets, others) {
			out = append(out, group)
		}
	}
	slices.SortFunc(out, func(a, b *operatorsv1.OperatorGroup) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return out, nil
}

// staticConflict compares the APIs of an operator with the provided APIs that administrators listed: those of its own
// group, if that is static, and those of static groups in other namespaces that overlap with it. It uses OLM's reasons.
func staticConflict(csv *v1alpha1.ClusterServiceVersion, own *operatorsv1.OperatorGroup, others []*operatorsv1.OperatorGroup) *Verdict {
	provided := operatorgroup.ProvidedAPIs(csv)
	missing := ""
	if own.Spec.StaticProvidedAPIs {
		listed := operatorgroup.AnnotatedAPIs(own)
		if i := slices.IndexFunc(provided, func(api string) bool { return !slices.Contains(listed, api) }); i >= 0 {
			missing = provided[i]
		}
	}
	for _, other := range others {
		taken := operatorgroup.AnnotatedAPIs(other)
		i := slices.IndexFunc(provided, func(api string) bool { return slices.Contains(taken, api) })
		if i < 0 {
			continue
		}
		reason := v1alpha1.CSVReasonInterOperatorGroupOwnerConflict
		if own.Spec.StaticProvidedAPIs && missing == "" {
			reason = v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs // OLM would have to remove the API from the annotation
		}
		return fails(reason, fmt.Sprintf(
			"OperatorGroup %s/%s lists %s in its static provided APIs and targets some of the same namespaces: change the targets or the provided APIs of one group",
			other.Namespace, other.Name, provided[i]))
	}
	if missing != "" {
		return fails(v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs, fmt.Sprintf(
			"OperatorGroup %s sets spec.staticProvidedAPIs, but %s is not in its annotation %s: add it, or unset spec.staticProvidedAPIs",
			own.Name, missing, operatorsv1.OperatorGroupProvidedAPIsAnnotationKey))
	}
	return nil
}

// ownerConflict rejects a CSV if an older CSV of another operator in its namespace owns one of its kinds.
func (r *Reconciler) ownerConflict(_ context.Context, s *situation) (*Verdict, error) {
	for _, owned := range s.csv.Spec.CustomResourceDefinitions.Owned {
		for _, name := range slices.Sorted(maps.Keys(s.csvs)) {
			other := s.csvs[name]
			if owns(other, owned.Name) && olderThan(other, s.csv) && !s.related(other) {
				return fails(v1alpha1.CSVReasonOwnerConflict, fmt.Sprintf(
					"ClusterServiceVersion %s/%s already owns CustomResourceDefinition %s in the same namespaces", other.Namespace, other.Name, owned.Name)), nil
			}
		}
	}
	return nil, nil
}

// owning lists the CSVs of all namespaces that own or require a CustomResourceDefinition. Callers must not modify them.
func (r *Reconciler) owning(ctx context.Context, crd string) ([]v1alpha1.ClusterServiceVersion, error) {
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{IndexCRD: crd}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ClusterServiceVersions for CustomResourceDefinition %s: %w", crd, err)
	}
	return list.Items, nil
}

func olderThan(a, b *v1alpha1.ClusterServiceVersion) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// related reports whether two CSVs of a namespace are versions of the same operator.
func (s *situation) related(other *v1alpha1.ClusterServiceVersion) bool {
	return s.descends(s.csv, other.Name) || s.descends(other, s.csv.Name)
}

// descends reports whether a CSV is the named one, or replaces it directly or in several steps.
func (s *situation) descends(csv *v1alpha1.ClusterServiceVersion, name string) bool {
	for seen := map[string]bool{}; csv != nil && !seen[csv.Name]; csv = s.csvs[csv.Spec.Replaces] {
		seen[csv.Name] = true
		if csv.Name == name || csv.Spec.Replaces == name {
			return true
		}
	}
	return false
}

func owns(csv *v1alpha1.ClusterServiceVersion, crd string) bool {
	return slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned, func(d olm.CRDDescription) bool { return d.Name == crd })
}

// enqueueConflicting enqueues the CSVs of other namespaces whose conflicts may change with an OperatorGroup or a CSV: those that
// were rejected, and those that own a kind that is owned in its namespace or claimed by the group.
func (r *Reconciler) enqueueConflicting(ctx context.Context, o client.Object) []reconcile.Request {
	claimed := map[string]bool{}
	if group, ok := o.(*operatorsv1.OperatorGroup); ok && group.Spec.StaticProvidedAPIs {
		for _, api := range operatorgroup.AnnotatedAPIs(group) {
			claimed[api] = true
		}
	}
	here := &v1alpha1.ClusterServiceVersionList{}
	if err := r.Client.List(ctx, here, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the ClusterServiceVersions of an OperatorGroup")
		return nil
	}
	for i := range here.Items {
		for _, api := range operatorgroup.ProvidedAPIs(&here.Items[i]) {
			claimed[api] = true
		}
	}
	return r.list(ctx, func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Namespace != o.GetNamespace() && (operatorgroup.InConflict(csv) ||
			slices.ContainsFunc(operatorgroup.ProvidedAPIs(csv), func(api string) bool { return claimed[api] }))
	})
}

// groupMoved is a predicate for OperatorGroup events that may start or end conflicts in other namespaces. It is narrow,
// since each event makes enqueueConflicting list all CSVs of the cluster.
var groupMoved = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return staticOf(e.Object) != nil },
	UpdateFunc: func(e event.UpdateEvent) bool {
		const key = operatorsv1.OperatorGroupProvidedAPIsAnnotationKey
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			staticOf(e.ObjectNew) != nil && e.ObjectOld.GetAnnotations()[key] != e.ObjectNew.GetAnnotations()[key]
	},
}

// ownershipEnded is a predicate for events after which other CSVs may own the kinds of a CSV. A new CSV is the youngest
// and takes nothing from others. One whose requirements turn out to be unmet does not either.
var ownershipEnded = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.ClusterServiceVersion), e.ObjectNew.(*v1alpha1.ClusterServiceVersion)
		return !slices.Equal(crdsOf(before), crdsOf(after)) || isUnmet(after) && !isUnmet(before)
	},
}
