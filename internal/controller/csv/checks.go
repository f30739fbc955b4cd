package csv

import (
	"context"
	"errors"
	"fmt"

	"github.com/blang/semver/v4"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/install"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

func fails(reason, message string) *Verdict {
	return &Verdict{Phase: olm.CSVPhaseFailed, Reason: reason, Message: message}
}

// groups finds the OperatorGroup of the namespace and its target namespaces.
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

// installModes rejects an OperatorGroup that the operator does not support.
func (r *Reconciler) installModes(_ context.Context, s *situation) (*Verdict, error) {
	if len(s.targets) == 0 {
		return fails(v1alpha1.CSVReasonNoTargetNamespaces, fmt.Sprintf(
			"OperatorGroup %s selects no namespace: label one so that its selector matches", s.group.Name)), nil
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

// strategy rejects a CSV that cannot be installed as it is written.
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
		return nil, nil //nolint:nilerr // an unreadable server version is not checked
	}
	actual.Pre = nil // a pre-release has the features of its version
	if actual.LT(least) {
		return &Verdict{Phase: olm.CSVPhasePending, Reason: v1alpha1.CSVReasonRequirementsNotMet, Message: fmt.Sprintf(
			"The operator needs Kubernetes %s and the cluster is %s: update the cluster", least, actual)}, nil
	}
	return nil, nil
}

// faulty returns the verdict on an error of the install package: Failed if the CSV is at fault, otherwise the error.
func faulty(err error) (*Verdict, error) {
	if at, ok := errors.AsType[*install.Error](err); ok {
		return fails(string(at.Reason), at.Message), nil
	}
	return nil, err
}
