package manager

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// addHoldEvents emits Events about holds of Subscriptions, whether OLM or the built-in loops run them.
func addHoldEvents(ctx context.Context, mgr ctrl.Manager, installed *crdGate) {
	emitter := holdEvents{recorder: mgr.GetEventRecorder(UserAgent), leading: mgr.Elected()}
	installed.when(func() error {
		informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.Subscription{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("observing holds: %w", err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
			emitter.emit(before.(*v1alpha1.Subscription), after.(*v1alpha1.Subscription))
		}})
		return err
	}, v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind))
}

// holdEvents emits an Event when an update begins to be held, and one when it is released. They come from the statuses before and after,
// so that no loop has to emit them.
type holdEvents struct {
	recorder events.EventRecorder
	leading  <-chan struct{} // closed once this replica leads
}

func (h holdEvents) emit(before, after *v1alpha1.Subscription) {
	select {
	case <-h.leading:
	default:
		return
	}
	was, is := before.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld), after.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
	switch held := is.Status == corev1.ConditionTrue; {
	case held == (was.Status == corev1.ConditionTrue) || before.UID != after.UID:
	case held:
		h.recorder.Eventf(after, nil, corev1.EventTypeNormal, v1alpha1.EventUpgradeHeld, v1alpha1.EventActionHold, "%s", is.Message)
	default:
		h.recorder.Eventf(after, nil, corev1.EventTypeNormal, v1alpha1.EventUpgradeReleased, v1alpha1.EventActionRelease,
			"The update to %s is no longer held", before.Status.CurrentCSV)
	}
}
