// Package drift says whether an object is still as it was applied.
package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Within is true where each value of desired is in actual, which may say more: what the API server or others add is not ours
// to take away. A desired value that says nothing is anywhere.
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

// withinList compares lists. Of a list whose items have keys, such as containers, others may add items, and their order does not
// matter; any other list belongs to one who writes it as a whole.
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

// keys are the fields by which Kubernetes tells the items of lists apart that several may write to.
var keys = []string{"containerPort", "mountPath", "devicePath", "topologyKey", "ip", "port", "name"}

// keyOf is the key of a list's items; empty where they have none. Subjects of bindings have names, and are written as a whole.
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

// Seal notes on an object, in an annotation, what it is now: what is desired no more differs by that.
func Seal(o metav1.Object, annotation string) error {
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
