// Package builder makes objects for tests.
package builder

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// Object returns an object without content.
func Object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kind)
	out.SetNamespace(namespace)
	out.SetName(name)
	return out
}

// FooWithConditions returns a custom resource with the given Conditions.
func FooWithConditions(conditions ...string) *unstructured.Unstructured {
	return Foo(Conditions(conditions...))
}

// Conditions returns the JSON of a status with conditions, each as "Type=Status/Reason: message". "@2" after the type is
// its observedGeneration.
func Conditions(conditions ...string) string {
	entries := make([]map[string]any, 0, len(conditions))
	for _, c := range conditions {
		entry := map[string]any{}
		c, entry["message"], _ = strings.Cut(c, ": ")
		c, entry["reason"], _ = strings.Cut(c, "/")
		c, entry["status"], _ = strings.Cut(c, "=")
		if t, generation, of := strings.Cut(c, "@"); of {
			c, entry["observedGeneration"] = t, json.Number(generation)
		}
		entry["type"] = c
		entries = append(entries, entry)
	}
	out, err := json.Marshal(map[string]any{"conditions": entries})
	if err != nil {
		panic(err)
	}
	return string(out)
}

// Changed changes a table of conditions, "Status/Reason" by type. A change is "Type=Status/Reason"; without a status the
// condition is absent.
func Changed(conditions map[string]string, changes ...string) map[string]string {
	for _, change := range changes {
		conditionType, value, _ := strings.Cut(change, "=")
		conditions[conditionType] = value
		if value == "" {
			delete(conditions, conditionType)
		}
	}
	return conditions
}

// FromJSON returns the object with that JSON.
func FromJSON(text string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	if err := kjson.Unmarshal([]byte(text), &out.Object); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return out
}

// WithField sets a field of an object.
func WithField(o *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		panic(err)
	}
	return o
}

// Checks returns the readiness checks of a resource.
func Checks(checks ...v1alpha1.ReadinessCheck) []v1alpha1.ReadinessCheck { return checks }

// NonEmpty returns a check of that type.
func NonEmpty(path string) v1alpha1.ReadinessCheck {
	return v1alpha1.ReadinessCheck{Type: v1alpha1.CheckNonEmpty, FieldPath: path}
}

// MatchString returns a check of that type.
func MatchString(path, value string) v1alpha1.ReadinessCheck {
	return v1alpha1.ReadinessCheck{Type: v1alpha1.CheckMatchString, FieldPath: path, MatchString: value}
}

// MatchInteger returns a check of that type.
func MatchInteger(path string, value int64) v1alpha1.ReadinessCheck {
	return v1alpha1.ReadinessCheck{Type: v1alpha1.CheckMatchInteger, FieldPath: path, MatchInteger: &value}
}

// MatchTrue returns a check of that type.
func MatchTrue(path string) v1alpha1.ReadinessCheck {
	return v1alpha1.ReadinessCheck{Type: v1alpha1.CheckMatchTrue, FieldPath: path}
}

// MatchFalse returns a check of that type.
func MatchFalse(path string) v1alpha1.ReadinessCheck {
	return v1alpha1.ReadinessCheck{Type: v1alpha1.CheckMatchFalse, FieldPath: path}
}

// MatchCondition returns a check of that type.
func MatchCondition(conditionType string, status metav1.ConditionStatus) v1alpha1.ReadinessCheck {
	return v1alpha1.ReadinessCheck{
		Type: v1alpha1.CheckMatchCondition, MatchCondition: &v1alpha1.MatchCondition{Type: conditionType, Status: status},
	}
}

// None is the check that every object passes.
var None = v1alpha1.ReadinessCheck{Type: v1alpha1.CheckNone}

// Foo returns a custom resource.
func Foo(status string) *unstructured.Unstructured {
	return WithStatus("example.com/v1", "Foo", status)
}

// WithStatus returns an object of generation 3 as read from the API server. status is JSON; empty means no status.
func WithStatus(apiVersion, kind, status string) *unstructured.Unstructured {
	if status == "" {
		status = "null"
	}
	return FromJSON(fmt.Sprintf(
		`{"apiVersion":%q,"kind":%q,"metadata":{"name":"example","generation":3},"spec":{"size":1},"status":%s}`, apiVersion, kind, status))
}
