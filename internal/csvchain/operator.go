package csvchain

import (
	"cmp"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

// Version describes a ClusterServiceVersion. It keeps running while it is replaced.
func Version(csv *v1alpha1.ClusterServiceVersion) *operator.Version {
	out := &operator.Version{Ref: operator.Ref{Kind: v1alpha1.ClusterServiceVersionKind, Namespace: csv.Namespace, Name: csv.Name}}
	if phase := csv.Status.Phase; phase != olm.CSVPhaseSucceeded && phase != olm.CSVPhaseReplacing {
		out.Phase = cmp.Or(string(phase), "new")
	}
	return out
}

// Request describes a Subscription, which may be nil.
func Request(sub *v1alpha1.Subscription) *operator.Request {
	if sub == nil {
		return nil
	}
	return &operator.Request{
		Ref:      operator.Ref{Kind: v1alpha1.SubscriptionKind, Namespace: sub.Namespace, Name: sub.Name},
		Resource: "subscription.operators.coreos.com", Annotations: sub.Annotations,
	}
}
