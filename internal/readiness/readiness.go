// Package readiness decides from the status of an object whether it is ready.
package readiness

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

const (
	// maxReadinessMessage limits how much of an object's message is copied, in bytes.
	maxReadinessMessage = 1024

	// maxReadinessReason limits the length of a condition's reason.
	maxReadinessReason = 1024

	// maxReadinessValue limits how much of a field's value a message shows, in bytes: the expected value needs room.
	maxReadinessValue = 128
)

var (
	reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

	clusterExtensionKind = schema.GroupKind{Group: "olm.operatorframework.io", Kind: "ClusterExtension"}
	secretKind           = schema.GroupKind{Kind: "Secret"}
)

// State is whether an object is ready, and why not.
type State struct {
	Ready bool

	// Failing is true if the object itself reports a failure that waiting does not resolve.
	Failing bool

	// Reason and Message explain why the object is not ready, copied from the object if it reports them. They are empty if
	// Ready.
	Reason, Message string
}

// Of returns whether an object is ready: by the checks, or without checks by the conventions of its kind. The
// object may be nil. It is pure, except that kstatus reads the clock for how long a Pod has been unschedulable.
func Of(o *unstructured.Unstructured, checks []v1alpha1.ReadinessCheck) State {
	switch {
	case o == nil || o.Object == nil:
		return notReady(v1alpha1.ResourceNotFound, "Not found")
	case beingDeleted(o):
		return notReady(v1alpha1.ResourceTerminating, "It is being deleted"+waitingForFinalizers(o))
	case len(checks) == 0:
		return ofKind(o)
	}
	for i, c := range checks {
		if problem := problemOfCheck(c); problem != "" {
			// Checked before the others are evaluated, since waiting does not fix an invalid check.
			return hasFailed(v1alpha1.ResourceCheckInvalid, fmt.Sprintf("readinessChecks[%d].%s", i, problem))
		}
	}
	out := byChecks(o, checks)
	if own := ofKind(o); !out.Ready && own.Failing {
		return own
	}
	return out
}

// notReady uses the reason NotReady if the object reports none.
func notReady(reason, message string) State {
	return State{Reason: ValidReason(reason, v1alpha1.ResourceNotReady), Message: tidy(message)}
}

func hasFailed(reason, message string) State {
	return State{Failing: true, Reason: ValidReason(reason, v1alpha1.ResourceFailing), Message: tidy(message)}
}

func outdated(subject string) State {
	return notReady("", subject+" is of an earlier generation")
}

func beingDeleted(o *unstructured.Unstructured) bool {
	at, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "deletionTimestamp")
	return at != nil && at != ""
}

func waitingForFinalizers(o *unstructured.Unstructured) string {
	if names := o.GetFinalizers(); len(names) > 0 {
		return ", and waits for its finalizers: " + strings.Join(names, ", ")
	}
	return ""
}

// problemOfCheck returns why a check is invalid for any object, or the empty string. The CRD rejects most of these.
func problemOfCheck(c v1alpha1.ReadinessCheck) string {
	switch c.Type {
	case v1alpha1.CheckNone:
		return ""
	case v1alpha1.CheckMatchCondition:
		m := c.MatchCondition
		switch {
		case m == nil || m.Type == "":
			return "matchCondition is missing"
		case m.Status != metav1.ConditionTrue && m.Status != metav1.ConditionFalse && m.Status != metav1.ConditionUnknown:
			return fmt.Sprintf("matchCondition.status is %s, and must be True, False or Unknown", formatValue(string(m.Status)))
		}
		return ""
	case v1alpha1.CheckMatchString:
		if c.MatchString == "" {
			return "matchString is missing"
		}
	case v1alpha1.CheckMatchInteger:
		if c.MatchInteger == nil {
			return "matchInteger is missing"
		}
	case v1alpha1.CheckNonEmpty, v1alpha1.CheckMatchTrue, v1alpha1.CheckMatchFalse:
	default:
		return fmt.Sprintf("type is %s, which is not a valid type", formatValue(string(c.Type)))
	}
	return problemOfFieldPath(c.FieldPath)
}

