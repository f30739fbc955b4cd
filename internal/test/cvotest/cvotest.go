// Package cvotest checks a ClusterOperator against the rules of the Cluster Version Operator and its documentation.
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

// camelCase matches a valid reason.
var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// required are the conditions that the Cluster Version Operator reads. A missing one counts as having the bad status.
var required = []configv1.ClusterStatusConditionType{
	configv1.OperatorAvailable, configv1.OperatorProgressing, configv1.OperatorDegraded,
}

// Checker checks successive statuses of a ClusterOperator.
type Checker struct {
	// Installing is true until the first installation of the cluster has completed. Until then a ClusterOperator may
	// withdraw its version and Available, since the Cluster Version Operator acts on the latest status.
	Installing bool

	// Ahead is true while the Cluster Version Operator applies a release and has not reached the ClusterOperator yet. It may
	// not have applied all of the component, so a version that is written now may be read too early.
	Ahead bool

	previous *configv1.ClusterOperatorStatus
}

// New returns a Checker that has not observed a status yet.
func New() *Checker { return &Checker{} }

// Observe returns the rules that the status of a ClusterOperator breaks, by itself or compared with the previous one.
// An initial status without conditions and versions breaks none.
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

// conditions verifies that the required conditions exist, and that each is complete and well-formed.
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
			continue // set by another controller
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

// versions verifies that versions are unique and not empty. The operator's may only exist while Available is True.
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

// transitions verifies that lastTransitionTime changes exactly with the status, and that conditions, versions and Available
// are kept.
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
		i := slices.IndexFunc(after.Versions, func(a configv1.OperandVersion) bool { return a == v })
		if c.Ahead && kept && i < 0 && v.Name == operatorVersion {
			problems = append(problems, errors.New("the operator's version has changed before the Cluster Version Operator waits for it"))
		}
		if !kept && (!c.Installing || v.Name != operatorVersion) {
			problems = append(problems, fmt.Errorf("version %q is gone", v.Name))
		}
	}
	return errors.Join(problems...)
}

// Resolve returns the relatedObjects that cannot be found, looking them up as tools that gather diagnostics do. An
// entry without a name stands for all objects of a resource.
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
