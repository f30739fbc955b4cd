// Package clusteroperator summarizes the PlatformOperators in a ClusterOperator, for the Cluster Version Operator.
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

// Cluster is the state of the cluster that the ClusterVersion reports.
type Cluster struct {
	// Release is the version that the cluster runs, or is being updated to. If it is empty, no version is written.
	Release string

	// Installing is true until the first installation of the cluster has completed: a ClusterVersion exists, and its
	// history has no Completed entry.
	Installing bool

	// Reached is true if the Cluster Version Operator, on its way to Release, has applied that release's manifests of this
	// component and waits for it, or has completed the release. It is also true without a ClusterVersion.
	Reached bool

	// Former is the last release that was completed, or empty.
	Former string
}

// Described records the subject of the message of Degraded, and when it was last written.
type Described struct {
	Failing string // the PlatformOperators: see Failing
	At      time.Time
}

// Inputs holds everything that the status of the ClusterOperator depends on, as read at one moment.
type Inputs struct {
	Current configv1.ClusterOperatorStatus

	// Created is when the ClusterOperator was created.
	Created metav1.Time

	// Operators are all PlatformOperators, in any order. Status does not change them.
	Operators []platformv1alpha1.PlatformOperator

	Cluster

	// DegradedInertia is how long a PlatformOperator must have been failing before the ClusterOperator is Degraded.
	DegradedInertia time.Duration

	// Described keeps the message of Degraded from changing as often as those of PlatformOperators that come and go.
	Described Described

	Now metav1.Time
}

const (
	// settleFor is the minimum age of the ClusterOperator, during the first installation of a cluster, before a
	// platform without PlatformOperators counts as installed. The Cluster Version Operator creates the ClusterOperator
	// first, and applies the PlatformOperators of the release a moment later.
	settleFor = 30 * time.Second

	// messagePace is how long a message of Degraded stays while the same PlatformOperators are failing.
	messagePace = 5 * time.Minute

	// maxRelatedObjects is how many PlatformOperators relatedObjects names. Beyond that, one entry stands for all.
	maxRelatedObjects = 100
)