func problemOfFieldPath(path string) string {
	segments, err := fieldpath.Parse(path)
	switch {
	case err != nil:
		return fmt.Sprintf("fieldPath is %s: %v", formatValue(path), err)
	case len(segments) == 0:
		return "fieldPath is missing"
	}
	for _, s := range segments {
		if s.Field == "*" {
			return fmt.Sprintf("fieldPath is %s: with a wildcard it does not name one field", formatValue(path))
		}
	}
	return ""
}

// byChecks returns the result of the first check that does not pass.
func byChecks(o *unstructured.Unstructured, checks []v1alpha1.ReadinessCheck) State {
	for _, c := range checks {
		var r State
		switch {
		case readsStatus(c) && isOutdated(o):
			r = outdated("Its status")
		case c.Type == v1alpha1.CheckNone:
			continue
		case c.Type == v1alpha1.CheckMatchCondition:
			r = byCondition(o, c)
		default:
			r = byField(o, c)
		}
		if !r.Ready {
			return r
		}
	}
	return State{Ready: true}
}

// readsStatus reports whether a check reads the status, which the object's controller writes.
func readsStatus(c v1alpha1.ReadinessCheck) bool {
	if c.Type == v1alpha1.CheckNone || c.Type == v1alpha1.CheckMatchCondition {
		return c.Type == v1alpha1.CheckMatchCondition
	}
	segments, err := fieldpath.Parse(c.FieldPath)
	return err == nil && len(segments) > 0 && segments[0].Field == "status"
}

func byCondition(o *unstructured.Unstructured, c v1alpha1.ReadinessCheck) State {
	got, found := objectConditionOf(o, c.MatchCondition.Type)
	switch {
	case !found && c.MatchCondition.Status == metav1.ConditionUnknown:
		return State{Ready: true} // an absent condition counts as Unknown
	case !found:
		return notReady("", "Condition "+c.MatchCondition.Type+" is not set")
	case got.outdated:
		return outdated("Condition " + got.Type)
	case got.Status == c.MatchCondition.Status:
		return State{Ready: true}
	}
	message := got.String()
	if got.Reason != "" {
		message += fmt.Sprintf(" (%s)", got.Reason)
	}
	if got.Message != "" {
		message += ": " + got.Message
	}
	return notReady(got.Reason, message)
}

func byField(o *unstructured.Unstructured, c v1alpha1.ReadinessCheck) State {
	path := messages.Clip(c.FieldPath, maxReadinessValue)
	got, err := fieldpath.Pave(o.Object).GetValue(c.FieldPath)
	switch {
	case fieldpath.IsNotFound(err), err == nil && got == nil:
		return notReady("", path+" is not set")
	case err != nil:
		return notReady("", fmt.Sprintf("%s cannot be read: %v", path, err))
	}
	var passes bool
	var want string
	switch c.Type {
	case v1alpha1.CheckMatchString:
		s, ok := got.(string)
		passes, want = ok && s == c.MatchString, formatValue(c.MatchString)
	case v1alpha1.CheckMatchInteger:
		n, ok := integer(got)
		passes, want = ok && n == *c.MatchInteger, formatValue(*c.MatchInteger)
	case v1alpha1.CheckMatchTrue, v1alpha1.CheckMatchFalse:
		b, ok := got.(bool)
		expected := c.Type == v1alpha1.CheckMatchTrue
		passes, want = ok && b == expected, formatValue(expected)
	default: // NonEmpty
		passes = true
	}
	switch {
	case passes:
		return State{Ready: true}
	case o.GroupVersionKind().GroupKind() == secretKind: // a user who may read the status may not be allowed to read the Secret
		return notReady("", fmt.Sprintf("%s is not %s", path, want))
	default:
		return notReady("", fmt.Sprintf("%s is %s, not %s", path, formatValue(got), want))
	}
}

