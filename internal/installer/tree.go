package installer

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

// maxNamed is how many custom resources of a Probe are nodes of their own.
const maxNamed = 10

// ProbeNode returns a Probe with custom resources that block. The others are counted.
func ProbeNode(probe *v1alpha1.Probe) operator.Node {
	out := operator.Node{Name: ByProbe(probe)}
	out.State, out.Message = StateOf(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	shown := 0
	for _, r := range probe.Status.ProbeResources {
		if !r.Blocking || len(out.Children) == maxNamed {
			continue
		}
		node, number := operator.Node{Name: r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"), Resource: r.Resource}, 1
		if r.Name == "" {
			number = int(r.Count)
			node = operator.Node{Name: Count(number, r.Kind)}
		}
		shown += number
		node.State, node.Message = "Blocking", strings.Join(r.Reasons, ", ")
		out.Children = append(out.Children, node)
	}
	if summary := probe.Status.Summary; summary != nil {
		if more := int(summary.NotUpgradeable) - shown; more > 0 {
			out.Children = append(out.Children, operator.Node{Name: Count(more, "more custom resource"), State: "Blocking"})
		}
		if others := int(summary.Total - summary.NotUpgradeable); others > 0 {
			out.Children = append(out.Children, operator.Node{Name: Count(others, "custom resource"), State: "Not blocking"})
		}
	}
	return out
}

// StateOf returns a condition as a state, and its message unless it is True.
func StateOf(conditions []metav1.Condition, conditionType string) (state, message string) {
	c := meta.FindStatusCondition(conditions, conditionType)
	if c == nil {
		return conditionType + "=Unknown", ""
	}
	state = conditionType + "=" + string(c.Status)
	if c.Status == metav1.ConditionTrue {
		return state, ""
	}
	return state, c.Message
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
