package platformoperator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// TestObserve verifies which Subscription an observing PlatformOperator reports on: another owner's may not take its place,
// or make it ambiguous.
func TestObserve(t *testing.T) {
	defaultCatalog := types.NamespacedName{Namespace: "global", Name: "operators"}
	sub := func(namespace, catalogNamespace, catalog string) operatorsv1alpha1.Subscription {
		return operatorsv1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo"},
			Spec:       &olm.SubscriptionSpec{Package: "foo", CatalogSourceNamespace: catalogNamespace, CatalogSource: catalog},
		}
	}
	real, tenants, other := sub("real", "global", "operators"), sub("tenant", "tenant", "mine"), sub("other", "global", "operators")
	specless := operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	named := func(catalog v1alpha1.CatalogReference) builder.Change {
		return func(op *v1alpha1.PlatformOperator) { op.Spec.Package.Catalog = &catalog }
	}
	in := func(namespace string) builder.Change {
		return func(op *v1alpha1.PlatformOperator) { op.Spec.Namespace = namespace }
	}
	has := func(namespace string) builder.Change {
		return func(op *v1alpha1.PlatformOperator) { op.Status.Namespace = namespace }
	}

	for name, tc := range map[string]struct {
		reason  string
		op      *v1alpha1.PlatformOperator
		subs    []operatorsv1alpha1.Subscription
		want    string // the Subscription
		problem string
	}{
		"None": {
			reason: "A package without a Subscription is reported.", op: builder.PlatformOperator(),
			problem: "SubscriptionNotFound: No Subscription to package foo found",
		},
		"Global": {
			reason: "The Subscription to a global catalog is observed, since only an admin can create that catalog.",
			op:     builder.PlatformOperator(), subs: []operatorsv1alpha1.Subscription{tenants, real}, want: "real/foo",
		},
		"OnlyTenants": {
			reason: "The Subscription to a tenant's catalog is not observed, since that can offer anything under the package name.",
			op:     builder.PlatformOperator(), subs: []operatorsv1alpha1.Subscription{tenants},
			problem: "SubscriptionNotFound: No Subscription to package foo found. Those of another namespace or catalog are tenant/foo: " +
				"to observe one of them, set spec.package.catalog to its catalog, or recreate the PlatformOperator with its namespace in spec.namespace",
		},
		"NamedCatalog": {
			reason: "The Subscription to a tenant's catalog is observed if the spec names the catalog.",
			op:     builder.PlatformOperator(named(v1alpha1.CatalogReference{Namespace: "tenant", Name: "mine"})),
			subs:   []operatorsv1alpha1.Subscription{tenants, real}, want: "tenant/foo",
		},
		"NamedCatalogAlone": {
			reason: "A catalog without a namespace is in the namespace of the default catalog.",
			op:     builder.PlatformOperator(named(v1alpha1.CatalogReference{Name: "operators"})),
			subs:   []operatorsv1alpha1.Subscription{real, sub("tenant", "tenant", "operators")}, want: "real/foo",
		},
		"NamedNamespace": {
			reason: "In the namespace of the spec a Subscription to any catalog is observed.",
			op:     builder.PlatformOperator(in("tenant")), subs: []operatorsv1alpha1.Subscription{tenants, real}, want: "tenant/foo",
		},
		"NamedBoth": {
			reason: "A Subscription in the namespace of the spec is not observed if the spec names another catalog.",
			op:     builder.PlatformOperator(in("tenant"), named(v1alpha1.CatalogReference{Name: "operators"})),
			subs:   []operatorsv1alpha1.Subscription{tenants},
			problem: "SubscriptionNotFound: No Subscription to package foo found in namespace tenant. Those of another namespace or catalog are tenant/foo: " +
				"to observe one of them, set spec.package.catalog to its catalog, or recreate the PlatformOperator with its namespace in spec.namespace",
		},
		"Two": {
			reason: "Several Subscriptions are ambiguous.",
			op:     builder.PlatformOperator(), subs: []operatorsv1alpha1.Subscription{real, other},
			problem: "SubscriptionAmbiguous: 2 Subscriptions to package foo exist: other/foo, real/foo. To select one, " +
				"set spec.package.catalog, or recreate the PlatformOperator with spec.namespace",
		},
		"Settled": {
			reason: "The observed Subscription is kept if another one is created.",
			op:     builder.PlatformOperator(has("real")), subs: []operatorsv1alpha1.Subscription{other, real}, want: "real/foo",
		},
		"SettledAndGone": {
			reason: "The observed Subscription is not replaced by another one after it was deleted.",
			op:     builder.PlatformOperator(has("real")), subs: []operatorsv1alpha1.Subscription{other},
			problem: "SubscriptionNotFound: No Subscription to package foo found in namespace real. Those of another namespace or catalog are other/foo: " +
				"to observe one of them, set spec.package.catalog to its catalog, or recreate the PlatformOperator with its namespace in spec.namespace",
		},
		"Specless": {
			reason: "A Subscription without a spec is ignored.",
			op:     builder.PlatformOperator(), subs: []operatorsv1alpha1.Subscription{specless, real}, want: "real/foo",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.op.Spec.ManagementPolicy = v1alpha1.ManagementObserve
			inputs := Inputs{Operator: tc.op}
			inputs.Observe(tc.subs, defaultCatalog)
			var got, problem string
			if inputs.Subscription != nil {
				got = client.ObjectKeyFromObject(inputs.Subscription).String()
			}
			if p := inputs.unobserved(); p != nil {
				problem = p.Reason + ": " + p.Message
			}
			if diff := cmp.Diff([]string{tc.want, tc.problem}, []string{got, problem}); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
