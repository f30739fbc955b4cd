// Package operator describes an operator across its versions, however it was installed: whether it runs and is up to date,
// and its blockers. It is pure, and names no program that installs operators.
package operator

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// State is whether an operator runs.
type State string

// States of an operator.
const (
	Running      State = "Running"      // a version of it runs, also during an update
	Installing   State = "Installing"   // its first version is being installed
	Failed       State = "Failed"       // its version has failed
	Stopped      State = "Stopped"      // its workloads are scaled to no pods
	NotInstalled State = "NotInstalled" // nothing is being installed
	Unknown      State = "Unknown"      // its versions may not be read
)

// States are those of operators all of whose objects may be read.
var States = []State{Running, Installing, Failed, NotInstalled}

// Operator is an operator of a cluster, as read at one moment.
type Operator struct {
	// Installer is the name of the program that installs it.
	Installer string

	// Namespace and Name of the object that asks for its updates, or of its version if there is no such object.
	Namespace, Name string

	// Reference identifies it in UpgradeHolds. It is the zero value if its updates cannot be held.
	Reference holdv1alpha1.OperatorReference

	// PlatformOperator that composes the operator, or empty.
	PlatformOperator string

	Package, Channel string
	Catalog          string // <namespace>/<name>

	State     State
	Installed string // the name of the version that runs, or is being installed first; may be empty
	Version   string // its version
	UpToDate  metav1.ConditionStatus

	// Limited is why it counts as up to date although there is a newer version, or empty.
	Limited string

	// Update is the name of the version to be installed next, or empty.
	Update string

	// Upgradeable reports whether the operator and its Probe allow an update, even if none is available. It is Unknown if
	// nothing has run.
	Upgradeable metav1.ConditionStatus

	// Approval is the plan that waits for a user to approve it, or nil.
	Approval *Approval

	// Blockers keep the operator from running or being up to date. The worst are first.
	Blockers []Blocker

	// WouldHold are the holds of an update that is not known yet. They are no Blockers.
	WouldHold []Blocker

	// Notices are important conditions of its custom resources. They block nothing.
	Notices []Blocker

	// Unfinished is the installation or update in progress, or nil.
	Unfinished *Unfinished

	// Unread are the kinds that may not be read and could reveal more blockers.
	Unread []string
}

// Unfinished is an installation or update that has not ended, or not begun.
type Unfinished struct {
	// Ref is the object that reports it, such as a ClusterServiceVersion.
	Ref

	Reason, Message string

	// Since is when it began.
	Since metav1.Time

	// Broken is true if it has failed, or does not end before a user does something.
	Broken bool

	// Invalid is true if it has failed before anything was applied, as for a manifest that cannot be read: no workload is the cause.
	Invalid bool

	// External is true if it waits for something that is not part of it, such as a later version of Kubernetes.
	External bool

	// Steps are the actions that a user can take if it takes long.
	Steps []Step
}

// Ref identifies an object in messages and commands.
type Ref struct{ Kind, Namespace, Name string }

// String returns for example "Probe default/foo.v1".
func (r Ref) String() string { return r.Kind + " " + r.Path() }

// Path returns the namespace and name, or only the name of a cluster-scoped object.
func (r Ref) Path() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// Version is a version of an operator on a cluster.
type Version struct {
	// Ref is the object that stands for it, such as a ClusterServiceVersion.
	Ref

	// Phase is its phase if the version may not be running, in which case its conditions may be out of date. It is empty while
	// the version runs.
	Phase string
}

// Request is the object that asks for an operator's updates, such as a Subscription.
type Request struct {
	Ref

	// Resource is its kind for kubectl.
	Resource string

	// Annotations are its own. An administrator may allow an update there that is held.
	Annotations map[string]string
}

// Approval is a plan that waits for approval.
type Approval struct {
	Plan     string   // its name, in the namespace of the operator
	Installs []string // the versions that it installs, of all operators
}

// Impact is the effect of a blocker on an operator.
type Impact string

// Impacts, the worst first.
const (
	Broken  Impact = "Broken"  // a user has to repair something
	Held    Impact = "Held"    // an update waits, and continues by itself or with an approval
	Waiting Impact = "Waiting" // it takes long to run as declared, and nothing is known to be wrong
	Notice  Impact = "Notice"  // a cluster admin should know it, and it blocks nothing
)

// Rank orders impacts, the worst first.
func (i Impact) Rank() int { return slices.Index([]Impact{Broken, Held, Waiting, Notice}, i) }

// Blocker is one thing that keeps an operator from running or from being up to date.
type Blocker struct {
	Impact Impact

	// By is the object that blocks, such as "Probe default/foo.v1.0.0".
	By string

	// Reason is that of the condition that reports it.
	Reason string

	// Since is when it started, or zero.
	Since metav1.Time

	// Cause describes the problem, or the reason for the wait.
	Cause string

	// Steps are the actions that a user can take.
	Steps []Step
}

// Step is an action that a user can take, with its command.
type Step struct {
	To      string // its purpose: "To approve it"
	Command string
}

// Describe returns the action that shows an object with its Events. The namespace of a cluster-scoped object is empty.
func Describe(to, resource, namespace, name string) Step {
	if namespace == "" {
		return Step{To: to, Command: Command("kubectl describe %s %s", resource, name)}
	}
	return Step{To: to, Command: Command("kubectl describe %s -n %s %s", resource, namespace, name)}
}

// Node is an object that an operator consists of, or several healthy ones of a kind.
type Node struct {
	Name     string // such as "Probe default/foo.v1.0.0", or "3 Deployments"
	Resource string // of a custom resource: the name of its CustomResourceDefinition
	State    string
	Message  string // may be empty
	Children []Node
}

// Blocked returns the worst impact of the operator's blockers, or "".
func (o Operator) Blocked() Impact {
	if len(o.Blockers) == 0 {
		return ""
	}
	return o.Blockers[0].Impact
}

// Undecided reports whether nothing that may be read blocks the operator, but something else might.
func (o Operator) Undecided() bool { return len(o.Blockers) == 0 && len(o.Unread) > 0 }

// Is reports whether a user may call the operator by a name: its own, or that of its package, of one of its versions, or of its
// PlatformOperator.
func (o Operator) Is(name string) bool {
	return name != "" && (name == o.Name || name == o.Package || name == o.Installed || name == o.Update || name == o.PlatformOperator)
}

// Sorted sorts operators by namespace, name and installer.
func Sorted(out []Operator) []Operator {
	slices.SortFunc(out, func(a, b Operator) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Installer, b.Installer))
	})
	return out
}
