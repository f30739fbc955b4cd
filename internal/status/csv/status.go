// Package csv computes the status of a ClusterServiceVersion: whether the operator is deployed, which version runs,
// whether it may be updated, and its origin.
package csv

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// MaxTransitions is how many changes of phase a status keeps.
const MaxTransitions = 20

// Inputs holds everything that a ClusterServiceVersion's status depends on, as read at one moment.
type Inputs struct {
	CSV *v1alpha1.ClusterServiceVersion

	// Decision is the phase that the controller decided on.
	Decision Decision

	// Requirements are the results for each requirement. Nil if they were not checked: the previous results then
	// remain.
	Requirements []olm.RequirementStatus

	// Replaced is the ClusterServiceVersion that this one replaces, or nil.
	Replaced *v1alpha1.ClusterServiceVersion

	// Probe of the operator, or nil if it never opted in.
	Probe *v1alpha1.Probe

	// CertsLastUpdated and CertsRotateAt are when the webhooks' certificates were created and will be replaced, or nil.
	CertsLastUpdated, CertsRotateAt *metav1.Time

	// UIDs of the objects that it was installed from, by kind, as far as they are known.
	UIDs map[string]types.UID

	Now metav1.Time
}

// Decision is a phase, with its reason and message.
type Decision struct {
	Phase   olm.ClusterServiceVersionPhase
	Reason  olm.ConditionReason
	Message string
}

// Compute returns the status of a ClusterServiceVersion. It is pure: it depends only on in, and changes nothing. If
// nothing changed it returns a copy of the current status.
func Compute(in Inputs) v1alpha1.ClusterServiceVersionStatus {
	in.Now = in.Now.Rfc3339Copy() // the precision of the API server
	out := in.CSV.Status.DeepCopy()
	for _, concern := range []func(Inputs, *v1alpha1.ClusterServiceVersionStatus){
		phase,
		lastTransitions,
		runningVersion,
		available,
		progressing,
		upgradeable,
		relatedObjects,
		requirements,
		certificates,
	} {
		concern(in, out)
	}
	if equality.Semantic.DeepEqual(*out, in.CSV.Status) && out.LastUpdateTime != nil {
		return *in.CSV.Status.DeepCopy()
	}
	out.LastUpdateTime = in.Now.DeepCopy()
	return *out
}

// phase sets the phase at the top of the status, where consoles read it.
func phase(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	if out.Phase != in.Decision.Phase || out.LastTransitionTime == nil {
		out.LastTransitionTime = in.Now.DeepCopy()
	}
	out.Phase, out.Reason, out.Message = in.Decision.Phase, in.Decision.Reason, in.Decision.Message
}

// lastTransitions records the last changes of phase or reason, also those that OLM recorded in conditions. A change of the message alone
// does not count.
func lastTransitions(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	d := in.Decision
	if d.Phase == olm.CSVPhaseNone {
		return
	}
	if len(out.LastTransitions) == 0 {
		out.LastTransitions = ofOLM(in.CSV.Status.Conditions)
	}
	if n := len(out.LastTransitions); n > 0 && out.LastTransitions[n-1].Phase == d.Phase && out.LastTransitions[n-1].Reason == d.Reason {
		return
	}
	out.LastTransitions = append(out.LastTransitions, v1alpha1.ClusterServiceVersionTransition{
		Phase: d.Phase, Reason: d.Reason, Message: d.Message, LastTransitionTime: in.Now.DeepCopy(),
	})
	for len(out.LastTransitions) > MaxTransitions {
		i := oldest(out.LastTransitions)
		out.LastTransitions = slices.Delete(out.LastTransitions, i, i+1)
	}
}

// ofOLM returns the changes of phase in the conditions that OLM writes, which have no type.
func ofOLM(conditions []v1alpha1.ClusterServiceVersionCondition) (out []v1alpha1.ClusterServiceVersionTransition) {
	for _, c := range conditions {
		if c.Type == "" && c.Phase != olm.CSVPhaseNone {
			out = append(out, v1alpha1.ClusterServiceVersionTransition{
				Phase: c.Phase, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	return out
}

// oldest returns the index of the oldest transition that may be deleted. The last one to Succeeded stays: it shows that the operator has run.
func oldest(all []v1alpha1.ClusterServiceVersionTransition) int {
	ran := func(t v1alpha1.ClusterServiceVersionTransition) bool { return t.Phase == olm.CSVPhaseSucceeded }
	if ran(all[0]) && !slices.ContainsFunc(all[1:], ran) {
		return 1
	}
	return 0
}

// requirements lists the results for the operator's requirements, sorted.
func requirements(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	if in.Requirements == nil {
		return
	}
	out.RequirementStatus = nil
	for _, r := range in.Requirements {
		out.RequirementStatus = append(out.RequirementStatus, *r.DeepCopy())
	}
	slices.SortStableFunc(out.RequirementStatus, func(a, b olm.RequirementStatus) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name))
	})
}

// certificates sets when the certificates of the webhooks were created and will be replaced.
func certificates(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	out.CertsLastUpdated, out.CertsRotateAt = kept(in.CertsLastUpdated), kept(in.CertsRotateAt)
}

// kept returns a time with the precision of the API server.
func kept(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	out := t.Rfc3339Copy()
	return &out
}
