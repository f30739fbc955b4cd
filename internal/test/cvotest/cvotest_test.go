package cvotest

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

var start = metav1.Unix(1000, 0)

// change changes a status.
type change func(*configv1.ClusterOperatorStatus)

// healthy returns a ClusterOperator that breaks no rule, with changes.
func healthy(changes ...change) *configv1.ClusterOperator {
	out := &configv1.ClusterOperator{}
	for _, c := range []configv1.ClusterOperatorStatusCondition{
		{Type: "Available", Status: "True", Reason: "AsExpected", Message: "All is well"},
		{Type: "Progressing", Status: "False", Reason: "AsExpected", Message: "All is done"},
		{Type: "Degraded", Status: "False", Reason: "AsExpected", Message: "Nothing fails"},
		{Type: "EvaluationConditionsDetected", Status: "False", Reason: "a::b", Message: "no sentence"},
	} {
		c.LastTransitionTime = start
		out.Status.Conditions = append(out.Status.Conditions, c)
	}
	out.Status.Versions = []configv1.OperandVersion{{Name: "operator", Version: "1.0.0"}, {Name: "operand", Version: "3"}}
	for _, change := range changes {
		change(&out.Status)
	}
	return out
}

// condition changes a condition of a status.
func condition(t configv1.ClusterStatusConditionType, change func(*configv1.ClusterOperatorStatusCondition)) change {
	return func(status *configv1.ClusterOperatorStatus) { change(find(*status, t)) }
}

// becomes sets the status of a condition, with a lastTransitionTime that many seconds after start.
func becomes(t configv1.ClusterStatusConditionType, status configv1.ConditionStatus, later time.Duration) change {
	return condition(t, func(c *configv1.ClusterOperatorStatusCondition) {
		c.Status, c.LastTransitionTime = status, metav1.NewTime(start.Add(later*time.Second))
	})
}

func without(t configv1.ClusterStatusConditionType) change {
	return func(status *configv1.ClusterOperatorStatus) {
		for i := range status.Conditions {
			if status.Conditions[i].Type == t {
				status.Conditions = append(status.Conditions[:i], status.Conditions[i+1:]...)
				return
			}
		}
	}
}

func unversioned(status *configv1.ClusterOperatorStatus) { status.Versions = status.Versions[1:] }

