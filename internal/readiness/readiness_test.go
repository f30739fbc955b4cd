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

func doomed(reason, message string) State {
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
					t.Errorf("The object, which may be the cache's, was changed\n-before +after\n%s", diff)
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
		"None": {reason: "What is not there is not ready.", want: unready("NotFound", "Not found")},
		"Empty": {
			reason: "Nor is what was never filled in.", o: &unstructured.Unstructured{},
			want: unready("NotFound", "Not found"),
		},
		"NoneWithChecks": {
			reason: "Whatever the checks.", checks: builder.Checks(builder.None), want: unready("NotFound", "Not found"),
		},
		"Deleting": {
			reason: "What is going away cannot be relied on any more.",
			o:      deleting(), want: unready("Terminating", "It is being deleted"),
		},
		"NotDeleting": {
			reason: "An empty time is none.",
			o:      builder.WithField(builder.FooWithConditions("Ready=True"), "", "metadata", "deletionTimestamp"), want: itIsReady,
		},
		"DeletingWithChecks": {
			reason: "Whatever the checks; and the message lists the finalizers that it waits for.",
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
			reason: "None is content with the object being there.", o: builder.FooWithConditions("Ready=False"), checks: builder.Checks(builder.None),
			want: itIsReady,
		},

		"NonEmpty": {
			reason: "A field that is there will do.", o: o, checks: builder.Checks(builder.NonEmpty("status.phase")), want: itIsReady,
		},
		"NonEmptyText": {
			reason: "It may even be empty, as with Crossplane.", o: o, checks: builder.Checks(builder.NonEmpty("status.empty")),
			want: itIsReady,
		},
		"NonEmptyAbsent": {
			reason: "One that is not there will not.",
			o:      o, checks: builder.Checks(builder.NonEmpty("status.address.url")),
			want: unready("NotReady", "status.address.url is not set"),
		},
		"NonEmptyNull": {
			reason: "Null is nothing.", o: o, checks: builder.Checks(builder.NonEmpty("status.none")),
			want: unready("NotReady", "status.none is not set"),
		},
		"NonEmptyElement": {reason: "Lists count from 0.", o: o, checks: builder.Checks(builder.NonEmpty("status.list[0]")), want: itIsReady},
		"NonEmptyPastTheEnd": {
			reason: "And they end.", o: o, checks: builder.Checks(builder.NonEmpty("status.list[1]")),
			want: unready("NotReady", "status.list[1] is not set"),
		},
		"NonEmptyQuoted": {reason: "A name may have dots.", o: o, checks: builder.Checks(builder.NonEmpty("status.map[a.b]")), want: itIsReady},
		"NotAnObject": {
			reason: "A field of another type than the path expects is reported, and may still change.",
			o:      o, checks: builder.Checks(builder.NonEmpty("status.phase.name")),
			want: unready("NotReady", "status.phase.name cannot be read: status.phase: not an object"),
		},
		"NotAList": {
			reason: "Also if the path expects a list.", o: o, checks: builder.Checks(builder.NonEmpty("status.phase[0]")),
			want: unready("NotReady", "status.phase[0] cannot be read: status.phase: not an array"),
		},

		"MatchString": {
			reason: "That string it is.", o: o, checks: builder.Checks(builder.MatchString("status.phase", "Pending")), want: itIsReady,
		},
		"MatchStringOther": {
			reason: "Another string is quoted.", o: o, checks: builder.Checks(builder.MatchString("status.phase", "Running")),
			want: unready("NotReady", `status.phase is "Pending", not "Running"`),
		},
		"MatchStringAbsent": {
			reason: "A missing field is reported.", o: o, checks: builder.Checks(builder.MatchString("status.state", "Running")),
			want: unready("NotReady", "status.state is not set"),
		},
		"MatchStringNumber": {
			reason: "A number is no string, though it reads the same.", o: o,
			checks: builder.Checks(builder.MatchString("status.replicas", "3")),
			want:   unready("NotReady", `status.replicas is 3, not "3"`),
		},
		"MatchStringObject": {
			reason: "An object is not poured out.", o: o, checks: builder.Checks(builder.MatchString("status.map", "a")),
			want: unready("NotReady", `status.map is an object, not "a"`),
		},
		"MatchStringSecret": {
			reason: "The data of a Secret is not disclosed to users who may read the status.",
			o:      secret, checks: builder.Checks(builder.MatchString("data.password", "b3RoZXI=")),
			want: unready("NotReady", `data.password is not "b3RoZXI="`),
		},
		"MatchStringLong": {
			reason: "Of a long value only the beginning is shown, so that there is room for what it should be.",
			o:      builder.Foo(fmt.Sprintf(`{"phase":%q}`, strings.Repeat("ä", 5000))),
			checks: builder.Checks(builder.MatchString("status.phase", "Running")),
			want:   unready("NotReady", fmt.Sprintf(`status.phase is "%s…", not "Running"`, strings.Repeat("ä", 62))),
		},

		"MatchInteger": {
			reason: "That integer it is.", o: o, checks: builder.Checks(builder.MatchInteger("status.replicas", 3)), want: itIsReady,
		},
		"MatchIntegerFloat": {
			reason: "A whole number may come as a float.", o: o, checks: builder.Checks(builder.MatchInteger("status.share", 3)),
			want: itIsReady,
		},
		"MatchIntegerZero": {
			reason: "0 can be looked for, and is not the same as nothing.", o: o,
			checks: builder.Checks(builder.MatchInteger("status.ready.missing", 0)),
			want:   unready("NotReady", "status.ready.missing cannot be read: status.ready: not an object"),
		},
		"MatchIntegerOther": {
			reason: "Another integer is reported.", o: o, checks: builder.Checks(builder.MatchInteger("status.replicas", 5)),
			want: unready("NotReady", "status.replicas is 3, not 5"),
		},
		"MatchIntegerFraction": {
			reason: "A fraction is not rounded.", o: o, checks: builder.Checks(builder.MatchInteger("status.half", 2)),
			want: unready("NotReady", "status.half is 2.5, not 2"),
		},
		"MatchIntegerHuge": {
			reason: "What does not fit is not wrapped.", o: o, checks: builder.Checks(builder.MatchInteger("status.big", -1<<63)),
			want: unready("NotReady", "status.big is 1e+300, not -9223372036854775808"),
		},
		"MatchIntegerNext": {
			reason: "Not even the next one after the largest.",
			o:      builder.Foo(`{"next":9223372036854775808.0}`), checks: builder.Checks(builder.MatchInteger("status.next", -1<<63)),
			want: unready("NotReady", "status.next is 9.223372036854776e+18, not -9223372036854775808"),
		},
		"MatchIntegerText": {
			reason: "A string is no integer.", o: o, checks: builder.Checks(builder.MatchInteger("status.number", 3)),
			want: unready("NotReady", `status.number is "3", not 3`),
		},

		"MatchTrue": {reason: "It is true.", o: o, checks: builder.Checks(builder.MatchTrue("status.ready")), want: itIsReady},
		"MatchTrueFalse": {
			reason: "It is not.", o: o, checks: builder.Checks(builder.MatchTrue("status.broken")),
			want: unready("NotReady", "status.broken is false, not true"),
		},
		"MatchTrueText": {
			reason: "A string is neither.", o: o, checks: builder.Checks(builder.MatchTrue("status.text")),
			want: unready("NotReady", `status.text is "true", not true`),
		},
		"MatchFalse": {reason: "It is false.", o: o, checks: builder.Checks(builder.MatchFalse("status.broken")), want: itIsReady},
		"MatchFalseTrue": {
			reason: "It is not.", o: o, checks: builder.Checks(builder.MatchFalse("status.ready")),
			want: unready("NotReady", "status.ready is true, not false"),
		},
		"MatchFalseAbsent": {
			reason: "A field that is not set is not false.",
			o:      o, checks: builder.Checks(builder.MatchFalse("status.degraded")), want: unready("NotReady", "status.degraded is not set"),
		},
		"MatchFalseList": {
			reason: "A list is neither.", o: o, checks: builder.Checks(builder.MatchFalse("status.list")),
			want: unready("NotReady", "status.list is a list, not false"),
		},
	}
}

