// Package installer finds the operators of a cluster. Each program that installs operators is an Installer, in a folder of
// its own. It is pure.
package installer

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/internal/operator"
)

// Installer describes the operators that one program installed.
type Installer interface {
	// Name is the name of the program, for users.
	Name() string

	// Kinds are the kinds that Operators reads.
	Kinds() []Kind

	// Operators returns its operators.
	Operators(Cluster) []operator.Operator
}

// Checker is an Installer that knows more of what would block a future update.
type Checker interface {
	// Check is like Operators, with the blockers of a future update of the operator or of the cluster.
	Check(Cluster) []operator.Operator

	// CheckKinds are the kinds that only Check reads.
	CheckKinds() []Kind
}

// Outliner is an Installer that knows the objects that an operator consists of.
type Outliner interface {
	// Trees returns a function for the objects of an operator, and false if another program installed it.
	Trees(Cluster) func(operator.Operator) (operator.Node, bool)

	// TreeKinds are the kinds that only Trees reads.
	TreeKinds() []Kind
}

// Kind is a kind whose objects describe operators.
type Kind struct {
	schema.GroupVersionKind

	// Plural is its name in messages and in Cluster.Unread, such as "Subscriptions".
	Plural string

	// AddToScheme registers its Go types.
	AddToScheme func(*runtime.Scheme) error

	// List returns an empty list of its objects.
	List func() List

	// Selector selects the objects by label. It is empty for all.
	Selector string

	// ClusterScoped is true if its objects have no namespace. AllNamespaces is true if those of all namespaces are read,
	// since operators of any namespace refer to them.
	ClusterScoped, AllNamespaces bool

	// Background is true if a user who may not read the kind gets no warning. Unwatched is true if its events are not worth a new look at
	// the operators.
	Background, Unwatched bool

	// Named is true if its objects have the names of operators.
	Named bool

	// Required is true if nothing can be described for a user who may not read it.
	Required bool

	// Trim removes fields that no Installer reads from an object that the caller owns. It may be nil.
	Trim func(Object)
}

// DefinesOperators reports whether every cluster has the kind, and its objects make a workload an operator.
func (k Kind) DefinesOperators() bool {
	return slices.Contains([]string{"apiextensions.k8s.io", "apps", "rbac.authorization.k8s.io"}, k.Group)
}

// Object is an object of any kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// List is a list of objects of any kind.
type List interface {
	metav1.ListInterface
	runtime.Object
}

// Cluster holds the objects of a cluster that describe its operators, as read at one moment. A kind that is not installed
// has none.
type Cluster struct {
	Objects []Object

	// Unread are the kinds that may not be read, by their Plural. Nothing is concluded from the absence of their objects. UnreadOf tells
	// whether they exist.
	Unread []string

	// Served are those of them that the API server is known to serve. Those that it is known not to serve are not Unread.
	Served []schema.GroupVersionKind

	// Namespace is the only one of which objects were read, or empty.
	Namespace string
}

// Add adds the objects of a list, after trim if that is not nil.
func (c *Cluster) Add(list List, trim func(Object)) error {
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(Object)
		if !ok {
			return fmt.Errorf("%T is no object with metadata", item)
		}
		if trim != nil {
			trim(object)
		}
		c.Objects = append(c.Objects, object)
		return nil
	})
}

// Values returns the objects of a Go type.
func Values[T any](c Cluster) []T {
	var out []T
	for t := range each[T](c) {
		out = append(out, *t)
	}
	return out
}

// each yields the objects of a Go type without copying them.
func each[T any](c Cluster) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, object := range c.Objects {
			if t, ok := any(object).(*T); ok && !yield(t) {
				return
			}
		}
	}
}

// Installers are the programs that install operators on a cluster.
type Installers []Installer

// Kinds returns the kinds that Operators reads, without duplicates.
func (all Installers) Kinds() []Kind {
	return distinct(all, Installer.Kinds)
}

// CheckKinds returns the kinds that only Check reads.
func (all Installers) CheckKinds() []Kind {
	return all.beyond(distinct(only[Checker](all), Checker.CheckKinds))
}

// TreeKinds returns the kinds that only Trees reads.
func (all Installers) TreeKinds() []Kind {
	return all.beyond(distinct(only[Outliner](all), Outliner.TreeKinds))
}

// beyond returns the kinds that Operators does not read.
func (all Installers) beyond(kinds []Kind) []Kind {
	read := all.Kinds()
	return slices.DeleteFunc(kinds, func(k Kind) bool {
		return slices.ContainsFunc(read, func(r Kind) bool { return r.GroupVersionKind == k.GroupVersionKind })
	})
}

// only returns the installers that implement an optional interface.
func only[T any](all Installers) []T {
	var out []T
	for _, i := range all {
		if t, ok := i.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

func distinct[T any](all []T, kindsOf func(T) []Kind) []Kind {
	var out []Kind
	for _, i := range all {
		for _, kind := range kindsOf(i) {
			if !slices.ContainsFunc(out, func(k Kind) bool { return k.GroupVersionKind == kind.GroupVersionKind }) {
				out = append(out, kind)
			}
		}
	}
	return out
}

// Operators returns the operators of a cluster, sorted by namespace and name.
func (all Installers) Operators(c Cluster) []operator.Operator {
	return all.describe(func(i Installer) []operator.Operator { return i.Operators(c) })
}

// Check returns the operators with the blockers of a future update, and the orphans.
func (all Installers) Check(c Cluster) []operator.Operator {
	out := all.describe(func(i Installer) []operator.Operator {
		if checker, ok := i.(Checker); ok {
			return checker.Check(c)
		}
		return i.Operators(c)
	})
	return operator.Sorted(append(out, all.Orphans(c)...))
}

func (all Installers) describe(by func(Installer) []operator.Operator) []operator.Operator {
	var out []operator.Operator
	for _, i := range all {
		for _, op := range by(i) {
			op.Installer = cmp.Or(op.Installer, i.Name())
			out = append(out, op)
		}
	}
	return operator.Sorted(out)
}

// Trees returns a function for the objects that an operator consists of.
func (all Installers) Trees(c Cluster) func(operator.Operator) operator.Node {
	var trees []func(operator.Operator) (operator.Node, bool)
	for _, outliner := range only[Outliner](all) {
		trees = append(trees, outliner.Trees(c))
	}
	return func(op operator.Operator) operator.Node {
		for _, tree := range trees {
			if out, ok := tree(op); ok {
				return out
			}
		}
		out := operator.Node{Name: "Operator " + op.Namespace + "/" + op.Name, State: string(op.State)}
		if len(op.Blockers) > 0 {
			out.State, out.Message = string(op.Blocked()), op.Blockers[0].Cause
		}
		return out
	}
}
