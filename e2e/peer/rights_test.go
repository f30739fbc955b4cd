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

	"github.com/operator-status/operator-status/internal/testcatalog"
)

// rights are what service accounts may do: by account and namespace, one verb on one resource a line.
type rights map[holder]map[string]bool

// holder is a service account, and the namespace where it may do something.
type holder struct {
	account types.NamespacedName
	in      string
}

// readRights asks the API server itself, in the name of every service account of every package: what it may do in its
// own namespace, in one of Kubernetes, and in one that is nobody's.
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
				out[holder{client.ObjectKeyFromObject(&account), namespace}] = c.rightsOf(t, account, namespace)
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

// each calls do with every way of taking one of each list.
func each(do func(...string), lists ...[]string) {
	if len(lists) == 0 {
		do()
		return
	}
	for _, first := range lists[0] {
		each(func(rest ...string) { do(append([]string{first}, rest...)...) }, lists[1:]...)
	}
}

// differ says which rights only one of two has.
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