// Compute returns the status of the ClusterOperator, and how long it stays correct if nothing changes; zero means
// forever. It is pure. If nothing changed, the status equals Current.
func Compute(in Inputs) (configv1.ClusterOperatorStatus, time.Duration) {
	in.Now = in.Now.Rfc3339Copy() // the API server stores seconds
	out := in.Current.DeepCopy()
	if left := in.untilRelated(); left > 0 {
		return *out, left
	}
	p := summarize(in)
	if left := p.untilDescribed(out); left > 0 {
		p.described = true
		if p.lasts == 0 || left < p.lasts {
			p.lasts = left
		}
	}
	for _, concern := range []func(platform, *configv1.ClusterOperatorStatus){
		operatorVersion, // first: available and progressing read the version
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

// platform summarizes the PlatformOperators. One of them may be in several groups.
type platform struct {
	Inputs
	names   []string
	missing group // not installed, or expected and not found
	moving  group // not installed, or being updated
	failing group // failing for at least DegradedInertia
	holding group // not upgradeable, and wanting the cluster to wait for it
	asked   bool  // whether any wants the cluster to wait for it
	settles bool  // none exists, but those of the release may be about to be created

	described bool // whether the message of Degraded stays as it is
	lasts     time.Duration
}

// expected returns the names of the PlatformOperators that must exist. During the first installation of the cluster,
// those are the ones in relatedObjects, which come from the manifest in the release. After that none is expected, since
// a later release may drop one, and an admin may delete one.
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

// summarize groups the PlatformOperators in one pass. It ignores those that are being deleted, except that one holds the cluster's updates
// as long as its operator remains.
func summarize(in Inputs) platform {
	p := platform{Inputs: in, names: make([]string, 0, len(in.Operators))}
	for i := range in.Operators {
		o := read(&in.Operators[i])
		if o.holds && o.upgradeable.status == metav1.ConditionFalse && (!o.leaving || o.remains) {
			p.holding.add(o)
		}
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

// untilSettled returns how long until a platform without PlatformOperators may count as installed, or zero if it may now.
func (in Inputs) untilSettled() time.Duration {
	if !in.Installing {
		return 0
	}
	return max(0, settleFor-in.Now.Sub(in.Created.Time))
}

// untilRelated returns how long to leave a new ClusterOperator to the Cluster Version Operator, which creates it and
// writes the related objects of the release in a second request. That request would be lost if we wrote in between.
func (in Inputs) untilRelated() time.Duration {
	if len(in.Current.RelatedObjects) > 0 || len(in.Current.Conditions) > 0 {
		return 0
	}
	return in.untilSettled()
}

// operatorVersion sets the version when every PlatformOperator of the release is installed. Its presence is the only
// record that all have been installed once. Until the first installation of the cluster has completed, a
// PlatformOperator that is not installed removes it: it may have been applied after the others had installed.
//
// The version of another release is written only when the Cluster Version Operator has come as far as this component:
// before that it may not have applied a PlatformOperator of the release, and would find the release completed without.
func operatorVersion(p platform, out *configv1.ClusterOperatorStatus) {
	switch {
	case p.Installing && (p.missing.size > 0 || p.settles):
		out.Versions = slices.DeleteFunc(out.Versions, isOperatorVersion)
		return
	case p.missing.size > 0 || p.Release == "":
		return
	}
	v := written(out)
	if v != nil && v.Version == p.Release {
		return
	}
	release := p.Release
	if !p.Installing && !p.Reached {
		release = p.Former
	}
	switch {
	case v == nil && release != "": // the first installation of this component
		out.Versions = append(out.Versions, configv1.OperandVersion{Name: platformv1alpha1.OperatorVersionName, Version: release})
	case v != nil && release == p.Release && (p.Installing || p.moving.size == 0):
		v.Version = release
	}
}

// written returns the version that the Cluster Version Operator waits for, or nil until all have been installed once.
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

// available sets Available, which stays True once all PlatformOperators have been installed. A later failure of one is
// not an outage of the platform, and False would fire an alert.
func available(p platform, out *configv1.ClusterOperatorStatus) {
	c := condition{status: metav1.ConditionTrue}
	switch {
	case written(out) == nil:
		c = condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonInstalling, p.waiting(p.missing, " to be installed")}
	case len(p.names) == 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonNone, noPlatformOperators
	case p.missing.size == 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonInstalled, "Every PlatformOperator is installed"
	default:
		c.reason = platformv1alpha1.ClusterReasonInstalled
		c.message = "Every PlatformOperator has been installed once; see Progressing for those that no longer are"
	}
	p.set(out, configv1.OperatorAvailable, c)
}

// progressing sets Progressing to True while a PlatformOperator is being installed or updated.
func progressing(p platform, out *configv1.ClusterOperatorStatus) {
	c := condition{status: metav1.ConditionTrue}
	switch v := written(out); {
	case v == nil:
		c.reason, c.message = platformv1alpha1.ClusterReasonInstalling, p.waiting(p.moving, "")
	case p.moving.size > 0 && p.Release != "" && p.Release != v.Version:
		c.reason = platformv1alpha1.ClusterReasonRelease
		c.message = fmt.Sprintf("Updating from release %s to %s. %s", v.Version, p.Release, p.waiting(p.moving, ""))
	case p.moving.size > 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonUpdating, p.waiting(p.moving, "")
	case len(p.names) == 0:
		c = condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonNone, noPlatformOperators}
	default:
		c = condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonInstalled,
			"Every PlatformOperator is installed, and none is being updated"}
	}
	if v := written(out); c.status == metav1.ConditionFalse && p.Release != "" && p.Release != v.Version {
		c.message += fmt.Sprintf(". Release %s is reported once the Cluster Version Operator waits for this ClusterOperator", p.Release)
	}
	p.set(out, configv1.OperatorProgressing, c)
}

// degraded sets Degraded, True while a PlatformOperator has a failure of DegradedInertia that is not forgotten.
func degraded(p platform, out *configv1.ClusterOperatorStatus) {
	if p.described {
		return
	}
	c := condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonAsExpected,
		"No PlatformOperator has been failing for " + duration.HumanDuration(p.DegradedInertia)}
	switch {
	case p.failing.size > 0:
		c = condition{metav1.ConditionTrue, platformv1alpha1.ClusterReasonFailing,
			"Failing for " + duration.HumanDuration(p.DegradedInertia) + " or longer: " + p.failing.list(operator.whyFailing)}
	case len(p.names) == 0:
		c.reason, c.message = platformv1alpha1.ClusterReasonNone, noPlatformOperators
	}
	p.set(out, configv1.OperatorDegraded, c)
}