// ofKind returns the state that the object reports, by the conventions of its kind.
func ofKind(o *unstructured.Unstructured) State {
	switch {
	case isOutdated(o):
		return outdated("Its status")
	case o.GroupVersionKind().GroupKind() == clusterExtensionKind:
		return ofClusterExtension(o)
	}
	res, err := computeKind(o)
	known := kstatus.GetLegacyConditionsFn(o) != nil
	switch {
	case err == nil && res.Status == kstatus.FailedStatus:
		if c, found := badNews(o, "Failed", "PodScheduled"); found && known && !c.outdated {
			return ofCondition(c, true) // of a Job or a Pod, for which kstatus has its own message
		}
		return hasFailed(messageOf(res))
	case !known:
		// kstatus evaluates Ready and Reconciling, but not the others, nor observedGeneration of a condition.
		if c, found := badNews(o, "Degraded", "Reconciling", "Ready", "Available"); found {
			return ofCondition(c, c.Type == "Degraded")
		}
	}
	switch {
	case err != nil:
		return notReady("", fmt.Sprintf("Its status cannot be read, so readinessChecks must define its readiness: %v", err))
	case res.Status == kstatus.CurrentStatus:
		return State{Ready: true}
	case known:
		return inProgress(o, res)
	default:
		return notReady("", cmp.Or(res.Message, "It is "+res.Status.String()))
	}
}

// inProgress returns the readiness of an object of a built-in kind that is not ready yet. It joins the message
// of kstatus, which has counts, and that of the condition. The reasons of kstatus are omitted: nothing else uses them.
func inProgress(o *unstructured.Unstructured, res *kstatus.Result) State {
	c, found := badNews(o, "Reconciling", "ReplicaFailure", "PodScheduled", "Progressing", "Available", "Ready")
	switch {
	case !found || c.outdated:
		return notReady("", res.Message)
	case c.Message == "" || c.Message == res.Message:
		return notReady(c.Reason, res.Message)
	default:
		return notReady(c.Reason, res.Message+": "+c.Message)
	}
}

// ofClusterExtension evaluates the conditions of a ClusterExtension of OLM v1. It is done if Progressing has
// reason Succeeded and is True or, in newer versions, False. Other False are final; reason Retrying reports an error.
func ofClusterExtension(o *unstructured.Unstructured) State {
	progressing, found := objectConditionOf(o, "Progressing")
	installed, known := objectConditionOf(o, "Installed")
	done := progressing.Status != metav1.ConditionUnknown && progressing.Reason == "Succeeded" && !progressing.outdated
	switch {
	case found && !done:
		return ofCondition(progressing, progressing.Status == metav1.ConditionFalse || progressing.Reason == "Retrying")
	case !known:
		return notReady("", "Condition Installed is not set")
	case installed.outdated || installed.Status != metav1.ConditionTrue:
		return ofCondition(installed, false)
	case !found:
		return notReady("", "Condition Progressing is not set")
	}
	return State{Ready: true}
}

// computeKind calls kstatus, which panics if the status of a Pod does not have the expected form.
func computeKind(o *unstructured.Unstructured) (res *kstatus.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			res, err = nil, fmt.Errorf("kstatus: %v", r)
		}
	}()
	if status := o.Object["status"]; status != nil {
		fields, ok := status.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("status is %s, not an object", formatValue(status))
		}
		if conditions := fields["conditions"]; conditions != nil {
			if _, ok := conditions.([]any); !ok {
				return nil, fmt.Errorf("status.conditions is %s, not a list", formatValue(conditions))
			}
		}
	}
	return kstatus.Compute(legible(o))
}

// legible returns the object without fields of an unexpected type, for which kstatus would return an error: for example
// the observedGeneration of an Argo Rollout, which is a string.
func legible(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := maps.Clone(o.Object)
	if metadata, ok := out["metadata"].(map[string]any); ok {
		out["metadata"] = withInteger(metadata, "generation")
	}
	if status, ok := out["status"].(map[string]any); ok {
		status = withInteger(status, "observedGeneration")
		if _, ok := status["conditions"].([]any); ok {
			conditions := []any{}
			for _, c := range objectConditionsOf(o) {
				conditions = append(conditions, map[string]any{
					"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
				})
			}
			status["conditions"] = conditions
		}
		out["status"] = status
	}
	return &unstructured.Unstructured{Object: out}
}

// withInteger returns a copy in which the field is an integer or absent.
func withInteger(object map[string]any, field string) map[string]any {
	out := maps.Clone(object)
	delete(out, field)
	if n, ok := integer(object[field]); ok {
		out[field] = n
	}
	return out
}

// messageOf returns the reason and message of a failure, from the object's condition if kstatus copied it.
func messageOf(res *kstatus.Result) (reason, message string) {
	for _, c := range res.Conditions {
		reason, message = c.Reason, c.Message
	}
	return reason, cmp.Or(message, res.Message, "It has failed")
}