// conditionRows cover MatchCondition.
func conditionRows() map[string]readinessRow {
	ready := builder.Checks(builder.MatchCondition("Ready", metav1.ConditionTrue))
	return map[string]readinessRow{
		"True":    {reason: "It has that status.", o: builder.FooWithConditions("Other=False", "Ready=True/Fine"), checks: ready, want: itIsReady},
		"Current": {reason: "It is of the current generation.", o: builder.FooWithConditions("Ready@3=True"), checks: ready, want: itIsReady},
		"Zero":    {reason: "An observedGeneration of 0 is ignored.", o: builder.FooWithConditions("Ready@0=True"), checks: ready, want: itIsReady},
		"False": {
			reason: "It has another status, with a reason and a message.", o: builder.FooWithConditions("Ready=False/DiskFull: No room on node a."), checks: ready,
			want: unready("DiskFull", "Ready is False (DiskFull): No room on node a"),
		},
		"Unknown": {
			reason: "Unknown is another status, too.", o: builder.FooWithConditions("Ready=Unknown/Starting"), checks: ready,
			want: unready("Starting", "Ready is Unknown (Starting)"),
		},
		"NoReason": {
			reason: "Where it gives no reason, there is ours.", o: builder.FooWithConditions("Ready=False: No room"), checks: ready,
			want: unready("NotReady", "Ready is False: No room"),
		},
		"OddReason": {
			reason: "A reason that our own status could not carry is only quoted.", o: builder.FooWithConditions("Ready=False/disk full!: No room"),
			checks: ready,
			want:   unready("NotReady", "Ready is False (disk full!): No room"),
		},
		"Bad": {
			reason: "What is bad may be True.", o: builder.FooWithConditions("Degraded=True/DiskFull"),
			checks: builder.Checks(builder.MatchCondition("Upgrading", "False")),
			want:   doomed("DiskFull", "Degraded is True"),
		},
		"WantFalse": {
			reason: "False can be looked for.", o: builder.FooWithConditions("Migrating=False"),
			checks: builder.Checks(builder.MatchCondition("Migrating", "False")),
			want:   itIsReady,
		},
		"WantFalseTrue": {
			reason: "And not be there.", o: builder.FooWithConditions("Migrating=True/Copying: 3 of 7"),
			checks: builder.Checks(builder.MatchCondition("Migrating", "False")),
			want:   unready("Copying", "Migrating is True (Copying): 3 of 7"),
		},
		"Absent": {
			reason: "The condition is not set yet.", o: builder.FooWithConditions("Other=True"), checks: ready,
			want: unready("NotReady", "Condition Ready is not set"),
		},
		"AbsentIsUnknown": {
			reason: "It counts as Unknown.", o: builder.FooWithConditions("Other=True"), checks: builder.Checks(builder.MatchCondition("Ready", "Unknown")),
			want: itIsReady,
		},
		"NoStatus": {
			reason: "There may be no status at all.", o: builder.Foo(""), checks: ready,
			want: unready("NotReady", "Condition Ready is not set"),
		},
		"Outdated": {
			reason: "A condition of an earlier generation does not count.", o: builder.FooWithConditions("Ready@2=True"),
			checks: ready,
			want:   unready("NotReady", "Condition Ready is of an earlier generation"),
		},
		"OthersOutdated": {
			reason: "The generation of other conditions does not matter.", o: builder.FooWithConditions("Other@2=True", "Ready@3=True"), checks: ready, want: itIsReady,
		},
		"StatusOutdated": {
			reason: "Nor does a status with an earlier observedGeneration.",
			o:      builder.WithField(builder.FooWithConditions("Ready=True"), int64(2), "status", "observedGeneration"), checks: ready, want: itIsOutdated,
		},
	}
}

