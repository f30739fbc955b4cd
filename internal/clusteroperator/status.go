// Package clusteroperator sums the PlatformOperators up in a ClusterOperator, as the Cluster Version Operator reads it.
package clusteroperator

import (
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// Inputs is everything that the status of the ClusterOperator depends on, read at one moment.
type Inputs struct {
	Current configv1.ClusterOperatorStatus

	// Created is when the ClusterOperator was.
	Created metav1.Time

	// Operators are all PlatformOperators, in any order. They are only read.
	Operators []platformv1alpha1.PlatformOperator

	Cluster

	// DegradedInertia is how long a PlatformOperator has to fail before the ClusterOperator is Degraded.
	DegradedInertia time.Duration

	Now metav1.Time
}

const (
	// settleFor is how long a ClusterOperator has to have existed during the first installation of a cluster until a platform
	// without PlatformOperators is taken for installed. The Cluster Version Operator creates the ClusterOperator first and
	// applies the PlatformOperators of the release a moment later.
	settleFor = 30 * time.Second

	// maxRelatedObjects is how many PlatformOperators relatedObjects names. One entry stands for all of more.
	maxRelatedObjects = 100
)

// Status says what the status of the ClusterOperator is, given in, and how long that stays true if nothing changes; zero
// for as long as nothing does. It reads nothing else and changes nothing. Where nothing changed it is Current.
func Status(in Inputs) (configv1.ClusterOperatorStatus, time.Duration) {
	in.Now = in.Now.Rfc3339Copy() // as the API server keeps it
	out := in.Current.DeepCopy()
	if left := in.untilRelated(); left > 0 {
		return *out, left
	}
	p := look(in)
	for _, concern := range []func(platform, *configv1.ClusterOperatorStatus){
		operatorVersion, // first: the next two go by it
		available,
		progressing,
		degraded,
		upgradeable,
		relatedObjects,
	} {
		concern(p, out)
	}
	return *out, p.lasts
}

// platform is what the PlatformOperators come to. One of them may be in several of the lists.
type platform struct {
	Inputs
	names   []string
	missing group // not installed, or expected and not found
	moving  group // not installed, or being updated
	failing group // for the DegradedInertia
	holding group // not upgradeable, and the cluster is to wait for it
	asked   bool  // by any that the cluster wait for it
	settles bool  // none exists, and the first of the release may be about to be created
	lasts   time.Duration
}

// expected returns the names of the PlatformOperators that have to exist: those that relatedObjects names while the cluster
// is being installed for the first time, as the manifest in the release has them. Later a release may drop one, and an admin
// may delete one, so that none is expected.
func (in Inputs) expected() []string {
	if !in.Installing {
		return nil
	}
	var out []string
	for _, o := range in.Current.RelatedObjects {
		if isPlatformOperator(o) && o.Name != "" && !slices.Contains(out, o.Name) {
			out = append(out, o.Name)
		}
	}
	return out
}

// look goes through the PlatformOperators once. One that is being deleted counts no more.
func look(in Inputs) platform {
	p := platform{Inputs: in, names: make([]string, 0, len(in.Operators))}
	for i := range in.Operators {
		o := read(&in.Operators[i])
		if o.leaving {
			continue
		}
		p.names = append(p.names, o.name)
		if !o.isInstalled() {
			p.missing.add(o)
		}
		if !o.isInstalled() || o.isUpdating() {
			p.moving.add(o)
		}
		switch left := in.untilDegraded(o); {
		case !o.hasFailed():
		case left <= 0:
			p.failing.add(o)
		case o.failsNow() && (p.lasts == 0 || left < p.lasts):
			p.lasts = left
		}
		p.asked = p.asked || o.holds
		if o.holds && o.upgradeable.status == metav1.ConditionFalse {
			p.holding.add(o)
		}
	}
	for _, name := range in.expected() {
		if !slices.Contains(p.names, name) {
			p.names = append(p.names, name)
			p.missing.add(operator{name: name, absent: true})
			p.moving.add(operator{name: name, absent: true})
		}
	}
	if left := in.untilSettled(); len(p.names) == 0 && left > 0 {
		p.settles, p.lasts = true, left
	}
	return p
}

// untilSettled returns how long a platform without PlatformOperators is not taken for installed yet.
func (in Inputs) untilSettled() time.Duration {
	if !in.Installing {
		return 0
	}
	return max(0, settleFor-in.Now.Sub(in.Created.Time))
}

// untilRelated returns how long to leave a new ClusterOperator to the Cluster Version Operator, which creates it and writes
// the related objects of the release in a second request. That one would be lost if we wrote in between.
func (in Inputs) untilRelated() time.Duration {
	if len(in.Current.RelatedObjects) > 0 || len(in.Current.Conditions) > 0 {
		return 0
	}
	return in.untilSettled()
}

// operatorVersion says that every PlatformOperator of the release is installed. That it is there at all is the only memory
// of the day when all had installed for the first time. Until the first installation of the cluster has completed, a
// PlatformOperator that is not installed withdraws it: it may have been applied only after the others had installed.
func operatorVersion(p platform, out *configv1.ClusterOperatorStatus) {
	switch {
	case p.Installing && (p.missing.size > 0 || p.settles):
		out.Versions = slices.DeleteFunc(out.Versions, isOperatorVersion)
		return
	case p.missing.size > 0 || p.Release == "":
		return
	}
	if v := written(out); v != nil {
		v.Version = p.Release
		return
	}
	out.Versions = append(out.Versions, configv1.OperandVersion{Name: platformv1alpha1.OperatorVersionName, Version: p.Release})
}

// written is the version that the Cluster Version Operator waits for; nil until all had installed for the first time.
func written(out *configv1.ClusterOperatorStatus) *configv1.OperandVersion {
	i := slices.IndexFunc(out.Versions, isOperatorVersion)
	if i < 0 {
		return nil
	}
	return &out.Versions[i]
}

func isOperatorVersion(v configv1.OperandVersion) bool {
	return v.Name == platformv1alpha1.OperatorVersionName
}

// available is True for ever once all PlatformOperators have installed: what becomes of one later is no outage of the
// platform, which False would have an alert sent for.
func available(p platform, out *configv1.ClusterOperatorStatus) {
	c := condition{status: metav1.ConditionTrue}
	switch {
	case written(out) == nil:
		c = condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonInstalling, p.waiting(p.missing, " to be installed")}
	case len(p.names) == 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonNone, nothingThere
	case p.missing.size == 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonInstalled, "Every PlatformOperator is installed"
	default:
		c.reason = platformv1alpha1.ClusterReasonInstalled
		c.message = "Every PlatformOperator had been installed once; Progressing says which is not now"
	}
	p.set(out, configv1.OperatorAvailable, c)
}

