package csv

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

func fails(reason, message string) *Verdict {
	return &Verdict{Phase: olm.CSVPhaseFailed, Reason: reason, Message: message}
}

// groups finds the OperatorGroup of the namespace and what it looks after.
func (r *Reconciler) groups(ctx context.Context, s *situation) (*Verdict, error) {
	group, problem, err := operatorgroup.Find(ctx, r.Client, s.csv.Namespace)
	if err != nil {
		return nil, err
	}
	if problem != nil {
		reason := v1alpha1.CSVReasonNoOperatorGroup
		if problem.Reason == v1alpha1.ReasonTooManyOperatorGroups {
			reason = v1alpha1.CSVReasonTooManyOperatorGroups
		}
		return fails(reason, problem.Message), nil
	}
	s.group = group
	s.targets, err = operatorgroup.Targets(ctx, r.Client, group)
	return nil, err
}

// installModes refuses an OperatorGroup that the operator does not support.
func (r *Reconciler) installModes(_ context.Context, s *situation) (*Verdict, error) {
	if len(s.targets) == 0 {
		return fails(v1alpha1.CSVReasonNoTargetNamespaces, fmt.Sprintf(
			"OperatorGroup %s selects no namespace: label one as its selector says", s.group.Name)), nil
	}
	modes := olm.InstallModeSet{}
	for _, m := range s.csv.Spec.InstallModes {
		if _, twice := modes[m.Type]; twice {
			return fails(v1alpha1.CSVReasonInvalidInstallModes, fmt.Sprintf("Install mode %s is given twice", m.Type)), nil
		}
		modes[m.Type] = m.Supported
	}
	if err := modes.Supports(s.csv.Namespace, s.targets); err != nil {
		return fails(v1alpha1.CSVReasonUnsupportedOperatorGroup, fmt.Sprintf(
			"The operator does not support OperatorGroup %s: %v", s.group.Name, err)), nil
	}
	return nil, nil
}

// ownerConflict refuses to have two operators watch one kind in one namespace. The older one stays.
func (r *Reconciler) ownerConflict(ctx context.Context, s *situation) (*Verdict, error) {
	for _, owned := range s.csv.Spec.CustomResourceDefinitions.Owned {
		list := &v1alpha1.ClusterServiceVersionList{}
		if err := r.Client.List(ctx, list, client.MatchingFields{IndexCRD: owned.Name}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the ClusterServiceVersions for CustomResourceDefinition %s: %w", owned.Name, err)
		}
		for i := range list.Items {
			other := &list.Items[i]
			if other.IsCopied() || !owns(other, owned.Name) || !olderThan(other, s.csv) || s.related(other) {
				continue
			}
			if overlap, err := r.overlap(ctx, s, other); err != nil {
				return nil, err
			} else if overlap {
				return fails(v1alpha1.CSVReasonOwnerConflict, fmt.Sprintf(
					"ClusterServiceVersion %s/%s owns CustomResourceDefinition %s in the same namespaces already", other.Namespace, other.Name, owned.Name)), nil
			}
		}
	}
	return nil, nil
}

func olderThan(a, b *v1alpha1.ClusterServiceVersion) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// related is true for versions of the same operator in the same namespace.
func (s *situation) related(other *v1alpha1.ClusterServiceVersion) bool {
	if other.Namespace != s.csv.Namespace {
		return false
	}
	return s.descends(s.csv, other.Name) || s.descends(other, s.csv.Name)
}

// descends is true where a ClusterServiceVersion replaces, be it in several steps, the one of that name.
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

// overlap reports whether both watch a namespace. Without an OperatorGroup one watches its own.
func (r *Reconciler) overlap(ctx context.Context, s *situation, other *v1alpha1.ClusterServiceVersion) (bool, error) {
	if other.Namespace == s.csv.Namespace {
		return true, nil
	}
	group, problem, err := operatorgroup.Find(ctx, r.Client, other.Namespace)
	if err != nil || problem != nil {
		return false, err
	}
	others, err := operatorgroup.Targets(ctx, r.Client, group)
	if err != nil {
		return false, err
	}
	if slices.Contains(s.targets, metav1.NamespaceAll) || slices.Contains(others, metav1.NamespaceAll) {
		return true, nil
	}
	return slices.ContainsFunc(s.targets, func(n string) bool { return slices.Contains(others, n) }), nil
}

// strategy refuses what cannot be installed as it is written.
func (r *Reconciler) strategy(_ context.Context, s *situation) (*Verdict, error) {
	if err := install.Validate(s.csv); err != nil {
		return faulty(err)
	}
	if s.csv.Spec.MinKubeVersion == "" {
		return nil, nil
	}
	least, err := semver.ParseTolerant(s.csv.Spec.MinKubeVersion)
	if err != nil {
		return fails(v1alpha1.CSVReasonInvalidStrategy, fmt.Sprintf("minKubeVersion %q is no version: %v", s.csv.Spec.MinKubeVersion, err)), nil
	}
	actual, err := semver.ParseTolerant(r.Kubernetes.GitVersion)
	if err != nil {
		return nil, nil //nolint:nilerr // a server that does not tell its version is not held to it
	}
	actual.Pre = nil // a pre-release of a version has what the version has
	if actual.LT(least) {
		return &Verdict{Phase: olm.CSVPhasePending, Reason: v1alpha1.CSVReasonRequirementsNotMet, Message: fmt.Sprintf(
			"The operator needs Kubernetes %s and the cluster is %s: update the cluster", least, actual)}, nil
	}
	return nil, nil
}

// faulty is the verdict on an error of the install package: a failure where the ClusterServiceVersion is at fault.
func faulty(err error) (*Verdict, error) {
	if at, ok := errors.AsType[*install.Error](err); ok {
		return fails(string(at.Reason), at.Message), nil
	}
	return nil, err
}
