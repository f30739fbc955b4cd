package readiness

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/internal/messages"
)

// objectCondition is a condition of an arbitrary object, as far as it can be read.
type objectCondition struct {
	Type            string
	Status          metav1.ConditionStatus
	Reason, Message string
	outdated        bool // its observedGeneration is older than the object
}

func (c objectCondition) String() string {
	return c.Type + " is " + cmp.Or(string(c.Status), "not set")
}

func ofCondition(c objectCondition, final bool) State {
	switch {
	case c.outdated:
		return outdated("Condition " + c.Type)
	case final:
		return hasFailed(c.Reason, cmp.Or(c.Message, c.String()))
	default:
		return notReady(c.Reason, cmp.Or(c.Message, c.String()))
	}
}

func objectConditionsOf(o *unstructured.Unstructured) []objectCondition {
	list, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	entries, _ := list.([]any)
	generation, _ := integerOf(o, "metadata", "generation")
	out := make([]objectCondition, 0, len(entries))
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		observed, _ := integer(entry["observedGeneration"])
		if stringIn(entry["type"]) == "" {
			continue
		}
		out = append(out, objectCondition{
			Type: stringIn(entry["type"]), Status: metav1.ConditionStatus(stringIn(entry["status"])),
			Reason: stringIn(entry["reason"]), Message: tidy(stringIn(entry["message"])),
			outdated: observed > 0 && observed < generation, // 0 if it is not set
		})
	}
	return out
}

func objectConditionOf(o *unstructured.Unstructured, conditionType string) (objectCondition, bool) {
	for _, c := range objectConditionsOf(o) {
		if c.Type == conditionType {
			return c, true
		}
	}
	return objectCondition{}, false
}

// troubles holds the condition types for which True is bad news.
var troubles = map[string]bool{"Degraded": true, "Failed": true, "Reconciling": true, "ReplicaFailure": true}

// badNews returns the first condition, in the order of types, that reports a problem, or whose good news is outdated.
func badNews(o *unstructured.Unstructured, types ...string) (objectCondition, bool) {
	for _, t := range types {
		c, found := objectConditionOf(o, t)
		isTrue := c.Status == metav1.ConditionTrue
		if found && (isTrue == troubles[t] || isTrue && c.outdated) {
			return c, true
		}
	}
	return objectCondition{}, false
}

// isOutdated reports whether status.observedGeneration is older than the object. It is false if the field is not set.
func isOutdated(o *unstructured.Unstructured) bool {
	observed, ok := integerOf(o, "status", "observedGeneration")
	generation, _ := integerOf(o, "metadata", "generation")
	return ok && observed < generation
}

func integerOf(o *unstructured.Unstructured, path ...string) (int64, bool) {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return integer(v)
}

// integer returns a JSON number as an integer. The number may have been decoded as a float.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && n >= math.MinInt64 && n < math.MaxInt64 {
			return int64(n), true
		}
	}
	return 0, false
}

func stringIn(v any) string {
	s, _ := v.(string)
	return s
}

// formatValue formats a value for a message.
func formatValue(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(messages.Clip(v, maxReadinessValue))
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	default:
		return fmt.Sprint(v)
	}
}

// ValidReason returns the reason, or otherwise if it is not a valid condition reason.
func ValidReason(reason, otherwise string) string {
	if len(reason) > maxReadinessReason || !reasonPattern.MatchString(reason) {
		return otherwise
	}
	return reason
}

// tidy makes the message of another object one line without a trailing period, and clips it.
func tidy(message string) string {
	return messages.Clip(strings.TrimRight(messages.Line(message), ". "), maxReadinessMessage)
}
