package clusteroperator

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// operator holds everything that Compute reads of a PlatformOperator. While it is equal, so is its part of the status.
type operator struct {
	name     string
	absent   bool // expected, but not found
	leaving  bool // being deleted
	remains  bool // being deleted, and its operator is not being uninstalled yet
	outdated bool // its status is of an earlier generation
	holds    bool // wants minor updates of the cluster to wait for it

	installed, progressing, upgradeable condition

	failingSince, quietSince      time.Time // zero if it is not failing, or not quiet
	failingReason, failingMessage string
}

// condition holds the content of a condition. The zero value means that the condition does not exist.
type condition struct {
	status          metav1.ConditionStatus
	reason, message string
}

// Same reports whether the status is the same with either of two PlatformOperators.
func Same(a, b *platformv1alpha1.PlatformOperator) bool { return read(a) == read(b) }

func read(p *platformv1alpha1.PlatformOperator) operator {
	out := operator{
		name:           p.Name,
		leaving:        !p.DeletionTimestamp.IsZero(),
		remains:        remains(p),
		outdated:       p.Status.ObservedGeneration < p.Generation,
		holds:          p.Spec.HoldClusterUpdates,
		failingSince:   moment(p.Status.FailingSince),
		quietSince:     moment(p.Status.QuietSince),
		failingReason:  p.Status.FailingReason,
		failingMessage: p.Status.FailingMessage,
	}
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		switch c.Type {
		case platformv1alpha1.ConditionInstalled:
			out.installed = condition{c.Status, c.Reason, c.Message}
		case platformv1alpha1.ConditionProgressing:
			out.progressing = condition{c.Status, c.Reason, c.Message}
		case platformv1alpha1.ConditionUpgradeable:
			out.upgradeable = condition{c.Status, c.Reason, c.Message}
		}
	}
	return out
}

// remains reports whether a PlatformOperator is being deleted whose operator is not being uninstalled yet, since users may have data.
func remains(p *platformv1alpha1.PlatformOperator) bool {
	synced := meta.FindStatusCondition(p.Status.Conditions, platformv1alpha1.ConditionSynced)
	return !p.DeletionTimestamp.IsZero() && slices.Contains(p.Finalizers, platformv1alpha1.Finalizer) &&
		synced != nil && synced.Reason != platformv1alpha1.ReasonDeleting
}

// moment returns a time in UTC, so equal times compare equal. It is zero for nil.
func moment(t *metav1.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

func (o operator) itsName() string { return o.name }

func (o operator) isInstalled() bool { return o.installed.status == metav1.ConditionTrue }

// isUpdating reports whether it is installed and an update is in progress, or its changed spec may start one.
func (o operator) isUpdating() bool {
	return o.isInstalled() && (o.outdated || o.progressing.status == metav1.ConditionTrue)
}

// hasFailed reports whether it is failing, or its last failure is not forgotten yet.
func (o operator) hasFailed() bool { return !o.failingSince.IsZero() }

func (o operator) failsNow() bool { return o.hasFailed() && o.quietSince.IsZero() }

// untilDegraded returns how long until a failure counts as Degraded; zero or less if it does. It stops at quietSince.
func (in Inputs) untilDegraded(o operator) time.Duration {
	until := in.Now.Time
	if !o.quietSince.IsZero() {
		until = o.quietSince
	}
	return in.DegradedInertia - until.Sub(o.failingSince)
}

// group counts PlatformOperators, and keeps the first maxNamed of them, by name, for messages.
type group struct {
	size  int
	first []operator
}

func (g *group) add(o operator) {
	g.size++
	i, _ := slices.BinarySearchFunc(g.first, o.name, func(o operator, name string) int { return strings.Compare(o.name, name) })
	if i == maxNamed {
		return
	}
	g.first = slices.Insert(g.first[:min(len(g.first), maxNamed-1)], i, o)
}
