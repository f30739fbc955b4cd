package olmv0

import (
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Trees returns a function for the objects that an operator consists of: its PlatformOperator, Subscription, InstallPlan,
// ClusterServiceVersions, Deployments and Probe, and the pods and custom resources that block it. Healthy objects are only
// counted if they may be many. workloads has the Deployments, and the objects of installer.PodKinds.
func Trees(c Cluster, workloads installer.Cluster) func(operator.Operator) operator.Node {
	out := outline{Cluster: c, spaces: byNamespace(c), workloads: workloads, deployments: map[types.NamespacedName][]*appsv1.Deployment{}}
	for _, o := range workloads.Objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			owner := types.NamespacedName{Namespace: d.Namespace, Name: d.Labels["olm.owner"]}
			out.deployments[owner] = append(out.deployments[owner], d)
		}
	}
	return out.tree
}

// outline holds the objects that operators consist of.
type outline struct {
	Cluster
	spaces      map[string]*namespace
	workloads   installer.Cluster
	deployments map[types.NamespacedName][]*appsv1.Deployment // by their ClusterServiceVersions
}

func (o outline) tree(op operator.Operator) operator.Node {
	out := operator.Node{Name: "Operator " + op.Namespace + "/" + op.Name, State: string(op.State)}
	if n := o.spaces[op.Namespace]; n != nil {
		out = o.treeIn(n, op, out)
	}
	for i := range o.PlatformOperators {
		if p := &o.PlatformOperators[i]; p.Name == op.PlatformOperator {
			return platformOperatorNode(p, out)
		}
	}
	return out
}

// treeIn returns the tree of an operator with the objects of its namespace. root is for one of which there are none.
func (o outline) treeIn(n *namespace, op operator.Operator, root operator.Node) operator.Node {
	for _, name := range []string{op.Installed, op.Update} {
		if csv := n.CSVs[name]; csv != nil {
			root.Children = append(root.Children, o.csvNode(n, csv))
		}
	}
	if sub := n.subscription(op.Name); sub != nil {
		return subscriptionNode(sub, op, n.planOf(sub), root.Children)
	}
	if len(root.Children) == 1 {
		return root.Children[0]
	}
	return root
}

func (n *namespace) subscription(name string) *v1alpha1.Subscription {
	for i := range n.Subscriptions {
		if n.Subscriptions[i].Name == name {
			return &n.Subscriptions[i]
		}
	}
	return nil
}

func platformOperatorNode(p *platformv1alpha1.PlatformOperator, subscription operator.Node) operator.Node {
	out := operator.Node{Name: "PlatformOperator " + p.Name}
	out.State, out.Message = installer.StateOf(p.Status.Conditions, platformv1alpha1.ConditionReady)
	ready := 0
	for _, r := range p.Status.Resources {
		name := strings.TrimPrefix(r.Reference.Namespace+"/"+r.Reference.Name, "/")
		switch {
		case r.Reference.Kind == v1alpha1.SubscriptionKind: // is a node of its own
		case r.Ready:
			ready++
		default:
			out.Children = append(out.Children, operator.Node{Name: r.Reference.Kind + " " + name, State: r.Reason, Message: r.Message})
		}
	}
	if ready > 0 {
		out.Children = append(out.Children, operator.Node{Name: installer.Count(ready, "composed object"), State: "Ready"})
	}
	out.Children = append(out.Children, subscription)
	return out
}

func subscriptionNode(sub *v1alpha1.Subscription, op operator.Operator, plan *olm.InstallPlan, csvs []operator.Node) operator.Node {
	out := operator.Node{Name: "Subscription " + sub.Namespace + "/" + sub.Name, State: "UpToDate=" + string(op.UpToDate)}
	if len(op.Blockers) > 0 {
		out.State, out.Message = string(op.Blocked()), op.Blockers[0].Cause
	}
	if plan != nil {
		out.Children = append(out.Children, operator.Node{
			Name: "InstallPlan " + plan.Namespace + "/" + plan.Name, State: string(plan.Status.Phase), Message: planMessage(plan),
		})
	}
	out.Children = append(out.Children, csvs...)
	return out
}

// planMessage returns the content and the message of a plan that is not Complete, or "".
func planMessage(plan *olm.InstallPlan) string {
	if plan.Status.Phase == olm.InstallPlanPhaseComplete {
		return ""
	}
	out := "installs " + strings.Join(plan.Spec.ClusterServiceVersionNames, ", ")
	if plan.Status.Message != "" {
		out += ": " + plan.Status.Message
	}
	return out
}

func (o outline) csvNode(n *namespace, csv *v1alpha1.ClusterServiceVersion) operator.Node {
	out := operator.Node{Name: "ClusterServiceVersion " + csv.Namespace + "/" + csv.Name, State: string(csv.Status.Phase)}
	if csv.Status.Phase != olm.CSVPhaseSucceeded {
		out.Message = csv.Status.Message
	}
	out.Children = deploymentNodes(o.deployments[nameOf(csv)], o.workloads)
	if condition := n.OperatorConditions[csv.Name]; condition != nil {
		out.Children = append(out.Children, conditionNodes(condition)...)
	}
	if probe := n.Probes[csv.Name]; probe != nil {
		out.Children = append(out.Children, installer.ProbeNode(probe))
	}
	return out
}

// deploymentNodes returns Deployments. Those that run as declared are counted.
func deploymentNodes(of []*appsv1.Deployment, c installer.Cluster) []operator.Node {
	var out []operator.Node
	available := 0
	for _, d := range of {
		if node := installer.WorkloadNode(d, c); node != nil {
			out = append(out, *node)
		} else {
			available++
		}
	}
	if available > 0 {
		out = append(out, operator.Node{Name: installer.Count(available, "Deployment"), State: "Available"})
	}
	return out
}

// conditionNodes returns an OperatorCondition that has an effect on updates.
func conditionNodes(o *operatorsv2.OperatorCondition) []operator.Node {
	c := meta.FindStatusCondition(o.Spec.Overrides, operatorsv2.Upgradeable)
	if c == nil {
		if c = meta.FindStatusCondition(o.Spec.Conditions, operatorsv2.Upgradeable); c == nil || c.Status == metav1.ConditionTrue {
			return nil
		}
	}
	return []operator.Node{{Name: "OperatorCondition " + o.Namespace + "/" + o.Name, State: "Upgradeable=" + string(c.Status), Message: c.Message}}
}
