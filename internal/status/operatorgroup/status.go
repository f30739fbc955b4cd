// Package operatorgroup computes the status of an OperatorGroup: the namespaces that its operators watch, and the service
// account that they are installed as.
package operatorgroup

import (
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Inputs holds everything that an OperatorGroup's status depends on, as read at one moment.
type Inputs struct {
	Group *operatorsv1.OperatorGroup

	// Targets are its target namespaces, sorted.
	Targets []string

	// Account is the UID of the service account that it names, or empty if that does not exist.
	Account types.UID

	Now metav1.Time
}

// Compute returns the status of an OperatorGroup. It is pure: it depends only on in, and changes nothing.
func Compute(in Inputs) operatorsv1.OperatorGroupStatus {
	in.Now = in.Now.Rfc3339Copy() // the precision of the API server
	out := in.Group.Status.DeepCopy()
	for _, concern := range []func(Inputs, *operatorsv1.OperatorGroupStatus){
		namespaces,
		serviceAccount,
		lastUpdated, // last: it depends on whether the others changed anything
	} {
		concern(in, out)
	}
	return *out
}

func namespaces(in Inputs, out *operatorsv1.OperatorGroupStatus) { out.Namespaces = in.Targets }

// serviceAccount sets the reference to the service account that the group names, or a condition if that does not exist,
// as OLM does. The reference has no resourceVersion, which would change with each token.
func serviceAccount(in Inputs, out *operatorsv1.OperatorGroupStatus) {
	out.ServiceAccountRef = nil
	name := in.Group.Spec.ServiceAccountName
	if name != "" && in.Account == "" {
		meta.SetStatusCondition(&out.Conditions, metav1.Condition{
			Type: operatorsv1.OperatorGroupServiceAccountCondition, Status: metav1.ConditionTrue,
			Reason: operatorsv1.OperatorGroupServiceAccountReason, Message: fmt.Sprintf("ServiceAccount %s not found", name),
			LastTransitionTime: in.Now,
		})
		return
	}
	meta.RemoveStatusCondition(&out.Conditions, operatorsv1.OperatorGroupServiceAccountCondition)
	if name != "" {
		out.ServiceAccountRef = &corev1.ObjectReference{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "ServiceAccount", Namespace: in.Group.Namespace, Name: name, UID: in.Account,
		}
	}
}

// lastUpdated sets the time of the last change. A group whose status has none has not been reconciled.
func lastUpdated(in Inputs, out *operatorsv1.OperatorGroupStatus) {
	if out.LastUpdated == nil || !equality.Semantic.DeepEqual(*out, in.Group.Status) {
		out.LastUpdated = &in.Now
	}
}