func TestObserve(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		seen   []*configv1.ClusterOperator
		want   string // error of the last one, or empty
	}{
		"healthy": {
			reason: "A status that does not change is valid.",
			seen:   []*configv1.ClusterOperator{healthy(), healthy()},
		},
		"not written yet": {
			reason: "An empty status is valid before the first write.",
			seen:   []*configv1.ClusterOperator{{}, healthy()},
		},
		"emptied": {
			reason: "A reported condition may not be removed.",
			seen:   []*configv1.ClusterOperator{healthy(), {}},
			want:   "Available is missing",
		},
		"became degraded": {
			reason: "A status may change together with its time.",
			seen:   []*configv1.ClusterOperator{healthy(), healthy(becomes("Degraded", "True", 1))},
		},
		"installed": {
			reason: "The version is reported together with Available=True.",
			seen:   []*configv1.ClusterOperator{healthy(becomes("Available", "False", -1), unversioned), healthy()},
		},
		"no Available": {
			reason: "A missing Available is an error.",
			seen:   []*configv1.ClusterOperator{healthy(without("Available"), unversioned)},
			want:   "Available is missing",
		},
		"no Progressing": {
			reason: "A missing Progressing is an error.",
			seen:   []*configv1.ClusterOperator{healthy(without("Progressing"))},
			want:   "Progressing is missing",
		},
		"no Degraded": {
			reason: "A missing Degraded is an error.",
			seen:   []*configv1.ClusterOperator{healthy(without("Degraded"))},
			want:   "Degraded is missing",
		},
		"condition of another controller": {
			reason: "The removal of a condition of another controller is an error.",
			seen:   []*configv1.ClusterOperator{healthy(), healthy(without("EvaluationConditionsDetected"))},
			want:   "condition EvaluationConditionsDetected is gone",
		},
		"no such status": {
			reason: "A status other than True, False and Unknown is an error.",
			seen:   []*configv1.ClusterOperator{healthy(becomes("Degraded", "Maybe", 0))},
			want:   `Degraded has the status "Maybe"`,
		},
		"no reason": {
			reason: "An empty reason is an error.",
			seen:   []*configv1.ClusterOperator{healthy(reason("Degraded", ""))},
			want:   `Degraded has the reason "", which is not CamelCase`,
		},
		"reason in words": {
			reason: "A reason that is not CamelCase is an error.",
			seen:   []*configv1.ClusterOperator{healthy(reason("Progressing", "as expected"))},
			want:   `Progressing has the reason "as expected"`,
		},
		"no message": {
			reason: "An empty message is an error.",
			seen:   []*configv1.ClusterOperator{healthy(message("Available", ""))},
			want:   `Available has the message ""`,
		},
		"small letter": {
			reason: "A message without a capital letter is an error.",
			seen:   []*configv1.ClusterOperator{healthy(message("Degraded", "all is well"))},
			want:   "capital letter",
		},
		"no time": {
			reason: "A missing lastTransitionTime is an error.",
			seen:   []*configv1.ClusterOperator{healthy(condition("Available", timeless))},
			want:   "Available has no lastTransitionTime",
		},
		"Upgradeable": {
			reason: "Upgradeable is optional and follows the same rules.",
			seen:   []*configv1.ClusterOperator{healthy(renamed("EvaluationConditionsDetected", "Upgradeable"))},
			want:   `Upgradeable has the reason "a::b"`,
		},
		"twice": {
			reason: "A duplicate condition type is an error.",
			seen:   []*configv1.ClusterOperator{healthy(renamed("Degraded", "Available"))},
			want:   "Available is there twice",
		},
		"version too early": {
			reason: "A version before Available=True is an error.",
			seen:   []*configv1.ClusterOperator{healthy(becomes("Available", "False", 0))},
			want:   "version is there although it is not Available",
		},
		"version gone": {
			reason: "The removal of a version is an error.",
			seen:   []*configv1.ClusterOperator{healthy(), healthy(unversioned)},
			want:   `version "operator" is gone`,
		},
		"version empty": {
			reason: "An empty version is an error.",
			seen:   []*configv1.ClusterOperator{healthy(operand("operand", ""))},
			want:   `version "operand" is empty`,
		},
		"version twice": {
			reason: "A duplicate version is an error.",
			seen:   []*configv1.ClusterOperator{healthy(operand("operator", "3"))},
			want:   `version "operator" is there twice`,
		},
		"time moved": {
			reason: "A new lastTransitionTime of an unchanged status is an error.",
			seen:   []*configv1.ClusterOperator{healthy(), healthy(becomes("Degraded", "False", 1))},
			want:   "lastTransitionTime of Degraded has moved although it is still False",
		},
		"time stood": {
			reason: "An old lastTransitionTime of a changed status is an error.",
			seen:   []*configv1.ClusterOperator{healthy(), healthy(becomes("Degraded", "True", 0))},
			want:   "lastTransitionTime of Degraded has not moved although it was False and is True",
		},
		"time went back": {
			reason: "A lastTransitionTime before the previous one is an error.",
			seen:   []*configv1.ClusterOperator{healthy(), healthy(becomes("Degraded", "True", -1))},
			want:   "lastTransitionTime of Degraded has not moved",
		},
		"available no more": {
			reason: "A change from Available=True to False is an error.",
			seen:   []*configv1.ClusterOperator{healthy(unversioned), healthy(becomes("Available", "False", 1), unversioned)},
			want:   "it was Available, and is so no more: All is well",
		},
		"available not known": {
			reason: "A change from Available=True to Unknown is an error.",
			seen:   []*configv1.ClusterOperator{healthy(unversioned), healthy(becomes("Available", "Unknown", 1), unversioned)},
			want:   "it was Available, and is so no more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			checker := New()
			for i, co := range tc.seen {
				err := checker.Observe(co)
				last := i == len(tc.seen)-1
				if err != nil && (!last || tc.want == "") {
					t.Errorf("%s\nstatus %d: %v", tc.reason, i, err)
				}
				if last && tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s\nwant %q, got: %v", tc.reason, tc.want, err)
				}
			}
		})
	}
}

func timeless(c *configv1.ClusterOperatorStatusCondition) { c.LastTransitionTime = metav1.Time{} }

func renamed(from, to configv1.ClusterStatusConditionType) change {
	return condition(from, func(c *configv1.ClusterOperatorStatusCondition) { c.Type = to })
}

// operand replaces the second version.
func operand(name, version string) change {
	return func(status *configv1.ClusterOperatorStatus) {
		status.Versions[1] = configv1.OperandVersion{Name: name, Version: version}
	}
}

func reason(t configv1.ClusterStatusConditionType, reason string) change {
	return condition(t, func(c *configv1.ClusterOperatorStatusCondition) { c.Reason = reason })
}

func message(t configv1.ClusterStatusConditionType, message string) change {
	return condition(t, func(c *configv1.ClusterOperatorStatusCondition) { c.Message = message })
}

func TestResolve(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "there"}}).Build()
	for name, tc := range map[string]struct {
		reason string
		object []configv1.ObjectReference
		want   string
	}{
		"there": {
			reason: "A related object that exists is found.",
			object: []configv1.ObjectReference{{Resource: "namespaces", Name: "there"}},
		},
		"all": {
			reason: "A related object without a name matches all objects of its kind.",
			object: []configv1.ObjectReference{{Resource: "namespaces"}},
		},
		"gone": {
			reason: "A related object that does not exist is an error.",
			object: []configv1.ObjectReference{{Resource: "namespaces", Name: "gone"}},
			want:   `related object "gone" of namespaces.`,
		},
		"no such kind": {
			reason: "A related object of an unknown resource is an error.",
			object: []configv1.ObjectReference{{Group: "example.com", Resource: "foos"}},
			want:   "foos.example.com",
		},
		"none": {
			reason: "An empty list of related objects is an error.",
			want:   "there are no relatedObjects",
		},
	} {
		t.Run(name, func(t *testing.T) {
			co := healthy(func(s *configv1.ClusterOperatorStatus) { s.RelatedObjects = tc.object })
			err := Resolve(t.Context(), c, mapper, co)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\nwant %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}
