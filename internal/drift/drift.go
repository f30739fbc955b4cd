// Package drift says whether an object is still as it was applied.
package drift

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