// progressing is True while a PlatformOperator is being installed or updated.
func progressing(p platform, out *configv1.ClusterOperatorStatus) {
	c := condition{status: metav1.ConditionTrue}
	switch v := written(out); {
	case v == nil:
		c.reason, c.message = platformv1alpha1.ClusterReasonInstalling, p.waiting(p.moving, "")
	case p.missing.size > 0 && p.Release != "" && p.Release != v.Version:
		c.reason = platformv1alpha1.ClusterReasonRelease
		c.message = fmt.Sprintf("On the way from release %s to %s. %s", v.Version, p.Release, p.waiting(p.moving, ""))
	case p.moving.size > 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonUpdating, p.waiting(p.moving, "")
	case len(p.names) == 0:
		c = condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonNone, nothingThere}
	default:
		c = condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonInstalled,
			"Every PlatformOperator is installed, and none is being updated"}
	}
	p.set(out, configv1.OperatorProgressing, c)
}

// degraded is True from when a PlatformOperator has been failing for the DegradedInertia until that is forgotten.
func degraded(p platform, out *configv1.ClusterOperatorStatus) {
	c := condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonAsExpected,
		"No PlatformOperator has been failing for as long as " + duration.HumanDuration(p.DegradedInertia)}
	switch {
	case p.failing.size > 0:
		c = condition{metav1.ConditionTrue, platformv1alpha1.ClusterReasonFailing,
			"Failing for " + duration.HumanDuration(p.DegradedInertia) + " or longer: " + p.failing.list(operator.whyFailing)}
	case len(p.names) == 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonNone, nothingThere
	}
	p.set(out, configv1.OperatorDegraded, c)
}

