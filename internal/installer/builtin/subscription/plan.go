package subscription

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
)

// planFor returns the InstallPlan that installs a solution for its Subscriptions. It requires manual approval if one of
// them is manual and not gated. A first install of automatic Subscriptions is approved at once, since no running
// operator could hold it; an update is approved by the InstallPlan controller once the running operator allows it.
func planFor(subs []*v1alpha1.Subscription, solution resolve.Solution) *olm.InstallPlan {
	out := &olm.InstallPlan{}
	approval := olm.ApprovalAutomatic
	for _, sub := range subs {
		if sub.IsManual() && !sub.IsGated() {
			approval = olm.ApprovalManual
		}
		out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.SubscriptionKind, Name: sub.Name, UID: sub.UID,
		})
	}
	sub := subs[0]
	first := true
	sum := sha256.New()
	fmt.Fprintln(sum, sub.UID, approval)
	for _, c := range solution.Choices {
		out.Spec.ClusterServiceVersionNames = append(out.Spec.ClusterServiceVersionNames, c.Bundle.Name)
		fmt.Fprintln(sum, c.Bundle.Name, c.Replaces)
		first = first && c.Replaces == ""
	}
	out.Namespace = sub.Namespace
	digest := hex.EncodeToString(sum.Sum(nil))
	out.Annotations = map[string]string{v1alpha1.AnnotationSolution: digest}
	out.Name = planName(digest)
	out.Spec.CatalogSource, out.Spec.CatalogSourceNamespace = sub.Spec.CatalogSource, sub.Spec.CatalogSourceNamespace
	out.Spec.Approval = approval
	out.Spec.Approved = first && approval == olm.ApprovalAutomatic
	return out
}

func planName(digest string) string { return "install-" + digest[:10] }

// planNameAfter returns the name of the InstallPlan that replaces a deleted one. As with OLM the name differs, so
// waiting for the deletion ends, for example with kubectl wait --for=delete.
func planNameAfter(digest string, deleted types.UID) string {
	sum := sha256.Sum256([]byte(digest + string(deleted)))
	return planName(hex.EncodeToString(sum[:]))
}
