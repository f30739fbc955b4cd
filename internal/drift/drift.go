// Package drift says whether an object is still as it was applied.
package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

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
		if len(desired) > len(is) {
			return false
		}
		for i, value := range desired {
			if !Within(value, is[i]) {
				return false
			}
		}
		return true
	case string:
		return desired == "" && actual == nil || desired == actual
	default:
		return desired == actual
	}
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