// upgradeable is set where a PlatformOperator asks for it, and let go of where none does any more. Somebody else's is
// only replaced to hold updates, never to allow them.
func upgradeable(p platform, out *configv1.ClusterOperatorStatus) {
	i := find(out, configv1.OperatorUpgradeable)
	switch {
	case p.holding.size > 0:
		p.set(out, configv1.OperatorUpgradeable, condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonNotUpgradeable,
			"Minor updates of the cluster wait until each of these PlatformOperators is Upgradeable, or asks for that no more " +
				"(spec.holdClusterUpdates): " + p.holding.list(operator.whyNotUpgradeable)})
	case i < 0 && !p.asked:
	case i >= 0 && !isOurs(out.Conditions[i]):
	default:
		p.set(out, configv1.OperatorUpgradeable, condition{metav1.ConditionTrue, platformv1alpha1.ClusterReasonUpgradeable,
			"No PlatformOperator has minor updates of the cluster wait for it"})
	}
}

func isOurs(upgradeable configv1.ClusterOperatorStatusCondition) bool {
	return upgradeable.Reason == platformv1alpha1.ClusterReasonNotUpgradeable ||
		upgradeable.Reason == platformv1alpha1.ClusterReasonUpgradeable
}

// relatedObjects are the PlatformOperators, after what others have put there. An entry without a name stands for all. While
// the cluster is being installed for the first time, those of the release are kept as they are: they say what is expected.
func relatedObjects(p platform, out *configv1.ClusterOperatorStatus) {
	if p.Installing && slices.ContainsFunc(out.RelatedObjects, isPlatformOperator) {
		return
	}
	names := p.names
	if p.Installing || len(names) == 0 || len(names) > maxRelatedObjects {
		names = []string{""}
	}
	slices.Sort(names)
	var all []configv1.ObjectReference
	for _, o := range out.RelatedObjects {
		if !isPlatformOperator(o) && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	for _, name := range names {
		all = append(all, configv1.ObjectReference{Group: platformv1alpha1.GroupVersion.Group, Resource: platformOperators, Name: name})
	}
	out.RelatedObjects = all
}

func isPlatformOperator(o configv1.ObjectReference) bool {
	return o.Group == platformv1alpha1.GroupVersion.Group && o.Resource == platformOperators
}

// platformOperators is the resource of a PlatformOperator.
const platformOperators = "platformoperators"

// set sets a condition, whose time moves only with its status.
func (p platform) set(out *configv1.ClusterOperatorStatus, t configv1.ClusterStatusConditionType, c condition) {
	desired := configv1.ClusterOperatorStatusCondition{
		Type: t, Status: configv1.ConditionStatus(c.status), Reason: c.reason, Message: c.message, LastTransitionTime: p.Now,
	}
	i := find(out, t)
	if i < 0 {
		out.Conditions = append(out.Conditions, desired)
		return
	}
	if out.Conditions[i].Status == desired.Status && !out.Conditions[i].LastTransitionTime.IsZero() {
		desired.LastTransitionTime = out.Conditions[i].LastTransitionTime
	}
	out.Conditions[i] = desired
}

func find(out *configv1.ClusterOperatorStatus, t configv1.ClusterStatusConditionType) int {
	return slices.IndexFunc(out.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == t })
}
