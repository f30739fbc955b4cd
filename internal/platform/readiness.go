package platform

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
	// maxReadinessMessage is how many bytes of an object's message are taken over.
	maxReadinessMessage = 1024

	// maxReadinessReason is how long a reason of a condition may be.
	maxReadinessReason = 1024

	// maxReadinessValue is how many bytes a message shows of a field, so that there is room for what it should be.
	maxReadinessValue = 128
)

var (
	reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

	clusterExtensionKind = schema.GroupKind{Group: "olm.operatorframework.io", Kind: "ClusterExtension"}
	secretKind           = schema.GroupKind{Kind: "Secret"}
)

// Readiness is how an object is.
type Readiness struct {
	Ready bool

	// Failing is true where the object itself says that it has failed, and will not become ready by waiting.
	Failing bool

	// Reason and Message say why it is not ready, in the object's own words where it gives them; empty where Ready.
	Reason, Message string
}

// ReadinessOf says whether an object is ready: by the checks, or where there are none by what its kind says. It may be
// given any object, and reads nothing else. (But for kstatus, which asks the clock how long a Pod has not been scheduled.)
func ReadinessOf(o *unstructured.Unstructured, checks []v1alpha1.ReadinessCheck) Readiness {
	switch {
	case o == nil || o.Object == nil:
		return notReady(v1alpha1.ResourceNotFound, "It is not there")
	case beingDeleted(o):
		return notReady(v1alpha1.ResourceTerminating, "It is being deleted"+waitingForFinalizers(o))
	case len(checks) == 0:
		return readinessOfKind(o)
	}
	for i, c := range checks {
		if problem := problemOfCheck(c); problem != "" {
			// Before the others are asked, since no waiting helps against this one.
			return hasFailed(v1alpha1.ResourceCheckInvalid, fmt.Sprintf("readinessChecks[%d].%s", i, problem))
		}
	}
	out := readinessByChecks(o, checks)
	if own := readinessOfKind(o); !out.Ready && own.Failing {
		return own
	}
	return out
}

// notReady has a reason of its own where the object gives none.
func notReady(reason, message string) Readiness {
	return Readiness{Reason: validReason(reason, v1alpha1.ResourceNotReady), Message: tidy(message)}
}

func hasFailed(reason, message string) Readiness {
	return Readiness{Failing: true, Reason: validReason(reason, v1alpha1.ResourceFailing), Message: tidy(message)}
}

func readinessOutdated(what string) Readiness {
	return notReady("", what+" is of an earlier generation")
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

// problemOfCheck says what is wrong with a check whatever the object; empty where nothing is. The CRD sees to most of it.
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
			return fmt.Sprintf("matchCondition.status is %s, and must be True, False or Unknown", shown(string(m.Status)))
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
		return fmt.Sprintf("type is %s, which is none", shown(string(c.Type)))
	}
	return problemOfFieldPath(c.FieldPath)
}

func problemOfFieldPath(path string) string {
	segments, err := fieldpath.Parse(path)
	switch {
	case err != nil:
		return fmt.Sprintf("fieldPath is %s: %v", shown(path), err)
	case len(segments) == 0:
		return "fieldPath is missing"
	}
	for _, s := range segments {
		if s.Field == "*" {
			return fmt.Sprintf("fieldPath is %s: with a wildcard it does not name one field", shown(path))
		}
	}
	return ""
}

// readinessByChecks tells of the first check that does not pass.
func readinessByChecks(o *unstructured.Unstructured, checks []v1alpha1.ReadinessCheck) Readiness {
	for _, c := range checks {
		var r Readiness
		switch {
		case readsStatus(c) && isOutdated(o):
			r = readinessOutdated("Its status")
		case c.Type == v1alpha1.CheckNone:
			continue
		case c.Type == v1alpha1.CheckMatchCondition:
			r = readinessByCondition(o, c)
		default:
			r = readinessByField(o, c)
		}
		if !r.Ready {
			return r
		}
	}
	return Readiness{Ready: true}
}

// readsStatus is false for a check of what the object's controller has no part in.
func readsStatus(c v1alpha1.ReadinessCheck) bool {
	if c.Type == v1alpha1.CheckNone || c.Type == v1alpha1.CheckMatchCondition {
		return c.Type == v1alpha1.CheckMatchCondition
	}
	segments, err := fieldpath.Parse(c.FieldPath)
	return err == nil && len(segments) > 0 && segments[0].Field == "status"
}

