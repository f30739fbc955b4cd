// Package csv says what a ClusterServiceVersion's status is: whether the operator is deployed, which version really
// runs, whether it may be updated, and where it came from.
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

// MaxTransitions is how many changes of phase a status remembers.
const MaxTransitions = 20

// Inputs is everything that a ClusterServiceVersion's status depends on, read at one moment.
type Inputs struct {
	CSV *v1alpha1.ClusterServiceVersion

	// Decision is where the loop decided that it is in its life.
	Decision Decision

	// Requirements tell of each requirement whether it is met. They are nil where nobody looked: what was said of them
	// last stands then.
	Requirements []olm.RequirementStatus

	// Replaced is the ClusterServiceVersion that this one replaces; nil where there is none or it is gone.
	Replaced *v1alpha1.ClusterServiceVersion

	// Probe is that of the operator; nil where it never opted in.
	Probe *v1alpha1.Probe

	// CertsLastUpdated and CertsRotateAt are when the certificates of its webhooks were made and will be replaced; nil
	// where it has none.
	CertsLastUpdated, CertsRotateAt *metav1.Time

	// UIDs of the objects that it came from, by kind, as far as they are known.
	UIDs map[string]types.UID

	Now metav1.Time
}

// Decision is a phase, and why.
type Decision struct {
	Phase   olm.ClusterServiceVersionPhase
	Reason  olm.ConditionReason
	Message string
}

// Report says what a ClusterServiceVersion's status is, given in. It reads nothing else and changes nothing. Where
// nothing changed it is the status that the ClusterServiceVersion has.
func Report(in Inputs) v1alpha1.ClusterServiceVersionStatus {
	in.Now = in.Now.Rfc3339Copy() // as the API server keeps it
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

// phase tells the phase at the top of the status, where consoles read it.
func phase(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	if out.Phase != in.Decision.Phase || out.LastTransitionTime == nil {
		out.LastTransitionTime = in.Now.DeepCopy()
	}
	out.Phase, out.Reason, out.Message = in.Decision.Phase, in.Decision.Reason, in.Decision.Message
}

// lastTransitions remembers the last changes of phase or reason. Another message alone is no change.
func lastTransitions(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	d := in.Decision
	if d.Phase == olm.CSVPhaseNone {
		return
	}
	if n := len(out.LastTransitions); n > 0 && out.LastTransitions[n-1].Phase == d.Phase && out.LastTransitions[n-1].Reason == d.Reason {
		return
	}
	out.LastTransitions = append(out.LastTransitions, v1alpha1.ClusterServiceVersionTransition{
		Phase: d.Phase, Reason: d.Reason, Message: d.Message, LastTransitionTime: in.Now.DeepCopy(),
	})
	if cut := len(out.LastTransitions) - MaxTransitions; cut > 0 {
		out.LastTransitions = slices.Delete(out.LastTransitions, 0, cut)
	}
}

// requirements lists what the operator needs, sorted.
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

// certificates tells how long those of the webhooks last.
func certificates(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	out.CertsLastUpdated, out.CertsRotateAt = kept(in.CertsLastUpdated), kept(in.CertsRotateAt)
}

// kept is a time as the API server keeps it.
func kept(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	out := t.Rfc3339Copy()
	return &out
}
