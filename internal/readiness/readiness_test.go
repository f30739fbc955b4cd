package readiness

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

var (
	itIsReady    = State{Ready: true}
	itIsOutdated = unready("NotReady", "Its status is of an earlier generation")
)

func unready(reason, message string) State { return State{Reason: reason, Message: message} }

func failing(reason, message string) State {
	return State{Failing: true, Reason: reason, Message: message}
}

type readinessRow struct {
	reason string
	o      *unstructured.Unstructured
	checks []v1alpha1.ReadinessCheck
	want   State
}

func TestReadinessOf(t *testing.T) {
	for of, rows := range map[string]map[string]readinessRow{
		"Object": objectRows(), "Field": fieldRows(), "Condition": conditionRows(), "Invalid": invalidRows(), "Checks": checksRows(),
		"CustomResource": customResourceRows(), "Kubernetes": kubernetesRows(), "ClusterExtension": clusterExtensionRows(),
		"Odd": oddRows(),
	} {
		for name, tc := range rows {
			t.Run(of+"/"+name, func(t *testing.T) {
				before := tc.o.DeepCopy()
				if diff := cmp.Diff(tc.want, Of(tc.o, tc.checks)); diff != "" {
					t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(before, tc.o); diff != "" {
					t.Errorf("the object, which may be in a cache, was changed\n-before +after\n%s", diff)
				}
			})
		}
	}
}

// objectRows cover objects that do not exist or are being deleted.
func objectRows() map[string]readinessRow {
	deleting := func() *unstructured.Unstructured {
		return builder.WithField(builder.FooWithConditions("Ready=True"), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	}
	return map[string]readinessRow{
		"None": {reason: "An object that does not exist is not ready.", want: unready("NotFound", "Not found")},
		"Empty": {
			reason: "An object without content is not ready.", o: &unstructured.Unstructured{},
			want: unready("NotFound", "Not found"),
		},
		"NoneWithChecks": {
			reason: "An object that does not exist is not ready, whatever the checks.", checks: builder.Checks(builder.None), want: unready("NotFound", "Not found"),
		},
		"Deleting": {
			reason: "An object that is being deleted is not ready.",
			o:      deleting(), want: unready("Terminating", "It is being deleted"),
		},
		"NotDeleting": {
			reason: "An empty deletion timestamp is ignored.",
			o:      builder.WithField(builder.FooWithConditions("Ready=True"), "", "metadata", "deletionTimestamp"), want: itIsReady,
		},
		"DeletingWithChecks": {
			reason: "An object that is being deleted is not ready, whatever the checks, and the message lists its finalizers.",
			o:      builder.WithField(deleting(), []any{"example.com/b", "example.com/a"}, "metadata", "finalizers"),
			checks: builder.Checks(builder.None),
			want:   unready("Terminating", "It is being deleted, and waits for its finalizers: example.com/b, example.com/a"),
		},
	}
}

// fieldRows cover checks of a field.
func fieldRows() map[string]readinessRow {
	o := builder.Foo(`{"phase":"Pending","ready":true,"broken":false,"replicas":3,"share":3.0,"half":2.5,"big":1e300,
		"text":"true","number":"3","none":null,"empty":"","list":["a"],"map":{"a.b":"c"}}`)
	secret := builder.FromJSON(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"password":"c2VjcmV0"}}`)
	return map[string]readinessRow{
		"None": {
			reason: "Check None passes if the object exists.", o: builder.FooWithConditions("Ready=False"), checks: builder.Checks(builder.None),
			want: itIsReady,
		},

		"NonEmpty": {
			reason: "NonEmpty passes if the field is set.", o: o, checks: builder.Checks(builder.NonEmpty("status.phase")), want: itIsReady,
		},
		"NonEmptyText": {
			reason: "NonEmpty passes for an empty string, as in Crossplane.", o: o, checks: builder.Checks(builder.NonEmpty("status.empty")),
			want: itIsReady,
		},
		"NonEmptyAbsent": {
			reason: "NonEmpty fails if the field is not set.",
			o:      o, checks: builder.Checks(builder.NonEmpty("status.address.url")),
			want: unready("NotReady", "status.address.url is not set"),
		},
		"NonEmptyNull": {
			reason: "NonEmpty fails for null.", o: o, checks: builder.Checks(builder.NonEmpty("status.none")),
			want: unready("NotReady", "status.none is not set"),
		},
		"NonEmptyElement": {reason: "The first element of a list has index 0.", o: o, checks: builder.Checks(builder.NonEmpty("status.list[0]")), want: itIsReady},
		"NonEmptyPastTheEnd": {
			reason: "NonEmpty fails for an index beyond the end of the list.", o: o, checks: builder.Checks(builder.NonEmpty("status.list[1]")),
			want: unready("NotReady", "status.list[1] is not set"),
		},
		"NonEmptyQuoted": {reason: "A field name in a path may contain dots in brackets.", o: o, checks: builder.Checks(builder.NonEmpty("status.map[a.b]")), want: itIsReady},
		"NotAnObject": {
			reason: "A field below one that is not an object is reported, and may still change.",
			o:      o, checks: builder.Checks(builder.NonEmpty("status.phase.name")),
			want: unready("NotReady", "status.phase.name cannot be read: status.phase: not an object"),
		},
		"NotAList": {
			reason: "An index into a field that is not a list is reported, and may still change.", o: o, checks: builder.Checks(builder.NonEmpty("status.phase[0]")),
			want: unready("NotReady", "status.phase[0] cannot be read: status.phase: not an array"),
		},

		"MatchString": {
			reason: "MatchString passes for the same string.", o: o, checks: builder.Checks(builder.MatchString("status.phase", "Pending")), want: itIsReady,
		},
		"MatchStringOther": {
			reason: "MatchString reports another string.", o: o, checks: builder.Checks(builder.MatchString("status.phase", "Running")),
			want: unready("NotReady", `status.phase is "Pending", not "Running"`),
		},
		"MatchStringAbsent": {
			reason: "MatchString reports a field that is not set.", o: o, checks: builder.Checks(builder.MatchString("status.state", "Running")),
			want: unready("NotReady", "status.state is not set"),
		},
		"MatchStringNumber": {
			reason: "MatchString fails for a number with the same digits.", o: o,
			checks: builder.Checks(builder.MatchString("status.replicas", "3")),
			want:   unready("NotReady", `status.replicas is 3, not "3"`),
		},
		"MatchStringObject": {
			reason: "MatchString does not print the content of an object.", o: o, checks: builder.Checks(builder.MatchString("status.map", "a")),
			want: unready("NotReady", `status.map is an object, not "a"`),
		},
		"MatchStringSecret": {
			reason: "MatchString does not disclose the data of a Secret to users who may read the status.",
			o:      secret, checks: builder.Checks(builder.MatchString("data.password", "b3RoZXI=")),
			want: unready("NotReady", `data.password is not "b3RoZXI="`),
		},
		"MatchStringLong": {
			reason: "MatchString truncates a long value, so the message has room for the expected one.",
			o:      builder.Foo(fmt.Sprintf(`{"phase":%q}`, strings.Repeat("ä", 5000))),
			checks: builder.Checks(builder.MatchString("status.phase", "Running")),
			want:   unready("NotReady", fmt.Sprintf(`status.phase is "%s…", not "Running"`, strings.Repeat("ä", 62))),
		},

		"MatchInteger": {
			reason: "MatchInteger passes for the same integer.", o: o, checks: builder.Checks(builder.MatchInteger("status.replicas", 3)), want: itIsReady,
		},
		"MatchIntegerFloat": {
			reason: "MatchInteger passes for a float without a fraction.", o: o, checks: builder.Checks(builder.MatchInteger("status.share", 3)),
			want: itIsReady,
		},
		"MatchIntegerZero": {
			reason: "MatchInteger with 0 fails for a field that is not set.", o: o,
			checks: builder.Checks(builder.MatchInteger("status.ready.missing", 0)),
			want:   unready("NotReady", "status.ready.missing cannot be read: status.ready: not an object"),
		},
		"MatchIntegerOther": {
			reason: "MatchInteger reports another integer.", o: o, checks: builder.Checks(builder.MatchInteger("status.replicas", 5)),
			want: unready("NotReady", "status.replicas is 3, not 5"),
		},
		"MatchIntegerFraction": {
			reason: "MatchInteger does not round a fraction.", o: o, checks: builder.Checks(builder.MatchInteger("status.half", 2)),
			want: unready("NotReady", "status.half is 2.5, not 2"),
		},
		"MatchIntegerHuge": {
			reason: "MatchInteger does not overflow for a float beyond the range of integers.", o: o, checks: builder.Checks(builder.MatchInteger("status.big", -1<<63)),
			want: unready("NotReady", "status.big is 1e+300, not -9223372036854775808"),
		},
		"MatchIntegerNext": {
			reason: "MatchInteger does not overflow for the first float beyond the range of integers.",
			o:      builder.Foo(`{"next":9223372036854775808.0}`), checks: builder.Checks(builder.MatchInteger("status.next", -1<<63)),
			want: unready("NotReady", "status.next is 9.223372036854776e+18, not -9223372036854775808"),
		},
		"MatchIntegerText": {
			reason: "MatchInteger fails for a string with the same digits.", o: o, checks: builder.Checks(builder.MatchInteger("status.number", 3)),
			want: unready("NotReady", `status.number is "3", not 3`),
		},

		"MatchTrue": {reason: "MatchTrue passes for true.", o: o, checks: builder.Checks(builder.MatchTrue("status.ready")), want: itIsReady},
		"MatchTrueFalse": {
			reason: "MatchTrue reports false.", o: o, checks: builder.Checks(builder.MatchTrue("status.broken")),
			want: unready("NotReady", "status.broken is false, not true"),
		},
		"MatchTrueText": {
			reason: "MatchTrue fails for a string.", o: o, checks: builder.Checks(builder.MatchTrue("status.text")),
			want: unready("NotReady", `status.text is "true", not true`),
		},
		"MatchFalse": {reason: "MatchFalse passes for false.", o: o, checks: builder.Checks(builder.MatchFalse("status.broken")), want: itIsReady},
		"MatchFalseTrue": {
			reason: "MatchFalse reports true.", o: o, checks: builder.Checks(builder.MatchFalse("status.ready")),
			want: unready("NotReady", "status.ready is true, not false"),
		},
		"MatchFalseAbsent": {
			reason: "MatchFalse fails if the field is not set.",
			o:      o, checks: builder.Checks(builder.MatchFalse("status.degraded")), want: unready("NotReady", "status.degraded is not set"),
		},
		"MatchFalseList": {
			reason: "MatchFalse fails for a list.", o: o, checks: builder.Checks(builder.MatchFalse("status.list")),
			want: unready("NotReady", "status.list is a list, not false"),
		},
	}
}

// conditionRows cover MatchCondition.
func conditionRows() map[string]readinessRow {
	ready := builder.Checks(builder.MatchCondition("Ready", metav1.ConditionTrue))
	return map[string]readinessRow{
		"True":    {reason: "MatchCondition passes for the same status.", o: builder.FooWithConditions("Other=False", "Ready=True/Fine"), checks: ready, want: itIsReady},
		"Current": {reason: "MatchCondition passes for a condition of the current generation.", o: builder.FooWithConditions("Ready@3=True"), checks: ready, want: itIsReady},
		"Zero":    {reason: "MatchCondition ignores an observedGeneration of 0.", o: builder.FooWithConditions("Ready@0=True"), checks: ready, want: itIsReady},
		"False": {
			reason: "MatchCondition reports another status with its reason and message.", o: builder.FooWithConditions("Ready=False/DiskFull: No room on node a."), checks: ready,
			want: unready("DiskFull", "Ready is False (DiskFull): No room on node a"),
		},
		"Unknown": {
			reason: "MatchCondition reports Unknown.", o: builder.FooWithConditions("Ready=Unknown/Starting"), checks: ready,
			want: unready("Starting", "Ready is Unknown (Starting)"),
		},
		"NoReason": {
			reason: "A condition without a reason is reported as NotReady.", o: builder.FooWithConditions("Ready=False: No room"), checks: ready,
			want: unready("NotReady", "Ready is False: No room"),
		},
		"OddReason": {
			reason: "A reason that is not valid for a condition is only quoted in the message.", o: builder.FooWithConditions("Ready=False/disk full!: No room"),
			checks: ready,
			want:   unready("NotReady", "Ready is False (disk full!): No room"),
		},
		"Bad": {
			reason: "A condition Degraded that is True is reported as a failure instead of the check that does not pass.", o: builder.FooWithConditions("Degraded=True/DiskFull"),
			checks: builder.Checks(builder.MatchCondition("Upgrading", "False")),
			want:   failing("DiskFull", "Degraded is True"),
		},
		"WantFalse": {
			reason: "MatchCondition passes for the status False.", o: builder.FooWithConditions("Migrating=False"),
			checks: builder.Checks(builder.MatchCondition("Migrating", "False")),
			want:   itIsReady,
		},
		"WantFalseTrue": {
			reason: "MatchCondition with False reports True.", o: builder.FooWithConditions("Migrating=True/Copying: 3 of 7"),
			checks: builder.Checks(builder.MatchCondition("Migrating", "False")),
			want:   unready("Copying", "Migrating is True (Copying): 3 of 7"),
		},
		"Absent": {
			reason: "MatchCondition reports a condition that is not set.", o: builder.FooWithConditions("Other=True"), checks: ready,
			want: unready("NotReady", "Condition Ready is not set"),
		},
		"AbsentIsUnknown": {
			reason: "A condition that is not set matches Unknown.", o: builder.FooWithConditions("Other=True"), checks: builder.Checks(builder.MatchCondition("Ready", "Unknown")),
			want: itIsReady,
		},
		"NoStatus": {
			reason: "MatchCondition reports a condition of an object without a status.", o: builder.Foo(""), checks: ready,
			want: unready("NotReady", "Condition Ready is not set"),
		},
		"Outdated": {
			reason: "MatchCondition fails for a condition of an earlier generation.", o: builder.FooWithConditions("Ready@2=True"),
			checks: ready,
			want:   unready("NotReady", "Condition Ready is of an earlier generation"),
		},
		"OthersOutdated": {
			reason: "MatchCondition ignores the generation of other conditions.", o: builder.FooWithConditions("Other@2=True", "Ready@3=True"), checks: ready, want: itIsReady,
		},
		"StatusOutdated": {
			reason: "MatchCondition fails for a status of an earlier generation.",
			o:      builder.WithField(builder.FooWithConditions("Ready=True"), int64(2), "status", "observedGeneration"), checks: ready, want: itIsOutdated,
		},
	}
}

// invalidRows cover invalid checks. The CRD rejects them.
func invalidRows() map[string]readinessRow {
	invalid := func(reason string, c v1alpha1.ReadinessCheck, message string) readinessRow {
		want := failing("CheckInvalid", "readinessChecks[0]."+message)
		return readinessRow{reason: reason, o: builder.FooWithConditions("Ready=True"), checks: builder.Checks(c), want: want}
	}
	return map[string]readinessRow{
		"Path": invalid("An invalid path is reported with the syntax error.",
			builder.NonEmpty("status..phase"), `fieldPath is "status..phase": unexpected '.' at position 7`),
		"NoPath": invalid("A missing path is reported.", builder.MatchTrue(""), "fieldPath is missing"),
		"OpenIndex": invalid("A path with an open bracket is reported.",
			builder.NonEmpty("status.list[0"), `fieldPath is "status.list[0": unterminated '[' at position 11`),
		"Wildcard": invalid("A wildcard in brackets is reported, since it names several fields.",
			builder.NonEmpty("status.list[*].name"), `fieldPath is "status.list[*].name": with a wildcard it does not name one field`),
		"Star": invalid("A wildcard without brackets is reported.",
			builder.NonEmpty("status.*"), `fieldPath is "status.*": with a wildcard it does not name one field`),
		"NoString": invalid("MatchString without a value is reported.", builder.MatchString("status.phase", ""), "matchString is missing"),
		"NoInteger": invalid("MatchInteger without a value is reported.",
			v1alpha1.ReadinessCheck{Type: "MatchInteger", FieldPath: "a"}, "matchInteger is missing"),
		"NoCondition": invalid("MatchCondition without a condition is reported.", v1alpha1.ReadinessCheck{Type: "MatchCondition"},
			"matchCondition is missing"),
		"NoConditionType": invalid("MatchCondition without a condition type is reported.", builder.MatchCondition("", "True"), "matchCondition is missing"),
		"NoConditionStatus": invalid("MatchCondition without a status is reported.", builder.MatchCondition("Ready", ""),
			`matchCondition.status is "", and must be True, False or Unknown`),
		"Type": invalid("An unknown check type is reported.", v1alpha1.ReadinessCheck{Type: "MatchCEL"}, `type is "MatchCEL", which is not a valid type`),
		"Later": {
			reason: "An invalid check is reported before one that does not pass, since waiting does not fix it.",
			o:      builder.Foo(""), checks: builder.Checks(builder.NonEmpty("status.phase"), builder.NonEmpty("status.")),
			want: failing("CheckInvalid", `readinessChecks[1].fieldPath is "status.": unexpected '.' at position 6`),
		},
	}
}

// checksRows cover behavior common to all checks.
func checksRows() map[string]readinessRow {
	outdated := func(conditions ...string) *unstructured.Unstructured {
		o := builder.WithField(builder.FooWithConditions(conditions...), int64(2), "status", "observedGeneration")
		return builder.WithField(o, "Running", "status", "phase")
	}
	deployment := builder.WithStatus("apps/v1", "Deployment",
		builder.Conditions("Available=True", "Progressing=False/ProgressDeadlineExceeded: ReplicaSet \"a\" has timed out progressing."))
	return map[string]readinessRow{
		"All": {
			reason: "An object is ready if all checks pass.", o: builder.FooWithConditions("A=True", "B=False"),
			checks: builder.Checks(builder.None, builder.MatchCondition("A", "True"), builder.NonEmpty("status.conditions"), builder.MatchInteger("spec.size", 1)),
			want:   itIsReady,
		},
		"First": {
			reason: "The first check that does not pass is reported.", o: builder.FooWithConditions("A=False/First", "B=False/Second"),
			checks: builder.Checks(builder.None, builder.MatchCondition("A", "True"), builder.MatchCondition("B", "True")),
			want:   unready("First", "A is False (First)"),
		},
		"Second": {
			reason: "A check that fails after one that passes is reported.", o: builder.FooWithConditions("A=True/First", "B=False/Second"),
			checks: builder.Checks(builder.None, builder.MatchCondition("A", "True"), builder.MatchCondition("B", "True")),
			want:   unready("Second", "B is False (Second)"),
		},
		"InsteadOfTheKind": {
			reason: "Checks replace the conventions of the kind.", o: builder.FooWithConditions("Ready=False/Paused", "Phase=True"),
			checks: builder.Checks(builder.MatchCondition("Phase", "True")), want: itIsReady,
		},
		"PassThoughFailing": {
			reason: "Checks replace the conventions even if the object reports a failure.", o: builder.FooWithConditions("Stalled=True/Broken", "Phase=True"),
			checks: builder.Checks(builder.MatchCondition("Phase", "True")), want: itIsReady,
		},
		"Stalled": {
			reason: "If a check does not pass and the object has failed, the failure is reported instead of the field that is not set.",
			o:      builder.FooWithConditions("Stalled=True/InvalidSpec: size must be odd."), checks: builder.Checks(builder.NonEmpty("status.phase")),
			want: failing("InvalidSpec", "size must be odd"),
		},
		"DeadlineExceeded": {
			reason: "A failure of a Deployment is reported instead of the check that does not pass.", o: deployment,
			checks: builder.Checks(builder.MatchInteger("status.readyReplicas", 1)),
			want:   failing("ProgressDeadlineExceeded", `ReplicaSet "a" has timed out progressing`),
		},
		"NotFailing": {
			reason: "If a check does not pass, a Ready condition that is False is not reported.", o: builder.FooWithConditions("Ready=False/Starting: soon"),
			checks: builder.Checks(builder.NonEmpty("status.phase")), want: unready("NotReady", "status.phase is not set"),
		},
		"OutdatedField": {
			reason: "A field of a status of an earlier generation is ignored.",
			o:      outdated(), checks: builder.Checks(builder.MatchString("status.phase", "Running")), want: itIsOutdated,
		},
		"OutdatedBracket": {
			reason: "A field of a status of an earlier generation is ignored if its path is written with brackets.",
			o:      outdated(), checks: builder.Checks(builder.MatchString("[status].phase", "Running")), want: itIsOutdated,
		},
		"OutdatedFailure": {
			reason: "A failure of an earlier generation is ignored.", o: outdated("Stalled=True/InvalidSpec"),
			checks: builder.Checks(builder.MatchString("status.phase", "Pending")), want: itIsOutdated,
		},
		"OutdatedElsewhere": {
			reason: "A status of an earlier generation is ignored if no check reads the status.",
			o:      outdated(), checks: builder.Checks(builder.None, builder.MatchInteger("spec.size", 1), builder.NonEmpty("metadata.name")),
			want: itIsReady,
		},
		"Observed": {
			reason: "A field of a status of the current generation is checked.",
			o:      builder.WithField(outdated(), int64(3), "status", "observedGeneration"),
			checks: builder.Checks(builder.MatchString("status.phase", "Running")),
			want:   itIsReady,
		},
		"ObservedText": {
			reason: "An observedGeneration that is not a number is ignored.",
			o:      builder.WithField(outdated(), "2", "status", "observedGeneration"),
			checks: builder.Checks(builder.MatchString("status.phase", "Running")),
			want:   itIsReady,
		},
	}
}

// customResourceRows cover kinds without built-in conventions.
func customResourceRows() map[string]readinessRow {
	at := func(generation any, conditions ...string) *unstructured.Unstructured {
		return builder.WithField(builder.FooWithConditions(conditions...), generation, "status", "observedGeneration")
	}
	return map[string]readinessRow{
		"NoStatus": {reason: "An object without a status is ready once it exists.", o: builder.Foo(""), want: itIsReady},
		"NoConditions": {
			reason: "An object whose status has no conditions is ready.", o: builder.Foo(`{"phase":"Pending"}`), want: itIsReady,
		},
		"Ready": {reason: "An object whose condition Ready is True is ready.", o: builder.FooWithConditions("Ready=True/Fine: All is well"), want: itIsReady},
		"NotReady": {
			reason: "An object whose condition Ready is False is not ready, with its reason and message.", o: builder.FooWithConditions("Ready=False/DiskFull: No room on node a."),
			want: unready("DiskFull", "No room on node a"),
		},
		"Silent": {reason: "A condition Ready without reason and message is reported by its status.", o: builder.FooWithConditions("Ready=False"), want: unready("NotReady", "Ready is False")},
		"Unknown": {
			reason: "An object whose condition Ready is Unknown is not ready.", o: builder.FooWithConditions("Ready=Unknown/Starting: Waiting for an address"),
			want: unready("Starting", "Waiting for an address"),
		},
		"Neither": {reason: "An object whose condition Ready has an invalid status is not ready.", o: builder.FooWithConditions("Ready=Perhaps"), want: unready("NotReady", "Ready is Perhaps")},
		"NoWord":  {reason: "An object whose condition Ready has no status is not ready.", o: builder.FooWithConditions("Ready="), want: unready("NotReady", "Ready is not set")},
		"Available": {
			reason: "An object whose condition Available is True is ready.", o: builder.FooWithConditions("Available=True"),
			want: itIsReady,
		},
		"NotAvailable": {
			reason: "An object whose condition Available is False is not ready.", o: builder.FooWithConditions("Available=False/NoReplicas: 0 of 3 replicas"),
			want: unready("NoReplicas", "0 of 3 replicas"),
		},
		"ReadyNotAvailable": {
			reason: "An object is not ready if Ready is True and Available is Unknown.", o: builder.FooWithConditions("Ready=True", "Available=Unknown/Checking"),
			want: unready("Checking", "Available is Unknown"),
		},
		"Degraded": {
			reason: "An object whose condition Degraded is True has failed.",
			o:      builder.FooWithConditions("Available=True", "Degraded=True/QuorumLost: 1 of 3 members"),
			want:   failing("QuorumLost", "1 of 3 members"),
		},
		"DegradedNotReady": {
			reason: "Degraded is more specific than Ready=False.",
			o:      builder.FooWithConditions("Ready=False/NotReady", "Degraded=True/QuorumLost: 1 of 3 members"),
			want:   failing("QuorumLost", "1 of 3 members"),
		},
		"DegradedSilent": {
			reason: "A condition Degraded without reason and message is reported by its status.", o: builder.FooWithConditions("Degraded=True"), want: failing("Failing", "Degraded is True"),
		},
		"NotDegraded": {
			reason: "An object whose condition Degraded is False is ready.", o: builder.FooWithConditions("Degraded=False/AsExpected", "Available=True"), want: itIsReady,
		},
		"DegradedUnknown": {
			reason: "Degraded=Unknown is not a failure.", o: builder.FooWithConditions("Degraded=Unknown", "Available=True"),
			want: itIsReady,
		},
		"Reconciling": {
			reason: "An object whose condition Reconciling is True is not ready, as in kstatus.", o: builder.FooWithConditions("Ready=True", "Reconciling=True/Scaling: 2 of 3"),
			want: unready("Scaling", "2 of 3"),
		},
		"Stalled": {
			reason: "An object whose condition Stalled is True has failed, as in kstatus.",
			o:      builder.FooWithConditions("Ready=False/NotReady", "Stalled=True/InvalidSpec: size must be odd."),
			want:   failing("InvalidSpec", "size must be odd"),
		},
		"StalledOtherwise": {
			reason: "The conditions of built-in kinds are not used for a custom resource.",
			o:      builder.FooWithConditions("PodScheduled=False/Other", "Failed=True/Other", "Stalled=True/InvalidSpec: size must be odd"),
			want:   failing("InvalidSpec", "size must be odd"),
		},
		"StalledSilent": {reason: "A condition Stalled without reason and message is reported as Failing.", o: builder.FooWithConditions("Stalled=True"), want: failing("Failing", "It has failed")},
		"StalledOddWord": {
			reason: "An invalid reason of Stalled is replaced by Failing.", o: builder.FooWithConditions("Stalled=True/no way: no"), want: failing("Failing", "no"),
		},
		"OutdatedStatus": {
			reason: "A status of an earlier generation is outdated.", o: at(int64(2), "Ready=True"), want: itIsOutdated,
		},
		"OutdatedFloat":   {reason: "A status of an earlier generation is outdated if observedGeneration is a float.", o: at(2.0, "Ready=True"), want: itIsOutdated},
		"OutdatedFailure": {reason: "A failure of an earlier generation is ignored.", o: at(int64(2), "Stalled=True"), want: itIsOutdated},
		"Observed":        {reason: "A status of the current generation is not outdated.", o: at(int64(3), "Ready=True"), want: itIsReady},
		"ObservedFloat":   {reason: "A status of the current generation is not outdated if observedGeneration is a float.", o: at(3.0, "Ready=True"), want: itIsReady},
		"ObservedText":    {reason: "An observedGeneration that is a string, as in an Argo Rollout, is ignored.", o: at("3", "Available=True"), want: itIsReady},
		"ObservedLater": {
			reason: "A status of a later generation, as after a restore, is left to kstatus.",
			o:      at(int64(4), "Ready=True", "Progressing=False/Done"),
			want:   unready("NotReady", "Foo generation is 3, but latest observed generation is 4"),
		},
		"OutdatedCondition": {
			reason: "A condition Ready with an earlier observedGeneration is outdated.", o: builder.FooWithConditions("Ready@2=True"),
			want: unready("NotReady", "Condition Ready is of an earlier generation"),
		},
		"OutdatedNotReady": {
			reason: "The reason of an outdated condition Ready is not reported.", o: builder.FooWithConditions("Ready@2=False/InvalidSpec"),
			want: unready("NotReady", "Condition Ready is of an earlier generation"),
		},
		"OutdatedDegraded": {
			reason: "The reason of an outdated condition Degraded is not reported.", o: builder.FooWithConditions("Degraded@2=True/InvalidSpec"),
			want: unready("NotReady", "Condition Degraded is of an earlier generation"),
		},
		"OutdatedNotDegraded": {
			reason: "An outdated condition Degraded that is False is ignored.", o: builder.FooWithConditions("Degraded@2=False", "Ready@3=True"), want: itIsReady,
		},
		"ObservedCondition": {reason: "A condition of the current generation is used.", o: builder.FooWithConditions("Ready@3=True"), want: itIsReady},
	}
}

// kubernetesRows cover kinds that kstatus knows, and other built-in kinds.
func kubernetesRows() map[string]readinessRow {
	deployment := func(replicas, available int, conditions ...string) *unstructured.Unstructured {
		o := builder.WithStatus("apps/v1", "Deployment", builder.Conditions(conditions...))
		for field, n := range map[string]int{
			"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": available, "availableReplicas": available,
			"observedGeneration": 3,
		} {
			builder.WithField(o, int64(n), "status", field)
		}
		return o
	}
	pod := func(conditions ...string) *unstructured.Unstructured {
		return builder.WithStatus("v1", "Pod", builder.Conditions(conditions...))
	}
	crd := func(status string) *unstructured.Unstructured {
		return builder.WithStatus("apiextensions.k8s.io/v1", "CustomResourceDefinition", status)
	}
	none := "Available=False/MinimumReplicasUnavailable: Deployment does not have minimum availability."
	return map[string]readinessRow{
		"ConfigMap": {
			reason: "A ConfigMap, which has no status, is ready.", o: builder.FromJSON(`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}`),
			want: itIsReady,
		},
		"Secret": {
			reason: "A Secret, which has no status, is ready.", o: builder.FromJSON(`{"apiVersion":"v1","kind":"Secret"}`), want: itIsReady,
		},
		"Namespace": {reason: "A Namespace that is active is ready.", o: builder.WithStatus("v1", "Namespace", `{"phase":"Active"}`), want: itIsReady},

		"Deployment": {reason: "A Deployment whose pods are available is ready.", o: deployment(1, 1, "Available=True"), want: itIsReady},
		"DeploymentNew": {
			reason: "A Deployment that was not reconciled yet is not ready.", o: builder.WithStatus("apps/v1", "Deployment", ""),
			want: unready("NotReady", "Replicas: 0/1"),
		},
		"DeploymentUnavailable": {
			reason: "The numbers come from kstatus and the reason from the condition.", o: deployment(1, 0, none),
			want: unready("MinimumReplicasUnavailable", "Available: 0/1: Deployment does not have minimum availability"),
		},
		"DeploymentQuota": {
			reason: "The condition ReplicaFailure takes precedence, since it states why pods are missing.",
			o:      deployment(0, 0, none, `ReplicaFailure=True/FailedCreate: pods "a" is forbidden: exceeded quota`),
			want:   unready("FailedCreate", `Replicas: 0/1: pods "a" is forbidden: exceeded quota`),
		},
		"DeploymentRollout": {
			reason: "If no condition reports a problem with the rollout, our own reason is used.",
			o:      builder.WithField(deployment(1, 1, "Available=True", "Progressing=True/Updated"), int64(0), "status", "updatedReplicas"),
			want:   unready("NotReady", "Updated: 0/1"),
		},
		"DeploymentDeadline": {
			reason: "A Deployment beyond its progress deadline has failed.",
			o:      deployment(1, 0, none, `Progressing=False/ProgressDeadlineExceeded: ReplicaSet "a" has timed out progressing.`),
			want:   failing("ProgressDeadlineExceeded", `ReplicaSet "a" has timed out progressing`),
		},
		"DeploymentReconciling": {
			reason: "The message of a condition that kstatus returns is not repeated.",
			o:      deployment(1, 1, "Available=True", "Reconciling=True/Moving: To another node"),
			want:   unready("Moving", "To another node"),
		},
		"DeploymentOutdated": {
			reason: "The status of a Deployment of an earlier generation is outdated.",
			o:      builder.WithField(deployment(1, 1, "Available=True"), int64(2), "status", "observedGeneration"),
			want:   itIsOutdated,
		},
		"DeploymentDegraded": {
			reason: "A condition Degraded of a Deployment is ignored, since the kind does not define it.", o: deployment(1, 1, "Available=True", "Degraded=True"),
			want: itIsReady,
		},
		"StatefulSet": {
			reason: "A StatefulSet, which has no conditions, is evaluated by its replicas.",
			o:      builder.WithStatus("apps/v1", "StatefulSet", `{"replicas":1,"readyReplicas":0}`),
			want:   unready("NotReady", "Ready: 0/1"),
		},
		"DaemonSet": {
			reason: "A DaemonSet that is ready on every node is ready.",
			o: builder.WithStatus("apps/v1", "DaemonSet", `{"observedGeneration":3,"desiredNumberScheduled":2,"currentNumberScheduled":2,
				"updatedNumberScheduled":2,"numberAvailable":2,"numberReady":2}`),
			want: itIsReady,
		},
		"JobFailed": {
			reason: "A failed Job is reported with the reason of its condition.",
			o:      builder.WithStatus("batch/v1", "Job", builder.Conditions("Failed=True/BackoffLimitExceeded: Job has reached its limit")),
			want:   failing("BackoffLimitExceeded", "Job has reached its limit"),
		},
		"PodUnschedulable": {
			reason: "An unschedulable Pod is reported with the reason of its condition.",
			o:      builder.WithField(pod("PodScheduled=False/Unschedulable: 0/3 nodes are available."), "Pending", "status", "phase"),
			want:   failing("Unschedulable", "0/3 nodes are available"),
		},
		"PodOutdated": {
			reason: "A condition of an earlier generation, such as before a resize, is not reported as the cause.",
			o:      builder.WithField(pod("PodScheduled@2=True/Fine"), "Running", "status", "phase"),
			want:   unready("NotReady", "Pod is running but is not Ready"),
		},
		"PodOutdatedFailure": {
			reason: "An outdated condition of a Pod is not reported as the cause of a failure.",
			o: builder.WithField(builder.WithField(pod("PodScheduled@2=True/Fine"), "Running", "status", "phase"), []any{map[string]any{
				"name": "a", "state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}},
			}}, "status", "containerStatuses"),
			want: failing("ContainerCrashLooping", "Containers in CrashLoop state: a"),
		},
		"PodCrashing": {
			reason: "A Pod in CrashLoopBackOff has failed.",
			o: builder.WithStatus("v1", "Pod",
				`{"phase":"Running","containerStatuses":[{"name":"a","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`),
			want: failing("ContainerCrashLooping", "Containers in CrashLoop state: a"),
		},
		"CRD": {
			reason: "An established CRD is ready.",
			o:      crd(builder.Conditions("Established=True")),
			want:   itIsReady,
		},
		"CRDNew": {
			reason: "A CRD that is not established is not ready.", o: crd(""),
			want: unready("NotReady", "Install in progress"),
		},
		"CRDNames": {
			reason: "A CRD whose names are in conflict has failed.",
			o:      crd(builder.Conditions("NamesAccepted=False/ListKindConflict: \"FooList\" is in use")),
			want:   failing("ListKindConflict", `"FooList" is in use`),
		},
		"APIService": {
			reason: "An APIService is evaluated by its condition Available.",
			o:      builder.WithStatus("apiregistration.k8s.io/v1", "APIService", builder.Conditions("Available=False/MissingEndpoints: no endpoints")),
			want:   unready("MissingEndpoints", "no endpoints"),
		},
	}
}

// clusterExtensionRows cover the ClusterExtensions of OLM v1.
func clusterExtensionRows() map[string]readinessRow {
	extension := func(conditions ...string) *unstructured.Unstructured {
		return builder.WithStatus("olm.operatorframework.io/v1", "ClusterExtension", builder.Conditions(conditions...))
	}
	installed, done := "Installed@3=True/Succeeded: Installed bundle", "Progressing@3=True/Succeeded: Desired state reached"
	absent := "Installed@3=False/Absent: No bundle installed"
	return map[string]readinessRow{
		"Installed": {reason: "A ClusterExtension is ready if it is installed and has Succeeded.", o: extension(installed, done), want: itIsReady},
		"NoLonger": {
			reason: "Progressing may be False with reason Succeeded, as in newer versions.",
			o:      extension(installed, "Progressing@3=False/Succeeded: Desired state reached"), want: itIsReady,
		},
		"New": {
			reason: "A ClusterExtension that was not reconciled yet is not ready.", o: extension(), want: unready("NotReady", "Condition Installed is not set"),
		},
		"RollingOut": {
			reason: "A ClusterExtension that is rolling out is not ready.", o: extension(absent, "Progressing@3=True/RollingOut: Revision 1 is rolling out"),
			want: unready("RollingOut", "Revision 1 is rolling out"),
		},
		"Updating": {
			reason: "A ClusterExtension that is rolling out is not ready even if another revision is installed.",
			o:      extension(installed, "Progressing@3=True/RollingOut: Revision 2 is rolling out"),
			want:   unready("RollingOut", "Revision 2 is rolling out"),
		},
		"Retrying": {
			reason: "A ClusterExtension with reason Retrying has failed.",
			o:      extension(absent, "Progressing@3=True/Retrying: no package \"foo\" found."),
			want:   failing("Retrying", `no package "foo" found`),
		},
		"RetryingInstalled": {
			reason: "A ClusterExtension with reason Retrying has failed even if another revision is installed.",
			o:      extension(installed, "Progressing@3=True/Retrying: no package \"foo\" found"),
			want:   failing("Retrying", `no package "foo" found`),
		},
		"Blocked": {
			reason: "A ClusterExtension with reason Blocked has failed.", o: extension(absent, "Progressing@3=False/Blocked: no service account"),
			want: failing("Blocked", "no service account"),
		},
		"InvalidConfiguration": {
			reason: "A ClusterExtension with reason InvalidConfiguration has failed.",
			o:      extension(absent, "Progressing@3=False/InvalidConfiguration: unknown field"),
			want:   failing("InvalidConfiguration", "unknown field"),
		},
		"Unknown": {
			reason: "A ClusterExtension whose condition Progressing is Unknown is not ready, and has not failed.", o: extension(installed, "Progressing@3=Unknown/Reconciling"),
			want: unready("Reconciling", "Progressing is Unknown"),
		},
		"OnlyAbsent": {
			reason: "The reason of Installed is reported without Progressing.", o: extension(absent),
			want: unready("Absent", "No bundle installed"),
		},
		"OnlyInstalled": {
			reason: "A ClusterExtension without Progressing is not ready.", o: extension(installed),
			want: unready("NotReady", "Condition Progressing is not set"),
		},
		"DoneAndAbsent": {
			reason: "A ClusterExtension that has Succeeded is not ready if it is not installed.", o: extension(absent, done),
			want: unready("Absent", "No bundle installed"),
		},
		"OnlyDone": {
			reason: "A ClusterExtension without Installed is not ready.", o: extension(done), want: unready("NotReady", "Condition Installed is not set"),
		},
		"Outdated": {
			reason: "A condition Progressing of an earlier generation is outdated.",
			o:      extension(installed, "Progressing@2=True/Succeeded"),
			want:   unready("NotReady", "Condition Progressing is of an earlier generation"),
		},
		"OutdatedBlocked": {
			reason: "A failure of an earlier generation is not reported.", o: extension(absent, "Progressing@2=False/Blocked"),
			want: unready("NotReady", "Condition Progressing is of an earlier generation"),
		},
		"OutdatedInstalled": {
			reason: "A condition Installed of an earlier generation is outdated.", o: extension("Installed@2=True/Succeeded", done),
			want: unready("NotReady", "Condition Installed is of an earlier generation"),
		},
		"OtherGroup": {
			reason: "A ClusterExtension of another API group is an ordinary custom resource.",
			o:      builder.WithStatus("example.com/v1", "ClusterExtension", builder.Conditions("Progressing=False/Blocked")),
			want:   itIsReady,
		},
		"WithChecks": {
			reason: "A failure is reported if a check does not pass.",
			o:      extension(absent, "Progressing@3=True/Retrying: no package"),
			checks: builder.Checks(builder.MatchCondition("Installed", "True")),
			want:   failing("Retrying", "no package"),
		},
	}
}

// oddRows cover objects that no controller should write.
func oddRows() map[string]readinessRow {
	const unread = "Its status cannot be read, so readinessChecks must define its readiness: "
	long := strings.Repeat("ä", 5000)
	return map[string]readinessRow{
		"StatusText": {
			reason: "A status that is not an object cannot be evaluated.", o: builder.Foo(`"Running"`),
			want: unready("NotReady", unread+`status is "Running", not an object`),
		},
		"StatusTextChecked": {
			reason: "A check may read a status that is not an object.", o: builder.Foo(`"Running"`), checks: builder.Checks(builder.MatchString("status", "Running")),
			want: itIsReady,
		},
		"ConditionsMap": {
			reason: "Conditions that are not a list cannot be evaluated.", o: builder.Foo(`{"conditions":{"Ready":"True"}}`),
			want: unready("NotReady", unread+"status.conditions is an object, not a list"),
		},
		"ConditionsMapChecked": {
			reason: "A check may read conditions that are not a list.", o: builder.Foo(`{"conditions":{"Ready":"True"}}`),
			checks: builder.Checks(builder.MatchString("status.conditions.Ready", "True")),
			want:   itIsReady,
		},
		"ConditionsNull": {reason: "Conditions that are null are ignored.", o: builder.Foo(`{"conditions":null}`), want: itIsReady},
		"Entries": {
			reason: "Invalid conditions are ignored, and the valid ones are evaluated.",
			o:      builder.Foo(`{"conditions":["Ready",null,[],{},{"type":3},{"type":"Ready","status":"False","reason":7,"message":{}}]}`),
			want:   unready("NotReady", "Ready is False"),
		},
		"StatusBoolean": {
			reason: "A status that is not a string is not True.", o: builder.Foo(`{"conditions":[{"type":"Ready","status":true}]}`),
			want: unready("NotReady", "Ready is not set"),
		},
		"Twice": {reason: "The first of two conditions of one type is evaluated.", o: builder.FooWithConditions("Ready=True", "Ready=False"), want: itIsReady},
		"PodContainers": {
			reason: "A Pod with invalid container statuses is reported instead of a panic in kstatus.",
			o:      builder.WithStatus("v1", "Pod", `{"phase":"Running","containerStatuses":["a"]}`),
			want:   unready("NotReady", unread+"kstatus: interface conversion: interface {} is string, not map[string]interface {}"),
		},
		"LongMessage": {
			reason: "A long message is truncated between two runes.", o: builder.FooWithConditions("Ready=False/Long: " + long),
			want: unready("Long", strings.Repeat("ä", 510)+"…"),
		},
		"LongReason": {
			reason: "A reason longer than the API allows is replaced by NotReady.", o: builder.FooWithConditions("Ready=False/" + strings.Repeat("A", 1025) + ": no"),
			want: unready("NotReady", "no"),
		},
		"LongestReason": {
			reason: "A reason as long as the API allows is kept.", o: builder.FooWithConditions("Ready=False/" + strings.Repeat("A", 1024) + ": no"),
			want: unready(strings.Repeat("A", 1024), "no"),
		},
		"Lines": {
			reason: "Line breaks in a message are replaced by spaces.", o: builder.FooWithConditions("Ready=False/Lines: It went\n\n\twrong...\n"),
			want: unready("Lines", "It went wrong"),
		},
		"Dots": {reason: "A message that contains only dots is left out.", o: builder.FooWithConditions("Ready=False/Dots: ..."), want: unready("Dots", "Ready is False")},
		"ReasonLine": {
			reason: "A reason with a line break is replaced by NotReady.", o: builder.FooWithConditions("Ready=False/Two\n: lines"), want: unready("NotReady", "lines"),
		},
	}
}

func FuzzReadinessOf(f *testing.F) {
	seed := func(o *unstructured.Unstructured, checkType, path, match string, n int64) {
		text, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, checkType, path, match, n)
	}
	for _, rows := range []map[string]readinessRow{
		fieldRows(), conditionRows(), customResourceRows(), kubernetesRows(), clusterExtensionRows(), oddRows(),
	} {
		for _, tc := range rows {
			seed(tc.o, "MatchCondition", "status.phase", "Ready", 3)
		}
	}
	for t := range strings.SplitSeq("None NonEmpty MatchString MatchInteger MatchTrue MatchFalse MatchCondition ?", " ") {
		seed(builder.FooWithConditions("Ready=True"), t, "status.conditions[0].type", "Ready", 0)
		seed(builder.FooWithConditions("Ready=True"), t, "status..x[*]['a.b']", "", 0)
	}
	f.Add([]byte("null"), "None", "", "", int64(0))
	f.Add([]byte(`{"kind":3,"apiVersion":{},"metadata":[],"status":{"observedGeneration":"1"}}`), "", "", "", int64(0))
	f.Add([]byte(`{"metadata":{"deletionTimestamp":{},"finalizers":"a"}}`), "", "", "", int64(0))
	f.Fuzz(func(t *testing.T, text []byte, checkType, path, match string, n int64) {
		o, floats := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if kjson.Unmarshal(text, &o.Object) != nil || json.Unmarshal(text, &floats.Object) != nil {
			return
		}
		check := v1alpha1.ReadinessCheck{
			Type: v1alpha1.ReadinessCheckType(checkType), FieldPath: path, MatchString: match, MatchInteger: &n,
			MatchCondition: &v1alpha1.MatchCondition{Type: match, Status: metav1.ConditionTrue},
		}
		without := v1alpha1.ReadinessCheck{Type: check.Type, FieldPath: path}
		for _, o := range []*unstructured.Unstructured{o, floats} {
			for _, checks := range [][]v1alpha1.ReadinessCheck{nil, {check}, {without}, {builder.None, check}} {
				before := o.DeepCopy()
				got := Of(o, checks)
				checkReadiness(t, got)
				if diff := cmp.Diff(before, o); diff != "" {
					t.Fatalf("the object was changed\n-before +after\n%s", diff)
				}
			}
		}
	})
}

// checkReadiness verifies the invariants of every State.
func checkReadiness(t *testing.T, got State) {
	t.Helper()
	switch {
	case got.Ready:
		if diff := cmp.Diff(itIsReady, got); diff != "" {
			t.Fatalf("A ready object has a reason, a message or a failure\n-want +got\n%s", diff)
		}
	case !reasonPattern.MatchString(got.Reason), len(got.Reason) > 1024:
		t.Fatalf("the reason %q is not valid for a condition", got.Reason)
	case strings.TrimSpace(got.Message) == "", len(got.Message) > 1024, !utf8.ValidString(got.Message),
		strings.HasSuffix(got.Message, "."):
		t.Fatalf("the message is too long, empty or has line breaks: %q", got.Message)
	}
}
