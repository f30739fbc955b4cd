package kube

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Allowed asks the API server whether a service account may do something.
func Allowed(ctx context.Context, c client.Writer, account types.NamespacedName, action authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               serviceaccount.MakeUsername(account.Namespace, account.Name),
		Groups:             append(serviceaccount.MakeGroupNames(account.Namespace), user.AllAuthenticated),
		ResourceAttributes: &action,
	}}
	if err := c.Create(ctx, review); err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
