package upgradehold

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/flux"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// Pauses before an installer is asked to try again: until the API server knows that the UpgradeHold is gone, and for the attempt itself,
// which a change of its object could disturb. The pause doubles up to mostBetweenAttempts: the installer may not be running.
const (
	afterRelease        = time.Second
	betweenAttempts     = 10 * time.Second
	mostBetweenAttempts = 10 * time.Minute
)

// attempt is the state of the last attempt of an installer to update an operator.
type attempt struct {
	// settled is true if the operator is not held, and its installer reports no denied update.
	settled bool

	// held is true if the operator was held when it was reconciled last. Otherwise next is when the installer may be asked again, and pause
	// is how long it was given for the last attempt.
	held  bool
	next  time.Time
	pause time.Duration
}

func (r *Reconciler) attempt(of holdv1alpha1.OperatorReference) (attempt, bool) {
	out, ok := r.attempts.Load(of)
	if !ok {
		return attempt{}, false
	}
	return out.(attempt), true
}

// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;patch
// +kubebuilder:rbac:groups=olm.operatorframework.io,resources=clusterextensions,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kustomize.toolkit.fluxcd.io,resources=kustomizations,verbs=get;patch

// retry has an installer that reports a denied update try again, once the operator is not held. Some wait for long after a failure.
func (r *Reconciler) retry(ctx context.Context, of holdv1alpha1.OperatorReference, how *installer.Retry) (reconcile.Result, error) {
	last, _ := r.attempt(of)
	if last.held {
		last = attempt{next: time.Now().Add(afterRelease)}
		r.attempts.Store(of, last)
	}
	if wait := time.Until(last.next); last.settled || wait > 0 {
		return reconcile.Result{RequeueAfter: max(wait, 0)}, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(how.Kind)
	if err := r.Live.Get(ctx, how.Object, object); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
			log.FromContext(ctx).Info("Cannot have the installer try again", "kind", how.Kind.Kind, "object", how.Object, "because", err.Error())
			r.attempts.Store(of, attempt{settled: true})
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("getting %s %s: %w", how.Kind.Kind, how.Object, err)
	}
	foreign := how.Kind != olmv1.Kind && !flux.AppliesIn(of.Namespace, object)
	suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend") // Flux tries again once it is resumed
	if foreign || suspended || !reportsDenied(object) {
		r.attempts.Store(of, attempt{settled: true})
		return reconcile.Result{}, nil
	}
	before := object.DeepCopy()
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	for _, key := range how.Annotations {
		annotations[key] = now
	}
	object.SetAnnotations(annotations)
	if err := r.Client.Patch(ctx, object, client.MergeFrom(before), client.FieldOwner(upgradehold.FieldOwner)); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("having %s %s try again: %w", how.Kind.Kind, how.Object, err)
	}
	log.FromContext(ctx).Info("Had the installer try again, since the operator may be updated", "kind", how.Kind.Kind, "object", how.Object)
	pause := min(max(betweenAttempts, 2*last.pause), mostBetweenAttempts)
	r.attempts.Store(of, attempt{next: time.Now().Add(pause), pause: pause})
	return reconcile.Result{RequeueAfter: pause}, nil
}

// reportsDenied reports whether a condition of an object is about an update that one of the policies denied.
func reportsDenied(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // none if malformed
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if message, _ := condition["message"].(string); installer.ReportsDenied(message) {
			return true
		}
	}
	return false
}
