package peer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// rights holds the rights of service accounts: one line per verb and resource, by account and namespace.
type rights map[accountNamespace]map[string]bool

// accountNamespace is a service account and a namespace in which it has rights.
type accountNamespace struct {
	account types.NamespacedName
	in      string
}

// readRights queries the API server, as every service account, for its rights in three namespaces.
func (c *contender) readRights(t testing.TB, packages ...testcatalog.Package) rights {
	t.Helper()
	out := rights{}
	for _, p := range packages {
		accounts := &corev1.ServiceAccountList{}
		if err := c.cluster.Client.List(t.Context(), accounts, client.InNamespace(namespaceOf(p))); err != nil {
			t.Fatal(err)
		}
		for _, account := range accounts.Items {
			for _, namespace := range []string{account.Namespace, "kube-system", "default"} {
				out[accountNamespace{client.ObjectKeyFromObject(&account), namespace}] = c.rightsOf(t, account, namespace)
			}
		}
	}
	return out
}

func (c *contender) rightsOf(t testing.TB, account corev1.ServiceAccount, namespace string) map[string]bool {
	t.Helper()
	config := rest.CopyConfig(c.cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
	}
	asked, err := client.New(config, client.Options{Scheme: c.cluster.Client.Scheme(), Mapper: c.cluster.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := asked.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, rule := range review.Status.ResourceRules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{"*"}
		}
		each(func(parts ...string) { out[strings.Join(parts, " ")] = true }, rule.Verbs, rule.APIGroups, rule.Resources, names)
	}
	for _, rule := range review.Status.NonResourceRules {
		each(func(parts ...string) { out[strings.Join(parts, " ")] = true }, rule.Verbs, rule.NonResourceURLs)
	}
	return out
}

// each calls do with every combination of one element of each list.
func each(do func(...string), lists ...[]string) {
	if len(lists) == 0 {
		do()
		return
	}
	for _, first := range lists[0] {
		each(func(rest ...string) { do(append([]string{first}, rest...)...) }, lists[1:]...)
	}
}

// differ returns the rights that only one of the two has, except those of allowedRights.
func (r rights) differ(from rights) []string {
	var out []string
	for h := range union(r, from) {
		if allowedRights[h.account.String()] != "" {
			continue
		}
		for right := range union(r[h], from[h]) {
			if r[h][right] != from[h][right] {
				out = append(out, fmt.Sprintf("service account %s in %s: %s: ours %v, theirs %v", h.account, h.in, right, r[h][right], from[h][right]))
			}
		}
	}
	slices.Sort(out)
	return out
}

func union[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, b)
	return out
}
