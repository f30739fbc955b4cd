// Package cvotest holds a ClusterOperator against what the Cluster Version Operator and its documentation ask of one.
package cvotest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operatorVersion is the name of the version that the Cluster Version Operator waits for.
const operatorVersion = "operator"

// camelCase is how a reason is written.
var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// required are the conditions that the Cluster Version Operator reads. One that is missing counts as the bad answer.
var required = []configv1.ClusterStatusConditionType{
	configv1.OperatorAvailable, configv1.OperatorProgressing, configv1.OperatorDegraded,
}

// Checker checks what a ClusterOperator says, one status after the other.
type Checker struct {
	// Installing is true until the first installation of the cluster has completed. Until then a ClusterOperator may withdraw
	// its version and Available: the Cluster Version Operator goes by what it reads last.
	Installing bool

	previous *configv1.ClusterOperatorStatus
}

// New is a Checker that has seen nothing yet.
func New() *Checker { return &Checker{} }

// Observe tells which rules the status of a ClusterOperator breaks, by itself and after the one before. One that nobody has
// written yet breaks none.
func (c *Checker) Observe(co *configv1.ClusterOperator) error {
	if c.previous == nil && len(co.Status.Conditions) == 0 && len(co.Status.Versions) == 0 {
		return nil
	}
	problems := []error{conditions(co.Status), versions(co.Status)}
	if c.previous != nil {
		problems = append(problems, c.transitions(*c.previous, co.Status))
	}
	c.previous = co.Status.DeepCopy()
	return errors.Join(problems...)
}

// conditions: those that are read are there, and each says why, for people and for machines.
func conditions(status configv1.ClusterOperatorStatus) error {
	var problems []error
	for _, t := range required {
		if find(status, t) == nil {
			problems = append(problems, fmt.Errorf("%s is missing", t))
		}
	}
	seen := map[configv1.ClusterStatusConditionType]bool{}
	for _, c := range status.Conditions {
		if seen[c.Type] {
			problems = append(problems, fmt.Errorf("%s is there twice", c.Type))
		}
		seen[c.Type] = true
		if !slices.Contains(required, c.Type) && c.Type != configv1.OperatorUpgradeable {
			continue // somebody else's
		}
		switch c.Status {
		case configv1.ConditionTrue, configv1.ConditionFalse, configv1.ConditionUnknown:
		default:
			problems = append(problems, fmt.Errorf("%s has the status %q", c.Type, c.Status))
		}
		if !camelCase.MatchString(c.Reason) {
			problems = append(problems, fmt.Errorf("%s has the reason %q, which is not CamelCase", c.Type, c.Reason))
		}
		if first, _ := utf8.DecodeRuneInString(c.Message); !unicode.IsUpper(first) {
			problems = append(problems, fmt.Errorf("%s has the message %q, which does not begin with a capital letter", c.Type, c.Message))
		}
		if c.LastTransitionTime.IsZero() {
			problems = append(problems, fmt.Errorf("%s has no lastTransitionTime", c.Type))
		}
	}
	return errors.Join(problems...)
}

// versions: a version is written when it has been reached.
func versions(status configv1.ClusterOperatorStatus) error {
	var problems []error
	seen := map[string]bool{}
	for _, v := range status.Versions {
		if seen[v.Name] {
			problems = append(problems, fmt.Errorf("version %q is there twice", v.Name))
		}
		seen[v.Name] = true
		if v.Version == "" {
			problems = append(problems, fmt.Errorf("version %q is empty", v.Name))
		}
	}
	available := find(status, configv1.OperatorAvailable)
	if seen[operatorVersion] && (available == nil || available.Status != configv1.ConditionTrue) {
		problems = append(problems, errors.New("the operator's version is there although it is not Available"))
	}
	return errors.Join(problems...)
}

// transitions: a condition's time moves when its status does, and only then, and what was reached is not taken back.
func (c *Checker) transitions(before, after configv1.ClusterOperatorStatus) error {
	var problems []error
	for _, a := range after.Conditions {
		b := find(before, a.Type)
		switch {
		case b == nil:
		case a.Status == b.Status && !a.LastTransitionTime.Equal(&b.LastTransitionTime):
			problems = append(problems, fmt.Errorf("lastTransitionTime of %s has moved although it is still %s", a.Type, a.Status))
		case a.Status != b.Status && !b.LastTransitionTime.Before(&a.LastTransitionTime):
			problems = append(problems,
				fmt.Errorf("lastTransitionTime of %s has not moved although it was %s and is %s", a.Type, b.Status, a.Status))
		}
		withdrawn := a.Type == configv1.OperatorAvailable && b != nil && b.Status == configv1.ConditionTrue && a.Status != b.Status
		if withdrawn && !c.Installing {
			problems = append(problems, fmt.Errorf("it was Available, and is so no more: %s", a.Message))
		}
	}
	for _, b := range before.Conditions {
		if find(after, b.Type) == nil {
			problems = append(problems, fmt.Errorf("condition %s is gone", b.Type))
		}
	}
	for _, v := range before.Versions {
		kept := slices.ContainsFunc(after.Versions, func(a configv1.OperandVersion) bool { return a.Name == v.Name })
		if !kept && (!c.Installing || v.Name != operatorVersion) {
			problems = append(problems, fmt.Errorf("version %q is gone", v.Name))
		}
	}
	return errors.Join(problems...)
}

// Resolve tells which of relatedObjects cannot be found, as those who gather what there is to see look for them. An entry
// without a name is all of a kind.
func Resolve(ctx context.Context, c client.Reader, mapper meta.RESTMapper, co *configv1.ClusterOperator) error {
	if len(co.Status.RelatedObjects) == 0 {
		return errors.New("there are no relatedObjects")
	}
	var problems []error
	for _, o := range co.Status.RelatedObjects {
		if err := resolve(ctx, c, mapper, o); err != nil {
			problems = append(problems, fmt.Errorf("related object %q of %s.%s: %w", o.Name, o.Resource, o.Group, err))
		}
	}
	return errors.Join(problems...)
}

func resolve(ctx context.Context, c client.Reader, mapper meta.RESTMapper, o configv1.ObjectReference) error {
	kind, err := mapper.KindFor(schema.GroupVersionResource{Group: o.Group, Resource: o.Resource})
	if err != nil {
		return err
	}
	if o.Name == "" {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return c.List(ctx, list, client.InNamespace(o.Namespace), client.Limit(1))
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return c.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, object)
}

func find(status configv1.ClusterOperatorStatus, t configv1.ClusterStatusConditionType) *configv1.ClusterOperatorStatusCondition {
	i := slices.IndexFunc(status.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &status.Conditions[i]
}
