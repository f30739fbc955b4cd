package foo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
)

func TestMigrate(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	foo := func(spec v1.FooSpec, version string, conditions ...metav1.Condition) *v1.Foo {
		return &v1.Foo{Spec: spec, Status: v1.FooStatus{Version: version, Conditions: conditions}}
	}
	migrating := func(status metav1.ConditionStatus, since time.Duration, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1.ConditionMigrating, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-since))}
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	const message = "The data is migrated from version 1.0.0 to 1.10.0"
	cases := map[string]struct {
		reason    string
		in        *v1.Foo
		version   string
		condition metav1.Condition
		again     time.Duration
	}{
		"New":     {"A new Foo has no data to migrate.", foo(v1.FooSpec{Version: "1.0.0"}, ""), "1.0.0", migrating(no, 0, v1.ReasonUpToDate, ""), 0},
		"Nothing": {"A Foo without a version does not migrate.", foo(v1.FooSpec{}, ""), "", migrating(no, 0, v1.ReasonUpToDate, ""), 0},
		"Removed": {"Removing the version from the spec does not migrate the data.", foo(v1.FooSpec{}, "1.0.0"), "1.0.0", migrating(no, 0, v1.ReasonUpToDate, ""), 0},
		"Begins": {"A migration begins when the version in the spec is numerically higher.", foo(v1.FooSpec{Version: "1.10.0", MigrationSeconds: 5}, "1.0.0"), "1.0.0",
			migrating(yes, 0, v1.ReasonInProgress, message), 5 * time.Second},
		"Resumed": {"A restarted process resumes a migration with its start time.",
			foo(v1.FooSpec{Version: "1.10.0", MigrationSeconds: 5}, "1.0.0", migrating(yes, 3*time.Second, v1.ReasonInProgress, message)), "1.0.0",
			migrating(yes, 3*time.Second, v1.ReasonInProgress, message), 2 * time.Second},
		"Ends": {"A migration ends after its duration.", foo(v1.FooSpec{Version: "1.10.0", MigrationSeconds: 5}, "1.0.0", migrating(yes, 5*time.Second, v1.ReasonInProgress, message)),
			"1.10.0", migrating(no, 0, v1.ReasonUpToDate, ""), 0},
		"Short": {"A migration without a duration is reported.", foo(v1.FooSpec{Version: "1.10.0"}, "1.0.0"), "1.0.0", migrating(yes, 0, v1.ReasonInProgress, message),
			time.Millisecond},
		"Held": {"A migration with spec.hold waits until the user removes it.", foo(v1.FooSpec{Version: "1.10.0", Hold: true}, "1.0.0", migrating(yes, time.Hour, v1.ReasonInProgress, message)),
			"1.0.0", migrating(yes, time.Hour, v1.ReasonInProgress, message+", until spec.hold is false"), 0},
		"Older": {"Data is not migrated back.", foo(v1.FooSpec{Version: "0.9.0"}, "1.0.0"), "1.0.0",
			migrating(no, 0, v1.ReasonNewerData, "The data has version 1.0.0 and is not migrated back"), 0},
		"UpToDate": {"A Foo of the current version does not change.", foo(v1.FooSpec{Version: "1.0.0"}, "1.0.0", migrating(no, time.Hour, v1.ReasonUpToDate, "")), "1.0.0",
			migrating(no, time.Hour, v1.ReasonUpToDate, ""), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, again := migrate(tc.in, now)
			want := v1.FooStatus{Version: tc.version, Conditions: []metav1.Condition{tc.condition}}
			if diff := cmp.Diff(want, got); diff != "" || again != tc.again {
				t.Errorf("%s The Foo is requeued after %s, want %s (-want +got):\n%s", tc.reason, again, tc.again, diff)
			}
		})
	}
}