// invalidRows cover invalid checks. The CRD rejects them.
func invalidRows() map[string]readinessRow {
	invalid := func(reason string, c v1alpha1.ReadinessCheck, message string) readinessRow {
		want := doomed("CheckInvalid", "readinessChecks[0]."+message)
		return readinessRow{reason: reason, o: builder.FooWithConditions("Ready=True"), checks: builder.Checks(c), want: want}
	}
	return map[string]readinessRow{
		"Path": invalid("A path that is none is shown with what is wrong.",
			builder.NonEmpty("status..phase"), `fieldPath is "status..phase": unexpected '.' at position 7`),
		"NoPath": invalid("There has to be one.", builder.MatchTrue(""), "fieldPath is missing"),
		"OpenIndex": invalid("A bracket has to be closed.",
			builder.NonEmpty("status.list[0"), `fieldPath is "status.list[0": unterminated '[' at position 11`),
		"Wildcard": invalid("A wildcard is many fields.",
			builder.NonEmpty("status.list[*].name"), `fieldPath is "status.list[*].name": with a wildcard it does not name one field`),
		"Star": invalid("With or without brackets.",
			builder.NonEmpty("status.*"), `fieldPath is "status.*": with a wildcard it does not name one field`),
		"NoString": invalid("The value is missing.", builder.MatchString("status.phase", ""), "matchString is missing"),
		"NoInteger": invalid("The value is missing.",
			v1alpha1.ReadinessCheck{Type: "MatchInteger", FieldPath: "a"}, "matchInteger is missing"),
		"NoCondition": invalid("The condition is missing.", v1alpha1.ReadinessCheck{Type: "MatchCondition"},
			"matchCondition is missing"),
		"NoConditionType": invalid("Its type is missing.", builder.MatchCondition("", "True"), "matchCondition is missing"),
		"NoConditionStatus": invalid("Its status is missing.", builder.MatchCondition("Ready", ""),
			`matchCondition.status is "", and must be True, False or Unknown`),
		"Type": invalid("There are seven types.", v1alpha1.ReadinessCheck{Type: "MatchCEL"}, `type is "MatchCEL", which is not a valid type`),
		"Later": {
			reason: "An invalid check is reported before one that does not pass, since waiting does not fix it.",
			o:      builder.Foo(""), checks: builder.Checks(builder.NonEmpty("status.phase"), builder.NonEmpty("status.")),
			want: doomed("CheckInvalid", `readinessChecks[1].fieldPath is "status.": unexpected '.' at position 6`),
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
			reason: "All of them pass.", o: builder.FooWithConditions("A=True", "B=False"),
			checks: builder.Checks(builder.None, builder.MatchCondition("A", "True"), builder.NonEmpty("status.conditions"), builder.MatchInteger("spec.size", 1)),
			want:   itIsReady,
		},
		"First": {
			reason: "The first check that does not pass is reported.", o: builder.FooWithConditions("A=False/First", "B=False/Second"),
			checks: builder.Checks(builder.None, builder.MatchCondition("A", "True"), builder.MatchCondition("B", "True")),
			want:   unready("First", "A is False (First)"),
		},
		"Second": {
			reason: "Checks that pass do not hide one that does not.", o: builder.FooWithConditions("A=True/First", "B=False/Second"),
			checks: builder.Checks(builder.None, builder.MatchCondition("A", "True"), builder.MatchCondition("B", "True")),
			want:   unready("Second", "B is False (Second)"),
		},
		"InsteadOfTheKind": {
			reason: "Checks replace the conventions of the kind.", o: builder.FooWithConditions("Ready=False/Paused", "Phase=True"),
			checks: builder.Checks(builder.MatchCondition("Phase", "True")), want: itIsReady,
		},
		"PassThoughFailing": {
			reason: "Even if the object reports a failure.", o: builder.FooWithConditions("Stalled=True/Broken", "Phase=True"),
			checks: builder.Checks(builder.MatchCondition("Phase", "True")), want: itIsReady,
		},
		"Stalled": {
			reason: "If a check does not pass and the object has failed, the failure is reported instead of the field that is not set.",
			o:      builder.FooWithConditions("Stalled=True/InvalidSpec: size must be odd."), checks: builder.Checks(builder.NonEmpty("status.phase")),
			want: doomed("InvalidSpec", "size must be odd"),
		},
		"DeadlineExceeded": {
			reason: "A Deployment gives up after its progress deadline.", o: deployment,
			checks: builder.Checks(builder.MatchInteger("status.readyReplicas", 1)),
			want:   doomed("ProgressDeadlineExceeded", `ReplicaSet "a" has timed out progressing`),
		},
		"NotFailing": {
			reason: "If a check does not pass, a Ready condition that is False is not reported.", o: builder.FooWithConditions("Ready=False/Starting: soon"),
			checks: builder.Checks(builder.NonEmpty("status.phase")), want: unready("NotReady", "status.phase is not set"),
		},
		"OutdatedField": {
			reason: "A field of a status of an earlier generation does not count.",
			o:      outdated(), checks: builder.Checks(builder.MatchString("status.phase", "Running")), want: itIsOutdated,
		},
		"OutdatedBracket": {
			reason: "However its path is written.",
			o:      outdated(), checks: builder.Checks(builder.MatchString("[status].phase", "Running")), want: itIsOutdated,
		},
		"OutdatedFailure": {
			reason: "Nor does what failed then.", o: outdated("Stalled=True/InvalidSpec"),
			checks: builder.Checks(builder.MatchString("status.phase", "Pending")), want: itIsOutdated,
		},
		"OutdatedElsewhere": {
			reason: "Where no check looks at the status, it does not matter.",
			o:      outdated(), checks: builder.Checks(builder.None, builder.MatchInteger("spec.size", 1), builder.NonEmpty("metadata.name")),
			want: itIsReady,
		},
		"Observed": {
			reason: "A status of this generation counts.",
			o:      builder.WithField(outdated(), int64(3), "status", "observedGeneration"),
			checks: builder.Checks(builder.MatchString("status.phase", "Running")),
			want:   itIsReady,
		},
		"ObservedText": {
			reason: "A generation that is no number is not compared.",
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
			reason: "So is one whose status has no conditions.", o: builder.Foo(`{"phase":"Pending"}`), want: itIsReady,
		},
		"Ready": {reason: "Ready is True.", o: builder.FooWithConditions("Ready=True/Fine: All is well"), want: itIsReady},
		"NotReady": {
			reason: "Ready is False: its reason and message are reported.", o: builder.FooWithConditions("Ready=False/DiskFull: No room on node a."),
			want: unready("DiskFull", "No room on node a"),
		},
		"Silent": {reason: "The reason and message may be missing.", o: builder.FooWithConditions("Ready=False"), want: unready("NotReady", "Ready is False")},
		"Unknown": {
			reason: "Unknown is not True.", o: builder.FooWithConditions("Ready=Unknown/Starting: Waiting for an address"),
			want: unready("Starting", "Waiting for an address"),
		},
		"Neither": {reason: "Nor is any other word.", o: builder.FooWithConditions("Ready=Perhaps"), want: unready("NotReady", "Ready is Perhaps")},
		"NoWord":  {reason: "Nor is none.", o: builder.FooWithConditions("Ready="), want: unready("NotReady", "Ready is not set")},
		"Available": {
			reason: "Available is the word of many operators, which kstatus does not know.", o: builder.FooWithConditions("Available=True"),
			want: itIsReady,
		},
		"NotAvailable": {
			reason: "And so is its opposite.", o: builder.FooWithConditions("Available=False/NoReplicas: 0 of 3 replicas"),
			want: unready("NoReplicas", "0 of 3 replicas"),
		},
		"ReadyNotAvailable": {
			reason: "One that is bad is enough.", o: builder.FooWithConditions("Ready=True", "Available=Unknown/Checking"),
			want: unready("Checking", "Available is Unknown"),
		},
		"Degraded": {
			reason: "Degraded is the word for having failed.",
			o:      builder.FooWithConditions("Available=True", "Degraded=True/QuorumLost: 1 of 3 members"),
			want:   doomed("QuorumLost", "1 of 3 members"),
		},
		"DegradedNotReady": {
			reason: "Degraded is more specific than Ready=False.",
			o:      builder.FooWithConditions("Ready=False/NotReady", "Degraded=True/QuorumLost: 1 of 3 members"),
			want:   doomed("QuorumLost", "1 of 3 members"),
		},
		"DegradedSilent": {
			reason: "It may have no words.", o: builder.FooWithConditions("Degraded=True"), want: doomed("Failing", "Degraded is True"),
		},
		"NotDegraded": {
			reason: "Not to be degraded is good.", o: builder.FooWithConditions("Degraded=False/AsExpected", "Available=True"), want: itIsReady,
		},
		"DegradedUnknown": {
			reason: "Degraded=Unknown is not a failure.", o: builder.FooWithConditions("Degraded=Unknown", "Available=True"),
			want: itIsReady,
		},
		"Reconciling": {
			reason: "kstatus has a word for being under way.", o: builder.FooWithConditions("Ready=True", "Reconciling=True/Scaling: 2 of 3"),
			want: unready("Scaling", "2 of 3"),
		},
		"Stalled": {
			reason: "And one for having given up.",
			o:      builder.FooWithConditions("Ready=False/NotReady", "Stalled=True/InvalidSpec: size must be odd."),
			want:   doomed("InvalidSpec", "size must be odd"),
		},
		"StalledOtherwise": {
			reason: "The conditions of other kinds do not speak for it.",
			o:      builder.FooWithConditions("PodScheduled=False/Other", "Failed=True/Other", "Stalled=True/InvalidSpec: size must be odd"),
			want:   doomed("InvalidSpec", "size must be odd"),
		},
		"StalledSilent": {reason: "It may have no words.", o: builder.FooWithConditions("Stalled=True"), want: doomed("Failing", "It has failed")},
		"StalledOddWord": {
			reason: "Or words that are no reason.", o: builder.FooWithConditions("Stalled=True/no way: no"), want: doomed("Failing", "no"),
		},
		"OutdatedStatus": {
			reason: "A status of an earlier generation is outdated.", o: at(int64(2), "Ready=True"), want: itIsOutdated,
		},
		"OutdatedFloat":   {reason: "Also as a float.", o: at(2.0, "Ready=True"), want: itIsOutdated},
		"OutdatedFailure": {reason: "A failure of an earlier generation may be over.", o: at(int64(2), "Stalled=True"), want: itIsOutdated},
		"Observed":        {reason: "A status of the current generation is not outdated.", o: at(int64(3), "Ready=True"), want: itIsReady},
		"ObservedFloat":   {reason: "Also as a float.", o: at(3.0, "Ready=True"), want: itIsReady},
		"ObservedText":    {reason: "That of an Argo Rollout is a string.", o: at("3", "Available=True"), want: itIsReady},
		"ObservedLater": {
			reason: "One from the future, as after a restore, is kstatus's to judge.",
			o:      at(int64(4), "Ready=True", "Progressing=False/Done"),
			want:   unready("NotReady", "Foo generation is 3, but latest observed generation is 4"),
		},
		"OutdatedCondition": {
			reason: "Most operators set observedGeneration in each condition.", o: builder.FooWithConditions("Ready@2=True"),
			want: unready("NotReady", "Condition Ready is of an earlier generation"),
		},
		"OutdatedNotReady": {
			reason: "Its reason would be about another spec.", o: builder.FooWithConditions("Ready@2=False/InvalidSpec"),
			want: unready("NotReady", "Condition Ready is of an earlier generation"),
		},
		"OutdatedDegraded": {
			reason: "So would this one.", o: builder.FooWithConditions("Degraded@2=True/InvalidSpec"),
			want: unready("NotReady", "Condition Degraded is of an earlier generation"),
		},
		"OutdatedNotDegraded": {
			reason: "An outdated condition that is not bad is ignored.", o: builder.FooWithConditions("Degraded@2=False", "Ready@3=True"), want: itIsReady,
		},
		"ObservedCondition": {reason: "It is about this one.", o: builder.FooWithConditions("Ready@3=True"), want: itIsReady},
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
			reason: "What has no status is ready.", o: builder.FromJSON(`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}`),
			want: itIsReady,
		},
		"Secret": {
			reason: "What has no status is ready.", o: builder.FromJSON(`{"apiVersion":"v1","kind":"Secret"}`), want: itIsReady,
		},
		"Namespace": {reason: "A Namespace is, too.", o: builder.WithStatus("v1", "Namespace", `{"phase":"Active"}`), want: itIsReady},

		"Deployment": {reason: "All its pods are available.", o: deployment(1, 1, "Available=True"), want: itIsReady},
		"DeploymentNew": {
			reason: "It has not been reconciled yet.", o: builder.WithStatus("apps/v1", "Deployment", ""),
			want: unready("NotReady", "Replicas: 0/1"),
		},
		"DeploymentUnavailable": {
			reason: "kstatus counts, and the condition has the reason.", o: deployment(1, 0, none),
			want: unready("MinimumReplicasUnavailable", "Available: 0/1: Deployment does not have minimum availability"),
		},
		"DeploymentQuota": {
			reason: "Why there are no pods is the first thing to know.",
			o:      deployment(0, 0, none, `ReplicaFailure=True/FailedCreate: pods "a" is forbidden: exceeded quota`),
			want:   unready("FailedCreate", `Replicas: 0/1: pods "a" is forbidden: exceeded quota`),
		},
		"DeploymentRollout": {
			reason: "If no condition reports a problem with the rollout, our own reason is used.",
			o:      builder.WithField(deployment(1, 1, "Available=True", "Progressing=True/Updated"), int64(0), "status", "updatedReplicas"),
			want:   unready("NotReady", "Updated: 0/1"),
		},
		"DeploymentDeadline": {
			reason: "It has failed: its own reason and message are reported.",
			o:      deployment(1, 0, none, `Progressing=False/ProgressDeadlineExceeded: ReplicaSet "a" has timed out progressing.`),
			want:   doomed("ProgressDeadlineExceeded", `ReplicaSet "a" has timed out progressing`),
		},
		"DeploymentReconciling": {
			reason: "The message of a condition that kstatus returns is not repeated.",
			o:      deployment(1, 1, "Available=True", "Reconciling=True/Moving: To another node"),
			want:   unready("Moving", "To another node"),
		},
		"DeploymentOutdated": {
			reason: "Its status is old.",
			o:      builder.WithField(deployment(1, 1, "Available=True"), int64(2), "status", "observedGeneration"),
			want:   itIsOutdated,
		},
		"DeploymentDegraded": {
			reason: "A condition that its kind does not define does not count.", o: deployment(1, 1, "Available=True", "Degraded=True"),
			want: itIsReady,
		},
		"StatefulSet": {
			reason: "A StatefulSet has no conditions.",
			o:      builder.WithStatus("apps/v1", "StatefulSet", `{"replicas":1,"readyReplicas":0}`),
			want:   unready("NotReady", "Ready: 0/1"),
		},
		"DaemonSet": {
			reason: "A DaemonSet is ready on every node.",
			o: builder.WithStatus("apps/v1", "DaemonSet", `{"observedGeneration":3,"desiredNumberScheduled":2,"currentNumberScheduled":2,
				"updatedNumberScheduled":2,"numberAvailable":2,"numberReady":2}`),
			want: itIsReady,
		},
		"JobFailed": {
			reason: "The condition of a Job states why it failed.",
			o:      builder.WithStatus("batch/v1", "Job", builder.Conditions("Failed=True/BackoffLimitExceeded: Job has reached its limit")),
			want:   doomed("BackoffLimitExceeded", "Job has reached its limit"),
		},
		"PodUnschedulable": {
			reason: "The condition of a Pod states why it cannot run.",
			o:      builder.WithField(pod("PodScheduled=False/Unschedulable: 0/3 nodes are available."), "Pending", "status", "phase"),
			want:   doomed("Unschedulable", "0/3 nodes are available"),
		},
		"PodOutdated": {
			reason: "A condition of an earlier generation, such as before a resize, is not reported as the cause.",
			o:      builder.WithField(pod("PodScheduled@2=True/Fine"), "Running", "status", "phase"),
			want:   unready("NotReady", "Pod is running but is not Ready"),
		},
		"PodOutdatedFailure": {
			reason: "Nor as the cause of a failure.",
			o: builder.WithField(builder.WithField(pod("PodScheduled@2=True/Fine"), "Running", "status", "phase"), []any{map[string]any{
				"name": "a", "state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}},
			}}, "status", "containerStatuses"),
			want: doomed("ContainerCrashLooping", "Containers in CrashLoop state: a"),
		},
		"PodCrashing": {
			reason: "One that crashes again and again has failed.",
			o: builder.WithStatus("v1", "Pod",
				`{"phase":"Running","containerStatuses":[{"name":"a","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`),
			want: doomed("ContainerCrashLooping", "Containers in CrashLoop state: a"),
		},
		"CRD": {
			reason: "A CRD is established.",
			o:      crd(builder.Conditions("Established=True")),
			want:   itIsReady,
		},
		"CRDNew": {
			reason: "Or not yet.", o: crd(""),
			want: unready("NotReady", "Install in progress"),
		},
		"CRDNames": {
			reason: "Or never.",
			o:      crd(builder.Conditions("NamesAccepted=False/ListKindConflict: \"FooList\" is in use")),
			want:   doomed("ListKindConflict", `"FooList" is in use`),
		},
		"APIService": {
			reason: "An APIService reports Available, as operators do.",
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
		"Installed": {reason: "It is installed, and nothing is left to do.", o: extension(installed, done), want: itIsReady},
		"NoLonger": {
			reason: "Newer versions set Progressing=False at the end.",
			o:      extension(installed, "Progressing@3=False/Succeeded: Desired state reached"), want: itIsReady,
		},
		"New": {
			reason: "It has not been reconciled yet.", o: extension(), want: unready("NotReady", "Condition Installed is not set"),
		},
		"RollingOut": {
			reason: "It is on its way.", o: extension(absent, "Progressing@3=True/RollingOut: Revision 1 is rolling out"),
			want: unready("RollingOut", "Revision 1 is rolling out"),
		},
		"Updating": {
			reason: "Also where the one before runs on.",
			o:      extension(installed, "Progressing@3=True/RollingOut: Revision 2 is rolling out"),
			want:   unready("RollingOut", "Revision 2 is rolling out"),
		},
		"Retrying": {
			reason: "An error is one, though it is tried again.",
			o:      extension(absent, "Progressing@3=True/Retrying: no package \"foo\" found."),
			want:   doomed("Retrying", `no package "foo" found`),
		},
		"RetryingInstalled": {
			reason: "Also where the one before runs on.",
			o:      extension(installed, "Progressing@3=True/Retrying: no package \"foo\" found"),
			want:   doomed("Retrying", `no package "foo" found`),
		},
		"Blocked": {
			reason: "This one is not tried again.", o: extension(absent, "Progressing@3=False/Blocked: no service account"),
			want: doomed("Blocked", "no service account"),
		},
		"InvalidConfiguration": {
			reason: "Nor is one for which newer versions have a reason of its own.",
			o:      extension(absent, "Progressing@3=False/InvalidConfiguration: unknown field"),
			want:   doomed("InvalidConfiguration", "unknown field"),
		},
		"Unknown": {
			reason: "Where it does not know, it has not failed.", o: extension(installed, "Progressing@3=Unknown/Reconciling"),
			want: unready("Reconciling", "Progressing is Unknown"),
		},
		"OnlyAbsent": {
			reason: "Without Progressing, Installed has the reason.", o: extension(absent),
			want: unready("Absent", "No bundle installed"),
		},
		"OnlyInstalled": {
			reason: "Installed without Progressing is not enough.", o: extension(installed),
			want: unready("NotReady", "Condition Progressing is not set"),
		},
		"DoneAndAbsent": {
			reason: "Progressing with nothing left to do is not enough.", o: extension(absent, done),
			want: unready("Absent", "No bundle installed"),
		},
		"OnlyDone": {
			reason: "Progressing without Installed is not enough either.", o: extension(done), want: unready("NotReady", "Condition Installed is not set"),
		},
		"Outdated": {
			reason: "It has no observedGeneration but those of its conditions.",
			o:      extension(installed, "Progressing@2=True/Succeeded"),
			want:   unready("NotReady", "Condition Progressing is of an earlier generation"),
		},
		"OutdatedBlocked": {
			reason: "What was blocked then may not be any more.", o: extension(absent, "Progressing@2=False/Blocked"),
			want: unready("NotReady", "Condition Progressing is of an earlier generation"),
		},
		"OutdatedInstalled": {
			reason: "Nor does what was installed then count.", o: extension("Installed@2=True/Succeeded", done),
			want: unready("NotReady", "Condition Installed is of an earlier generation"),
		},
		"OtherGroup": {
			reason: "A kind of that name in another API group is not OLM's.",
			o:      builder.WithStatus("example.com/v1", "ClusterExtension", builder.Conditions("Progressing=False/Blocked")),
			want:   itIsReady,
		},
		"WithChecks": {
			reason: "A failure that it reports counts with checks, too.",
			o:      extension(absent, "Progressing@3=True/Retrying: no package"),
			checks: builder.Checks(builder.MatchCondition("Installed", "True")),
			want:   doomed("Retrying", "no package"),
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
			reason: "A check can still evaluate it.", o: builder.Foo(`"Running"`), checks: builder.Checks(builder.MatchString("status", "Running")),
			want: itIsReady,
		},
		"ConditionsMap": {
			reason: "Conditions that are not a list cannot be evaluated either.", o: builder.Foo(`{"conditions":{"Ready":"True"}}`),
			want: unready("NotReady", unread+"status.conditions is an object, not a list"),
		},
		"ConditionsMapChecked": {
			reason: "A check can still evaluate it.", o: builder.Foo(`{"conditions":{"Ready":"True"}}`),
			checks: builder.Checks(builder.MatchString("status.conditions.Ready", "True")),
			want:   itIsReady,
		},
		"ConditionsNull": {reason: "Null is none.", o: builder.Foo(`{"conditions":null}`), want: itIsReady},
		"Entries": {
			reason: "Those that can be read count beside those that cannot.",
			o:      builder.Foo(`{"conditions":["Ready",null,[],{},{"type":3},{"type":"Ready","status":"False","reason":7,"message":{}}]}`),
			want:   unready("NotReady", "Ready is False"),
		},
		"StatusBoolean": {
			reason: "A status that cannot be read is not True.", o: builder.Foo(`{"conditions":[{"type":"Ready","status":true}]}`),
			want: unready("NotReady", "Ready is not set"),
		},
		"Twice": {reason: "Of two of one type the first counts.", o: builder.FooWithConditions("Ready=True", "Ready=False"), want: itIsReady},
		"PodContainers": {
			reason: "kstatus takes the form of a Pod for granted.",
			o:      builder.WithStatus("v1", "Pod", `{"phase":"Running","containerStatuses":["a"]}`),
			want:   unready("NotReady", unread+"kstatus: interface conversion: interface {} is string, not map[string]interface {}"),
		},
		"LongMessage": {
			reason: "A message is cut where a character ends.", o: builder.FooWithConditions("Ready=False/Long: " + long),
			want: unready("Long", strings.Repeat("ä", 510)+"…"),
		},
		"LongReason": {
			reason: "A reason is not.", o: builder.FooWithConditions("Ready=False/" + strings.Repeat("A", 1025) + ": no"),
			want: unready("NotReady", "no"),
		},
		"LongestReason": {
			reason: "One may be long.", o: builder.FooWithConditions("Ready=False/" + strings.Repeat("A", 1024) + ": no"),
			want: unready(strings.Repeat("A", 1024), "no"),
		},
		"Lines": {
			reason: "A message is one line.", o: builder.FooWithConditions("Ready=False/Lines: It went\n\n\twrong...\n"),
			want: unready("Lines", "It went wrong"),
		},
		"Dots": {reason: "A message of dots only is left out.", o: builder.FooWithConditions("Ready=False/Dots: ..."), want: unready("Dots", "Ready is False")},
		"ReasonLine": {
			reason: "A reason is one word.", o: builder.FooWithConditions("Ready=False/Two\n: lines"), want: unready("NotReady", "lines"),
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
					t.Fatalf("The object was changed\n-before +after\n%s", diff)
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
		t.Fatalf("No condition can carry the reason %q", got.Reason)
	case strings.TrimSpace(got.Message) == "", len(got.Message) > 1024, !utf8.ValidString(got.Message),
		strings.HasSuffix(got.Message, "."):
		t.Fatalf("The message is no sentence of ours: %q", got.Message)
	}
}
