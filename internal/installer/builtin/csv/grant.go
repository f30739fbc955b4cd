package csv

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// grant returns the record of the operator's InstallPlan, or nil if none granted it anything.
func (s *situation) grant() *record.Grant {
	if !s.record.OfPlan() {
		return nil
	}
	return s.record
}

// effectiveGrant returns the operator's grant from its InstallPlan. A CSV that was applied by hand gets nothing, unless
// every catalog is trusted: then it gets its webhooks and the roles for its APIs, as with OLM.
func (s *situation) effectiveGrant(trust apply.Trust) install.Grant {
	switch grant := s.grant(); {
	case grant != nil:
		return grant.Grant
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
	if grant := s.grant(); grant != nil {
		catalogs = append(catalogs, grant.Catalog)
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
