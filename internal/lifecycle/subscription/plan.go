package subscription

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
)

// planFor is the InstallPlan that installs a solution, for the Subscriptions that it is for. A person has to approve it where one of
// them wants that. A first install is approved at once where the Subscription is
// automatic, since there is nobody to ask; an update is approved by its own loop, once the running operator allows it.
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

// planName returns the name of the InstallPlan for a solution.
func planName(digest string) string { return "install-" + digest[:10] }

// planNameAfter returns the name of the InstallPlan that replaces a deleted one. As with OLM it differs, so that waiting for the deletion,
// as kubectl wait --for=delete does, ends.
func planNameAfter(digest string, deleted types.UID) string {
	sum := sha256.Sum256([]byte(digest + string(deleted)))
	return planName(hex.EncodeToString(sum[:]))
}
