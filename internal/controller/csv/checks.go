package csv

import (
	"context"
	"errors"
	"fmt"

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
			"OperatorGroup %s selects no namespace: add labels that match its selector to a namespace", s.group.Name)), nil
	}
	if err := install.SupportsGroup(s.csv, s.group, s.targets); err != nil {
		return installErrorVerdict(err)
	}
	return nil, nil
}

// strategy rejects a CSV that cannot be installed as it is written.
func (r *Reconciler) strategy(_ context.Context, s *situation) (*Verdict, error) {
	if err := install.Validate(s.csv); err != nil {
		return installErrorVerdict(err)
	}
	if err := install.SupportsKubernetes(s.csv, r.Kubernetes.GitVersion); err != nil {
		return installErrorVerdict(err)
	}
	return nil, nil
}

// installErrorVerdict returns the verdict on an error of the install package: Pending if the cluster may come to meet the
// requirements, Failed if the CSV is at fault, otherwise the error.
func installErrorVerdict(err error) (*Verdict, error) {
	if at, ok := errors.AsType[*install.Error](err); ok {
		if at.Reason == v1alpha1.CSVReasonRequirementsNotMet {
			return &Verdict{Phase: olm.CSVPhasePending, Reason: string(at.Reason), Message: at.Message}, nil
		}
		return fails(string(at.Reason), at.Message), nil
	}
	return nil, err
}
