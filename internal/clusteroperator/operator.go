package clusteroperator

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// operator is all that is read of a PlatformOperator: while it stays the same, so does what it adds to the status.
type operator struct {
	name     string
	absent   bool // expected, and not found
	leaving  bool // is being deleted
	outdated bool // its status is about an earlier spec
	holds    bool // has updates of the cluster wait for it

	installed, progressing, upgradeable condition

	failingSince, quietSince      time.Time // zero where it is not
	failingReason, failingMessage string
}

// condition is what a condition says. The zero value is that of one which is not there.
type condition struct {
	status          metav1.ConditionStatus
	reason, message string
}

func read(p *platformv1alpha1.PlatformOperator) operator {
	out := operator{
		name:           p.Name,
		leaving:        !p.DeletionTimestamp.IsZero(),
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

// moment is a time without its time zone, so that the same one is equal.
func moment(t *metav1.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

func (o operator) isInstalled() bool { return o.installed.status == metav1.ConditionTrue }

// isUpdating is true for one that is installed, and will be something else soon, or may.
func (o operator) isUpdating() bool {
	return o.isInstalled() && (o.outdated || o.progressing.status == metav1.ConditionTrue)
}

// hasFailed is true until its trouble is forgotten.
func (o operator) hasFailed() bool { return !o.failingSince.IsZero() }

func (o operator) failsNow() bool { return o.hasFailed() && o.quietSince.IsZero() }

// untilDegraded is how much longer one may be failing, or might have been.
func (in Inputs) untilDegraded(o operator) time.Duration {
	until := in.Now.Time
	if !o.quietSince.IsZero() {
		until = o.quietSince
	}
	return in.DegradedInertia - until.Sub(o.failingSince)
}

// group is some of the PlatformOperators: how many, and those that a message names, which are the first by name.
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