func readinessByCondition(o *unstructured.Unstructured, c v1alpha1.ReadinessCheck) Readiness {
	got, there := objectConditionOf(o, c.MatchCondition.Type)
	switch {
	case !there && c.MatchCondition.Status == metav1.ConditionUnknown:
		return Readiness{Ready: true} // one that is absent reads Unknown
	case !there:
		return notReady("", "Condition "+c.MatchCondition.Type+" is not set")
	case got.outdated:
		return readinessOutdated("Condition " + got.Type)
	case got.Status == c.MatchCondition.Status:
		return Readiness{Ready: true}
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

func readinessByField(o *unstructured.Unstructured, c v1alpha1.ReadinessCheck) Readiness {
	path := messages.Clip(c.FieldPath, maxReadinessValue)
	got, err := fieldpath.Pave(o.Object).GetValue(c.FieldPath)
	switch {
	case fieldpath.IsNotFound(err), err == nil && got == nil:
		return notReady("", path+" is not set")
	case err != nil:
		return notReady("", fmt.Sprintf("There is no %s: %v", path, err))
	}
	var passes bool
	var want string
	switch c.Type {
	case v1alpha1.CheckMatchString:
		s, ok := got.(string)
		passes, want = ok && s == c.MatchString, shown(c.MatchString)
	case v1alpha1.CheckMatchInteger:
		n, ok := integer(got)
		passes, want = ok && n == *c.MatchInteger, shown(*c.MatchInteger)
	case v1alpha1.CheckMatchTrue, v1alpha1.CheckMatchFalse:
		b, ok := got.(bool)
		expected := c.Type == v1alpha1.CheckMatchTrue
		passes, want = ok && b == expected, shown(expected)
	default: // NonEmpty
		passes = true
	}
	switch {
	case passes:
		return Readiness{Ready: true}
	case o.GroupVersionKind().GroupKind() == secretKind: // what it holds is not for everybody who may read the status
		return notReady("", fmt.Sprintf("%s is not %s", path, want))
	default:
		return notReady("", fmt.Sprintf("%s is %s, not %s", path, shown(got), want))
	}
}

// readinessOfKind is what the object says of itself, read as is usual for its kind.
func readinessOfKind(o *unstructured.Unstructured) Readiness {
	switch {
	case isOutdated(o):
		return readinessOutdated("Its status")
	case o.GroupVersionKind().GroupKind() == clusterExtensionKind:
		return readinessOfClusterExtension(o)
	}
	res, err := computeKind(o)
	known := kstatus.GetLegacyConditionsFn(o) != nil
	switch {
	case err == nil && res.Status == kstatus.FailedStatus:
		if c, there := badNews(o, "Failed", "PodScheduled"); there && known && !c.outdated {
			return readinessOfCondition(c, true) // of a Job or a Pod, where kstatus has words of its own
		}
		return hasFailed(wordsOf(res))
	case !known:
		// kstatus knows Ready and Reconciling, but not the others, and no condition's own observedGeneration.
		if c, there := badNews(o, "Degraded", "Reconciling", "Ready", "Available"); there {
			return readinessOfCondition(c, c.Type == "Degraded")
		}
	}
	switch {
	case err != nil:
		return notReady("", fmt.Sprintf("Its status cannot be read, and readinessChecks have to say when it is ready: %v", err))
	case res.Status == kstatus.CurrentStatus:
		return Readiness{Ready: true}
	case known:
		return readinessUnderWay(o, res)
	default:
		return notReady("", cmp.Or(res.Message, "It is "+res.Status.String()))
	}
}

// readinessUnderWay tells of an object of a kind that Kubernetes itself has: in the words of kstatus, which counts, and of the
// condition that goes with them. The reasons of kstatus are left out, since nobody else knows them.
func readinessUnderWay(o *unstructured.Unstructured, res *kstatus.Result) Readiness {
	c, there := badNews(o, "Reconciling", "ReplicaFailure", "PodScheduled", "Progressing", "Available", "Ready")
	switch {
	case !there || c.outdated:
		return notReady("", res.Message)
	case c.Message == "" || c.Message == res.Message:
		return notReady(c.Reason, res.Message)
	default:
		return notReady(c.Reason, res.Message+": "+c.Message)
	}
}

// readinessOfClusterExtension follows the two conditions that an operator of OLM v1 has. It is done where Progressing is True, or
// False as newer ones have it, with reason Succeeded; what else is False there will not be tried again, and Retrying tells of an error.
func readinessOfClusterExtension(o *unstructured.Unstructured) Readiness {
	progressing, there := objectConditionOf(o, "Progressing")
	installed, known := objectConditionOf(o, "Installed")
	done := progressing.Status != metav1.ConditionUnknown && progressing.Reason == "Succeeded" && !progressing.outdated
	switch {
	case there && !done:
		return readinessOfCondition(progressing, progressing.Status == metav1.ConditionFalse || progressing.Reason == "Retrying")
	case !known:
		return notReady("", "Condition Installed is not set")
	case installed.outdated || installed.Status != metav1.ConditionTrue:
		return readinessOfCondition(installed, false)
	case !there:
		return notReady("", "Condition Progressing is not set")
	}
	return Readiness{Ready: true}
}

// computeKind asks kstatus, which takes for granted that the status of a Pod has the form it should.
func computeKind(o *unstructured.Unstructured) (res *kstatus.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			res, err = nil, fmt.Errorf("kstatus: %v", r)
		}
	}()
	if status := o.Object["status"]; status != nil {
		fields, ok := status.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("status is %s, not an object", shown(status))
		}
		if conditions := fields["conditions"]; conditions != nil {
			if _, ok := conditions.([]any); !ok {
				return nil, fmt.Errorf("status.conditions is %s, not a list", shown(conditions))
			}
		}
	}
	return kstatus.Compute(legible(o))
}

// legible is the object without what has another form than is usual, for which kstatus would give the whole object up:
// such as the observedGeneration of an Argo Rollout, which is a string.
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

// withInteger is a copy in which a field is an integer or absent.
func withInteger(object map[string]any, field string) map[string]any {
	out := maps.Clone(object)
	delete(out, field)
	if n, ok := integer(object[field]); ok {
		out[field] = n
	}
	return out
}

// wordsOf are the reason and message of a failure: those of the object, where kstatus has them from there.
func wordsOf(res *kstatus.Result) (reason, message string) {
	for _, c := range res.Conditions {
		reason, message = c.Reason, c.Message
	}
	return reason, cmp.Or(message, res.Message, "It has failed")
}
