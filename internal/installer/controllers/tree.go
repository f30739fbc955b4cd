package controllers

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/operator"
)

var _ installer.Outliner = Installer{}

// TreeKinds implements installer.Outliner.
func (Installer) TreeKinds() []installer.Kind { return nil }

// Trees implements installer.Outliner: the workloads of an operator, the CustomResourceDefinitions that they serve, its Probes and its
// UpgradeHolds.
func (Installer) Trees(c installer.Cluster) func(operator.Operator) (operator.Node, bool) {
	all := In(c)
	return func(op operator.Operator) (operator.Node, bool) { return tree(c, all, op) }
}

func tree(c installer.Cluster, all []Controller, op operator.Operator) (operator.Node, bool) {
	out := operator.Node{Name: rootOf(op.Reference), State: string(op.State)}
	if len(op.Blockers) > 0 {
		out.State, out.Message = string(op.Blocked()), op.Blockers[0].Cause
	}
	found := slices.ContainsFunc(installer.Values[olmv1.ClusterExtension](c), func(e olmv1.ClusterExtension) bool { return e.Reference() == op.Reference })
	for _, w := range all {
		if Owner(w.Workload) == op.Reference {
			found = true
			out.Children = append(out.Children, workloadNode(w, c))
		}
	}
	for _, probe := range installer.Values[v1alpha1.Probe](c) {
		if named, ok := holdv1alpha1.ProbedOperator(&probe); ok && named == op.Reference {
			out.Children = append(out.Children, installer.ProbeNode(&probe))
		}
	}
	for _, h := range installer.Values[holdv1alpha1.UpgradeHold](c) {
		if h.Spec.Operator == op.Reference {
			out.Children = append(out.Children, holdNode(&h))
		}
	}
	return out, found
}

// rootOf returns the name of the object that stands for an operator.
func rootOf(of holdv1alpha1.OperatorReference) string {
	switch of.Installer {
	case holdv1alpha1.InstallerOLMv1:
		return "ClusterExtension " + of.Name
	case holdv1alpha1.InstallerHelm:
		return fmt.Sprintf("Helm release %s/%s", of.Namespace, of.Name)
	default:
		return fmt.Sprintf("Operator %s/%s", of.Namespace, of.Name)
	}
}

func workloadNode(w Controller, c installer.Cluster) operator.Node {
	out := operator.Node{Name: w.String(), State: "Available"}
	if node := installer.WorkloadNode(w.Object, c); node != nil {
		out = *node
	}
	out.Children = append(out.Children, operator.Node{Name: installer.Count(len(w.Definitions), "CustomResourceDefinition"), State: "Served"})
	return out
}

func holdNode(h *holdv1alpha1.UpgradeHold) operator.Node {
	out := operator.Node{Name: "UpgradeHold " + h.Name, State: holdv1alpha1.ConditionHeld + "=Unknown"}
	if c := meta.FindStatusCondition(h.Status.Conditions, holdv1alpha1.ConditionHeld); c != nil {
		out.State, out.Message = c.Type+"="+string(c.Status), c.Message
	}
	return out
}
