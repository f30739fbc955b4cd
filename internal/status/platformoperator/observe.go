package platformoperator

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Observed holds the Subscriptions to the package of a PlatformOperator with managementPolicy Observe, by whether it may
// be the one to report on. Each is a <namespace>/<name>; both lists are sorted.
type Observed struct {
	Candidates []string

	// Others are in another namespace than the observed one, or use another catalog than the declared one.
	Others []string

	// Namespace is the observed one, or empty for any.
	Namespace string
}

// Observe selects the Subscription to report on, from those to the package. A user who may create Subscriptions in
// some namespace must not decide on another's: unless the spec names a catalog or a namespace, only a Subscription with a
// catalog for all namespaces counts, and an observed Subscription is not left for another.
func (in *Inputs) Observe(subs []operatorsv1alpha1.Subscription, defaultCatalog types.NamespacedName) {
	op := in.Operator
	in.Observed = Observed{Namespace: observedNamespace(op)}
	var found []*operatorsv1alpha1.Subscription
	for i := range subs {
		sub := &subs[i]
		name := types.NamespacedName{Namespace: sub.Namespace, Name: sub.Name}.String()
		if (in.Observed.Namespace == "" || sub.Namespace == in.Observed.Namespace) && observesCatalog(op, sub, defaultCatalog) {
			found = append(found, sub)
			in.Observed.Candidates = append(in.Observed.Candidates, name)
		} else {
			in.Observed.Others = append(in.Observed.Others, name)
		}
	}
	slices.Sort(in.Observed.Candidates)
	slices.Sort(in.Observed.Others)
	if len(found) == 1 {
		in.Subscription = found[0]
	}
}

// observedNamespace returns the namespace that a PlatformOperator observes: the declared one, or the one that it found
// its Subscription in. It is empty for any.
func observedNamespace(op *v1alpha1.PlatformOperator) string {
	return cmp.Or(op.Spec.Namespace, op.Status.Namespace)
}

// observesCatalog reports whether a Subscription uses the catalog of the PlatformOperator.
func observesCatalog(op *v1alpha1.PlatformOperator, sub *operatorsv1alpha1.Subscription, defaultCatalog types.NamespacedName) bool {
	if sub.Spec == nil {
		return false
	}
	uses := types.NamespacedName{Namespace: sub.Spec.CatalogSourceNamespace, Name: sub.Spec.CatalogSource}
	if op.Spec.Package.Catalog != nil {
		return uses == catalogOf(op, defaultCatalog)
	}
	return op.Spec.Namespace != "" || uses.Namespace == defaultCatalog.Namespace
}

// unobserved returns why no Subscription can be reported on, or nil.
func (in Inputs) unobserved() *condition.Problem {
	pkg := in.Operator.Spec.Package.Name
	switch {
	case in.Subscription != nil:
		return nil
	case len(in.Observed.Candidates) > 1:
		return &condition.Problem{Reason: v1alpha1.ReasonSubscriptionAmbiguous, Message: fmt.Sprintf(
			"%d Subscriptions to package %s exist: %s. To select one, set spec.package.catalog, or recreate the PlatformOperator with spec.namespace",
			len(in.Observed.Candidates), pkg, messages.List(in.Observed.Candidates, maxNamed, ", "))}
	}
	message := fmt.Sprintf("No Subscription to package %s found", pkg)
	if in.Observed.Namespace != "" {
		message += " in namespace " + in.Observed.Namespace
	}
	if len(in.Observed.Others) > 0 {
		message += fmt.Sprintf(". Those of another namespace or catalog are %s: to observe one of them, set spec.package.catalog to its catalog, "+
			"or recreate the PlatformOperator with its namespace in spec.namespace", messages.List(in.Observed.Others, maxNamed, ", "))
	}
	return &condition.Problem{Reason: v1alpha1.ReasonSubscriptionNotFound, Message: message}
}

// maxNamed is how many Subscriptions a message names.
const maxNamed = 5
