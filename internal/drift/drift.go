// Package drift detects whether an object differs from its applied state.
package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Within reports whether actual contains every value of desired. Additional values in actual, such as defaults of the
// API server and fields of other managers, are allowed. A desired null is within any value, and an empty string, map or
// list is within an absent one.
func Within(desired, actual any) bool {
	switch desired := desired.(type) {
	case nil:
		return true
	case map[string]any:
		is, _ := actual.(map[string]any)
		for name, value := range desired {
			if !Within(value, is[name]) {
				return false
			}
		}
		return true
	case []any:
		is, _ := actual.([]any)
		return withinList(desired, is)
	case string:
		return desired == "" && actual == nil || desired == actual
	default:
		return desired == actual
	}
}

// withinList compares lists. If the items have keys, such as containers, additional items are allowed and the order is
// ignored. Any other list is written as a whole, so its length and order have to match.
func withinList(desired, actual []any) bool {
	if key := keyOf(desired); key != "" {
		for _, item := range desired {
			i := slices.IndexFunc(actual, func(other any) bool {
				m, _ := other.(map[string]any)
				return m != nil && m[key] == item.(map[string]any)[key] && Within(item, other)
			})
			if i < 0 {
				return false
			}
		}
		return true
	}
	if len(desired) != len(actual) {
		return false
	}
	for i, item := range desired {
		if !Within(item, actual[i]) {
			return false
		}
	}
	return true
}

// keys are the fields that identify the items of lists that Kubernetes merges by key.
var keys = []string{"containerPort", "mountPath", "devicePath", "topologyKey", "ip", "port", "name"}

// keyOf returns the key of a list's items, or the empty string. The subjects of bindings have names, but are written as a
// whole.
func keyOf(items []any) string {
	for _, key := range keys {
		has := func(item any) bool {
			m, ok := item.(map[string]any)
			return ok && m[key] != nil && m["kind"] == nil
		}
		if len(items) > 0 && !slices.ContainsFunc(items, func(item any) bool { return !has(item) }) {
			return key
		}
	}
	return ""
}

// SetAppliedHash records a hash of the desired object in an annotation, so a field removed from the desired state is detected as
// well.
func SetAppliedHash(o metav1.Object, annotation string) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = hex.EncodeToString(sum[:8])
	o.SetAnnotations(annotations)
	return nil
}
