package tenant

import (
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestNamespaceOfOthers: a PlatformOperator installs nothing into the namespace of somebody who made it first, and then had the
// operator's accounts; nor into those of the cluster itself.
func TestNamespaceOfOthers(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	squatted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "squatted", Labels: map[string]string{"owner": "intruder"}}}
	cluster.Create(t, squatted)
	for name, tc := range map[string]struct {
		namespace, reason string
		words             []string
	}{
		"squatted": {"", platformv1alpha1.ReasonConflict, []string{"Namespace squatted", "kubectl annotate namespace squatted", "spec.namespace"}},
		"system":   {"kube-system", platformv1alpha1.ReasonNamespaceReserved, []string{"kube-system", "--reserved-namespaces"}},
		"manager":  {"operator-status-system", platformv1alpha1.ReasonNamespaceReserved, []string{"operator-status-system"}},
	} {
		t.Run(name, func(t *testing.T) {
			op := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
			op.Spec.Package.Name, op.Spec.Namespace = name, tc.namespace
			cluster.Create(t, op)
			t.Cleanup(func() { deletes(t, op) })
			cluster.Await(t, op, func() string {
				for _, c := range op.Status.Conditions {
					if c.Type == platformv1alpha1.ConditionSynced && c.Reason == tc.reason && contains(c.Message, tc.words...) {
						return ""
					}
				}
				return "it does not say that it installs nothing"
			})
			in := client.InNamespace(op.GetNamespaceToInstallIn())
			for _, list := range []client.ObjectList{&v1alpha1.SubscriptionList{}, &operatorsv1.OperatorGroupList{}} {
				if err := cluster.Client.List(t.Context(), list, in); err != nil {
					t.Fatal(err)
				}
				if found := meta.LenList(list); found > 0 {
					t.Errorf("%d in %T", found, list)
				}
			}
		})
	}
}

func contains(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