// Failing returns the names of the PlatformOperators that make the ClusterOperator Degraded, as far as a message names
// them.
func Failing(in Inputs) string { return summarize(in).failing.list(operator.itsName) }

// untilDescribed returns how long the message of Degraded stays as it is; zero or less if it may be written.
func (p platform) untilDescribed(out *configv1.ClusterOperatorStatus) time.Duration {
	i := Find(out, configv1.OperatorDegraded)
	if i < 0 || out.Conditions[i].Status != configv1.ConditionTrue || p.failing.size == 0 {
		return 0
	}
	if p.Described.Failing != p.failing.list(operator.itsName) {
		return 0
	}
	return p.Described.At.Add(messagePace).Sub(p.Now.Time)
}

// upgradeable sets Upgradeable to False while a PlatformOperator holds updates, and to True when none does. A
// condition that another controller set is only overwritten to hold updates, never to allow them.
func upgradeable(p platform, out *configv1.ClusterOperatorStatus) {
	i := Find(out, configv1.OperatorUpgradeable)
	switch {
	case p.holding.size > 0:
		p.set(out, configv1.OperatorUpgradeable, condition{metav1.ConditionFalse, platformv1alpha1.ClusterReasonNotUpgradeable,
			"Minor updates of the cluster are held until each of these PlatformOperators is Upgradeable or no longer holds them " +
				"(spec.holdClusterUpdates): " + p.holding.list(operator.whyNotUpgradeable)})
	case i < 0 && !p.asked:
	case i >= 0 && !isOurs(out.Conditions[i]):
	default:
		p.set(out, configv1.OperatorUpgradeable, condition{metav1.ConditionTrue, platformv1alpha1.ClusterReasonUpgradeable,
			"No PlatformOperator holds minor updates of the cluster"})
	}
}

func isOurs(upgradeable configv1.ClusterOperatorStatusCondition) bool {
	return upgradeable.Reason == platformv1alpha1.ClusterReasonNotUpgradeable ||
		upgradeable.Reason == platformv1alpha1.ClusterReasonUpgradeable
}

// relatedObjects sets the PlatformOperators, after objects that others have added. An entry without a name stands for
// all. During the first installation of the cluster, the release's entries are kept: they define the expected ones.
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

// platformOperators is the resource name of PlatformOperators.
const platformOperators = "platformoperators"

// set sets a condition. Its lastTransitionTime changes only with its status.
func (p platform) set(out *configv1.ClusterOperatorStatus, t configv1.ClusterStatusConditionType, c condition) {
	desired := configv1.ClusterOperatorStatusCondition{
		Type: t, Status: configv1.ConditionStatus(c.status), Reason: c.reason, Message: c.message, LastTransitionTime: p.Now,
	}
	i := Find(out, t)
	if i < 0 {
		out.Conditions = append(out.Conditions, desired)
		return
	}
	if out.Conditions[i].Status == desired.Status && !out.Conditions[i].LastTransitionTime.IsZero() {
		desired.LastTransitionTime = out.Conditions[i].LastTransitionTime
	}
	out.Conditions[i] = desired
}

// Find returns the index of a condition, or -1.
func Find(out *configv1.ClusterOperatorStatus, t configv1.ClusterStatusConditionType) int {
	return slices.IndexFunc(out.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == t })
}
