package csv

import (
	"context"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/install"
)

// granted reads the grant that an InstallPlan gave the operator. A CSV that never ran stays Pending until its
// InstallPlan has been applied completely: half a bundle must not run.
func (r *Reconciler) granted(ctx context.Context, s *situation) (*Verdict, error) {
	var err error
	if s.grant, err = r.Records.Grant(ctx, client.ObjectKeyFromObject(s.csv)); err != nil {
		return nil, err
	}
	name := s.csv.Annotations[v1alpha1.AnnotationInstallPlan]
	if s.grant != nil || name == "" || csvchain.Ran(s.csv) {
		return nil, nil
	}
	out := &Verdict{Phase: olm.CSVPhasePending, Reason: v1alpha1.CSVReasonInstallPlanIncomplete}
	plan := &olm.InstallPlan{}
	switch err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.csv.Namespace, Name: name}, plan); {
	case apierrors.IsNotFound(err):
		out.Message = fmt.Sprintf("InstallPlan %s was deleted before it completed; its Subscription will create a new one", name)
	case err != nil:
		return nil, err
	case plan.Status.Message != "":
		out.Message = fmt.Sprintf("Waiting for InstallPlan %s, which is %s: %s", name, plan.Status.Phase, plan.Status.Message)
	default:
		out.Message = fmt.Sprintf("Waiting for InstallPlan %s, which is %s", name, plan.Status.Phase)
	}
	return out, nil
}

// effectiveGrant returns the operator's grant from its InstallPlan. A CSV that was applied by hand gets nothing, unless
// every catalog is trusted: then it gets its webhooks and the roles for its APIs, as with OLM.
func (s *situation) effectiveGrant(trust apply.Trust) install.Grant {
	switch {
	case s.grant != nil:
		return s.grant.Grant
	case trust.All:
		all := install.GrantOf(&s.csv.Spec)
		return install.Grant{Webhooks: all.Webhooks, APIs: all.APIs}
	}
	return install.Grant{}
}

// identity returns the identity that the operator is installed as: the service account of the OperatorGroup, or, if it
// names none, the manager if the operator's catalog is trusted. Otherwise the error is *untrustedError.
func (r *Reconciler) identity(s *situation) (apply.Identity, error) {
	var catalogs []types.NamespacedName
	if s.grant != nil {
		catalogs = append(catalogs, s.grant.Catalog)
	}
	out, problem := r.Trust.Identity(s.group, catalogs...)
	if problem != nil {
		return out, &untrustedError{problem.Message}
	}
	return out, nil
}

// untrustedError is the error if nothing may be written for an operator without a service account.
type untrustedError struct{ message string }

func (e *untrustedError) Error() string { return e.message }
