package foo

import (
	"fmt"
	"time"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
)

// migrate returns the next status of a Foo, and the delay before the next call. Zero means only after a change of the Foo.
func migrate(foo *v1.Foo, now time.Time) (v1.FooStatus, time.Duration) {
	out := *foo.Status.DeepCopy()
	set := func(status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&out.Conditions, metav1.Condition{
			Type: v1.ConditionMigrating, Status: status, Reason: reason, Message: message,
			ObservedGeneration: foo.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	if !Migrates(foo) {
		if compare(foo.Spec.Version, foo.Status.Version) < 0 && foo.Spec.Version != "" {
			set(metav1.ConditionFalse, v1.ReasonNewerData, fmt.Sprintf("The data has version %s and is not migrated back", foo.Status.Version))
			return out, 0
		}
		if foo.Spec.Version != "" {
			out.Version = foo.Spec.Version // new data
		}
		set(metav1.ConditionFalse, v1.ReasonUpToDate, "")
		return out, 0
	}
	message := fmt.Sprintf("The data is migrated from version %s to %s", foo.Status.Version, foo.Spec.Version)
	if foo.Spec.Hold {
		message += ", until spec.hold is false"
	}
	set(metav1.ConditionTrue, v1.ReasonInProgress, message)
	// The time of the transition is when the migration began, also for a process that did not begin it.
	began := meta.FindStatusCondition(out.Conditions, v1.ConditionMigrating).LastTransitionTime.Time
	rest := began.Add(time.Duration(foo.Spec.MigrationSeconds) * time.Second).Sub(now)
	switch {
	case rest > 0:
		return out, rest
	case foo.Spec.Hold:
		return out, 0
	case !meta.IsStatusConditionTrue(foo.Status.Conditions, v1.ConditionMigrating):
		return out, time.Millisecond // even a short migration is reported before it ends
	}
	out.Version = foo.Spec.Version
	set(metav1.ConditionFalse, v1.ReasonUpToDate, "")
	return out, 0
}

// Migrates reports whether the data of a Foo is being migrated or is about to be.
func Migrates(foo *v1.Foo) bool {
	return foo.Status.Version != "" && compare(foo.Spec.Version, foo.Status.Version) > 0
}

// compare compares versions as the schema allows them. An empty one is the oldest.
func compare(a, b string) int {
	parse := func(s string) semver.Version {
		out, err := semver.ParseTolerant(s)
		if err != nil {
			return semver.Version{}
		}
		return out
	}
	return parse(a).Compare(parse(b))
}
