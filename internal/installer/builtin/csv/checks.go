package csv

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// check is one of the checks that may prevent the installation of a CSV.
type check struct {
	name string

	// read adds the inputs of decide to the situation. It is nil if they have been read.
	read func(context.Context, *situation) error

	// decide is pure. Its verdict is nil if the check has no objection.
	decide func(*situation) (*Verdict, error)
}

// checks returns the checks in their order. Nothing is read for those after the first that objects.
func (r *Reconciler) checks() []check {
	return []check{
		{"Replaced", nil, replaced},
		{"OperatorGroup", r.readGroup, oneGroup},
		{"Grant", r.readGrant, granted},
		{"InstallModes", nil, installModes},
		{"OperatorGroupConflict", r.readRivals, groupConflict},
		{"InstallStrategy", r.readKubernetes, strategy},
		{"Requirements", r.readRequirements, requirementsMet},
		{"OwnerConflict", nil, ownerConflict}, // after the requirements, so the status of a rejected CSV lists them
	}
}

// run reads what a check depends on, and returns its verdict.
func (c check) run(ctx context.Context, s *situation) (*Verdict, error) {
	if c.read != nil {
		if err := c.read(ctx, s); err != nil {
			return nil, err
		}
	}
	return c.decide(s)
}

// decide checks everything that may prevent the installation of a CSV. It writes nothing. The verdict is nil if the CSV
// is to be installed.
func (r *Reconciler) decide(ctx context.Context, s *situation) (*Verdict, error) {
	for _, c := range r.checks() {
		verdict, err := c.run(ctx, s)
		if verdict != nil || err != nil {
			logVerdict(ctx, c.name, verdict)
			return verdict, err
		}
		log.FromContext(ctx).V(2).Info("Check passed", "check", c.name)
	}
	return nil, nil
}

// logVerdict logs the verdict of a check, unless it is nil.
func logVerdict(ctx context.Context, name string, v *Verdict) {
	if v != nil {
		log.FromContext(ctx).V(1).Info("Check decided", "check", name, "phase", v.Phase, "reason", v.Reason, "message", v.Message)
	}
}
