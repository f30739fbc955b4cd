package clusteroperator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestWholeStatus compares complete statuses.
func TestWholeStatus(t *testing.T) {
	condition := func(conditionType, status string, since metav1.Time, reason, message string) configv1.ClusterOperatorStatusCondition {
		return configv1.ClusterOperatorStatusCondition{
			Type: configv1.ClusterStatusConditionType(conditionType), Status: configv1.ConditionStatus(status),
			LastTransitionTime: since, Reason: reason, Message: message,
		}
	}
	related := func(names ...string) []configv1.ObjectReference {
		var out []configv1.ObjectReference
		for _, name := range names {
			out = append(out, configv1.ObjectReference{Group: "platform.openshift.io", Resource: "platformoperators", Name: name})
		}
		return out
	}
	seconds := now.Rfc3339Copy()
	elsewhere := configv1.ObjectReference{Resource: "namespaces", Name: "operator-status-system"}
	for name, tc := range map[string]struct {
		reason string
		in     Inputs
		want   configv1.ClusterOperatorStatus
	}{
		"first installation, with trouble": {
			reason: "Available=False lists the PlatformOperators that are not installed, and Progressing also those that are being updated.",
			in: Inputs{
				Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now,
				Operators: []platformv1alpha1.PlatformOperator{
					healthy("new", unread), healthy("bar", broken(noPackage)), healthy("foo"),
					healthy("moving", withCondition("Progressing", "True/"+beingMoved)), healthy("gone", deleting),
				},
			},
			want: configv1.ClusterOperatorStatus{
				Conditions: []configv1.ClusterOperatorStatusCondition{
					condition("Available", "False", seconds, "PlatformOperatorsInstalling",
						"Waiting for 2 of 4 PlatformOperators to be installed: "+
							"bar (PackageNotFound): There is no package bar in catalog olm/operators; new has not been reconciled yet"),
					condition("Progressing", "True", seconds, "PlatformOperatorsInstalling",
						"Waiting for 3 of 4 PlatformOperators: bar (PackageNotFound): There is no package bar in catalog olm/operators; "+
							"moving (Updating): bar.v2 is being installed; new has not been reconciled yet"),
					condition("Degraded", "True", seconds, "PlatformOperatorsFailing",
						"Failing for 2m or longer: bar (PackageNotFound): There is no package bar in catalog olm/operators"),
				},
				RelatedObjects: related("bar", "foo", "moving", "new"),
			},
		},
		"later, beside what others say": {
			reason: "Conditions of other controllers are kept, and lastTransitionTime changes only with the status.",
			in: Inputs{
				Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now,
				Current: configv1.ClusterOperatorStatus{
					Conditions: append(slices.Clone(later.Conditions),
						condition("EvaluationConditionsDetected", "True", past, "a::b", "anything"),
						condition("Upgradeable", "False", past, "AdminSaysNo", "Ask Kim first")),
					Versions:       []configv1.OperandVersion{{Name: "operand", Version: "3"}, {Name: "operator", Version: "1.0.0"}},
					RelatedObjects: append(append(related("gone", "foo"), elsewhere, elsewhere), related("bar", "bar")...),
					Extension:      runtime.RawExtension{Raw: []byte(`{"a":1}`)},
				},
				Operators: []platformv1alpha1.PlatformOperator{
					healthy("foo", failing(10*time.Minute, "")), healthy("bar", withCondition("Installed", "False/"), holds),
				},
			},
			want: configv1.ClusterOperatorStatus{
				Conditions: []configv1.ClusterOperatorStatusCondition{
					condition("Available", "True", past, "PlatformOperatorsInstalled",
						"Every PlatformOperator has been installed once; see Progressing for those that no longer are"),
					condition("Progressing", "True", seconds, "PlatformOperatorsUpdating",
						"Waiting for 1 of 2 PlatformOperators: bar is not installed"),
					condition("Degraded", "True", seconds, "PlatformOperatorsFailing",
						"Failing for 2m or longer: foo is failing and reports no message"),
					condition("EvaluationConditionsDetected", "True", past, "a::b", "anything"),
					condition("Upgradeable", "False", past, "AdminSaysNo", "Ask Kim first"),
				},
				Versions:       []configv1.OperandVersion{{Name: "operand", Version: "3"}, {Name: "operator", Version: "1.0.0"}},
				RelatedObjects: append([]configv1.ObjectReference{elsewhere}, related("bar", "foo")...),
				Extension:      runtime.RawExtension{Raw: []byte(`{"a":1}`)},
			},
		},
		"later, all well": {
			reason: "The three conditions are set even if no PlatformOperator has a problem.",
			in:     Inputs{Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now, Current: later, Operators: []platformv1alpha1.PlatformOperator{healthy("foo")}},
			want: configv1.ClusterOperatorStatus{
				Conditions: []configv1.ClusterOperatorStatusCondition{
					condition("Available", "True", past, "PlatformOperatorsInstalled", "Every PlatformOperator is installed"),
					condition("Progressing", "False", past, "PlatformOperatorsInstalled", "Every PlatformOperator is installed, and none is being updated"),
					condition("Degraded", "False", past, "AsExpected", "No PlatformOperator has been failing for 2m"),
				},
				Versions:       later.Versions,
				RelatedObjects: related("foo"),
			},
		},
		"none": {
			reason: "relatedObjects contain the kind, so a tool that collects them finds PlatformOperators created later.",
			in:     Inputs{Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now},
			want: configv1.ClusterOperatorStatus{
				Conditions: []configv1.ClusterOperatorStatusCondition{
					condition("Available", "True", seconds, "NoPlatformOperators", "No PlatformOperator exists"),
					condition("Progressing", "False", seconds, "NoPlatformOperators", "No PlatformOperator exists"),
					condition("Degraded", "False", seconds, "NoPlatformOperators", "No PlatformOperator exists"),
				},
				Versions:       later.Versions,
				RelatedObjects: related(""),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, checked(t, tc.in)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMany verifies that the size of the status is limited, regardless of the number of PlatformOperators.
func TestMany(t *testing.T) {
	var operators []platformv1alpha1.PlatformOperator
	for i := range 5000 {
		operators = append(operators, healthy(fmt.Sprintf("po-%04d", i), broken("PackageNotFound: "+strings.Repeat("é\n", 1000)), holds))
	}
	shuffled := slices.Clone(operators)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	got := checked(t, Inputs{Operators: shuffled, Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now})
	for _, conditionType := range []configv1.ClusterStatusConditionType{"Available", "Progressing", "Degraded"} {
		texts := message(got, conditionType)
		if !strings.HasSuffix(texts, " é…; and 4980 more: kubectl get platformoperators.platform.openshift.io") {
			t.Errorf("%s ends: %s", conditionType, texts[len(texts)-100:])
		}
		if !strings.Contains(texts, ": po-0000 (") || !strings.Contains(texts, "; po-0019 (") || strings.Contains(texts, "po-0020") {
			t.Errorf("%s does not name the first twenty", conditionType)
		}
		if n := len([]rune(texts)); n > 7000 {
			t.Errorf("the message of %s has %d characters", conditionType, n)
		}
	}
	if n := len(got.RelatedObjects); n != 1 || got.RelatedObjects[0].Name != "" {
		t.Errorf("%d related objects, %v first", n, got.RelatedObjects[0])
	}
	got = checked(t, Inputs{Operators: operators[:maxRelatedObjects], Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now})
	if n := len(got.RelatedObjects); n != maxRelatedObjects || got.RelatedObjects[99].Name != "po-0099" {
		t.Errorf("%d related objects, %v last", n, got.RelatedObjects[n-1])
	}
}

// TestNamesOfOthers verifies that the ClusterOperator does not name the custom resources that an update waits for,
// since they may be in namespaces that its readers may not access.
func TestNamesOfOthers(t *testing.T) {
	waits := ": Waiting for Deal tenant/merger: Migrating is True"
	op := healthy("foo", holds, withCondition("Upgradeable", "False/NotUpgradeable"+waits))
	refused := sentence("bar", "CRDUpdateUnsafe", "Deal tenant/merger is invalid: spec.price: Invalid value: 42", "")
	if strings.Contains(refused, "merger") || !strings.Contains(refused, "bar (CRDUpdateUnsafe)") {
		t.Errorf("the message of a refused update names a tenant's object: %s", refused)
	}
	got := checked(t, Inputs{Current: later, Operators: []platformv1alpha1.PlatformOperator{op}, Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now})
	for _, c := range got.Conditions {
		if strings.Contains(c.Message, "merger") {
			t.Errorf("the message of %s names a tenant's object: %s", c.Type, c.Message)
		}
	}
	if texts := message(got, configv1.OperatorUpgradeable); !strings.Contains(texts, "foo (NotUpgradeable), as its condition Upgradeable explains") {
		t.Errorf("the message does not name the PlatformOperator that is not upgradeable: %s", texts)
	}
}
