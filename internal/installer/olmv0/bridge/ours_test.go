package bridge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestOurs verifies that each condition type of a Subscription is either OLM's or written beside OLM: a type in neither
// list would be computed, but never written there.
func TestOurs(t *testing.T) {
	theirs := []olm.SubscriptionConditionType{
		olm.SubscriptionCatalogSourcesUnhealthy, olm.SubscriptionInstallPlanMissing, olm.SubscriptionInstallPlanPending,
		olm.SubscriptionInstallPlanFailed, olm.SubscriptionResolutionFailed, olm.SubscriptionBundleUnpacking,
		olm.SubscriptionBundleUnpackFailed, olm.SubscriptionDeprecated, olm.SubscriptionPackageDeprecated,
		olm.SubscriptionChannelDeprecated, olm.SubscriptionBundleDeprecated,
	}
	types := conditionTypes(t)
	for _, conditionType := range types {
		isTheirs := slices.Contains(theirs, olm.SubscriptionConditionType(conditionType))
		if isOurs := slices.Contains(ownTypes, conditionType); isOurs == isTheirs {
			t.Errorf("%s: is OLM's: %v; is written beside OLM: %v", conditionType, isTheirs, isOurs)
		}
	}
	if len(types) < len(ownTypes) {
		t.Errorf("the API has the condition types %v: this test reads the wrong file", types)
	}
}

// conditionTypes returns the constants of the API that are condition types of a Subscription.
func conditionTypes(t *testing.T) (out []v1alpha1.SubscriptionConditionType) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../../api/operators/v1alpha1/subscription_conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "SubscriptionConditionType" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v1alpha1.SubscriptionConditionType(value))
		return true
	})
	return out
}
