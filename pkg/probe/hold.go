package probe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Object is a custom resource that an operator holds its updates for.
type Object struct {
	// Resource is the name of its CustomResourceDefinition, such as foos.example.com.
	Resource string

	Kind string

	// Namespace is empty for a cluster-scoped object.
	Namespace, Name string
}

// String returns the kind, namespace and name.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Hold holds updates of the operator for an object, until Release is called for it. Other objects hold and release on their own. The
// message is why, as in "Foo default/example: MESSAGE".
//
// The condition Upgradeable is False while any object holds, and status.probeResources lists the objects, so that they hold on after a
// restart. It lists 50; more are kept in this process only, and hold again once they are reconciled. Hold writes as Update does, and returns
// its errors, or ErrInvalidObject. Do not call SetUpgradeable as well.
func (c *Client) Hold(ctx context.Context, object Object, message string) error {
	if object.Kind == "" || object.Name == "" {
		return fmt.Errorf("%w: it is %+v", ErrInvalidObject, object)
	}
	c.holding.Lock()
	defer c.holding.Unlock()
	if c.held == nil {
		c.held = map[Object]string{}
	}
	c.held[object] = shortened(message)
	return c.Update(ctx, func(probe *v1alpha1.Probe) { c.report(probe, Object{}) })
}

// Release ends the hold for an object, if there is one. Updates may begin once no other object holds. Call it for an object that was
// deleted, too. It writes as Update does, and returns its errors.
func (c *Client) Release(ctx context.Context, object Object) error {
	c.holding.Lock()
	defer c.holding.Unlock()
	delete(c.held, object)
	return c.Update(ctx, func(probe *v1alpha1.Probe) { c.report(probe, object) })
}

// Held returns the objects that the Probe lists as holding updates, also since before this process started. Call it when the operator
// starts, and Release for each that was deleted meanwhile: nothing else would release it. It returns the errors of Get, but none if the Probe
// does not exist.
func (c *Client) Held(ctx context.Context) ([]Object, error) {
	probe, err := c.Get(ctx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sorted(listed(probe)), nil
}

// listed returns the objects in a status that hold updates, each with its message.
func listed(probe *v1alpha1.Probe) map[Object]string {
	out := map[Object]string{}
	for _, r := range probe.Status.ProbeResources {
		if r.Blocking && r.Name != "" {
			out[Object{Resource: r.Resource, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}] = strings.Join(r.Reasons, ", ")
		}
	}
	return out
}

func sorted(held map[Object]string) []Object {
	out := make([]Object, 0, len(held))
	for object := range held {
		out = append(out, object)
	}
	slices.SortFunc(out, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// report writes the objects that hold updates: those in the status, unless they are released, and those of this process.
func (c *Client) report(probe *v1alpha1.Probe, released Object) {
	held := listed(probe)
	delete(held, released)
	for object, message := range c.held {
		held[object] = message
	}
	objects := sorted(held)
	shown := objects[:min(len(objects), v1alpha1.MaxStatusProbeResources)]
	probe.Status.ProbeResources = nil
	for _, o := range shown {
		entry := v1alpha1.ProbeResourceStatus{Resource: o.Resource, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Blocking: true}
		if held[o] != "" {
			entry.Reasons = []string{held[o]}
		}
		probe.Status.ProbeResources = append(probe.Status.ProbeResources, entry)
	}
	n := int32(len(objects))
	probe.Status.Summary = &v1alpha1.ProbeSummary{Total: n, NotUpgradeable: n, Omitted: n - int32(len(shown))}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllUpgradeable, Message: "No object holds updates",
		ObservedGeneration: probe.Generation, LastTransitionTime: metav1.NewTime(c.options.now()),
	}
	if len(objects) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1alpha1.ReasonNotUpgradeable, waitingFor(objects, held)
	}
	meta.SetStatusCondition(&probe.Status.Conditions, condition)
}

// mostNamed limits the objects in the message of Upgradeable, and maxReported the characters of the message of each.
const (
	mostNamed   = 5
	maxReported = 1024
)

func waitingFor(objects []Object, held map[Object]string) string {
	var names []string
	for _, o := range objects[:min(len(objects), mostNamed)] {
		name := o.String()
		if held[o] != "" {
			name += ": " + held[o]
		}
		names = append(names, name)
	}
	out := "Waiting for " + strings.Join(names, "; ")
	if more := len(objects) - len(names); more > 0 {
		out += fmt.Sprintf("; and %d more", more)
	}
	return out
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxReported {
		return string(runes[:maxReported-1]) + "…"
	}
	return text
}
