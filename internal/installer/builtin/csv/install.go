package csv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// backOff returns the retry delay after a missing permission, an exceeded quota or a rejection by the API server.
// Changes of permissions enqueue the CSV; other fixes cause no event.
func (r *Reconciler) backOff(s *situation) time.Duration {
	return condition.BackOff(s.csv.Status.LastTransitionTime, r.Now())
}

// install applies the objects of the operator that differ, deletes those that it no longer has, and returns the health
// of its Deployments.
func (r *Reconciler) install(ctx context.Context, s *situation) (*Verdict, error) {
	rendered, certificates, err := r.render(ctx, s)
	if err != nil {
		return s.installErrorVerdict(err)
	}
	if err := r.inherit(ctx, s); err != nil {
		return nil, err
	}
	if s.grant() == nil || len(rendered.LeftOut) > 0 {
		if verdict, err := r.permissions(ctx, s, rendered.LeftOut); verdict != nil || err != nil {
			return verdict, err
		}
	}
	if verdict, err := r.ownObjects(ctx, s, rendered); verdict != nil || err != nil {
		return verdict, err
	}
	if verdict, err := r.replaceDeployments(ctx, s, rendered); verdict != nil || err != nil {
		return verdict, err
	}
	if err := r.remember(ctx, s, rendered); err != nil {
		return nil, err
	}
	if err := apply.InPhases(rendered.Objects, install.Object.Phase, func(object install.Object) error {
		if err := r.ensure(ctx, s, object); err != nil {
			return fmt.Errorf("applying the %s: %w", object.For, err)
		}
		return nil
	}); err != nil {
		return r.rejection(s, err)
	}
	for _, c := range rendered.Conversions {
		if err := r.convert(ctx, s, c); err != nil {
			return r.rejection(s, err)
		}
	}
	if err := r.prune(ctx, s, rendered); err != nil {
		return r.rejection(s, err)
	}
	if err := r.remember(ctx, s, rendered); err != nil {
		return nil, err
	}
	verdict, err := r.health(ctx, s, rendered)
	if err != nil {
		return nil, err
	}
	s.nameAbsent(verdict)
	verdict.certify(certificates, r.Now())
	return verdict, nil
}

// nameAbsent adds the target namespaces in which nothing can be granted to the message of a verdict.
func (s *situation) nameAbsent(v *Verdict) {
	if len(s.absent) > 0 {
		v.Message += fmt.Sprintf(". Target namespaces that do not exist or are being deleted: %s. Create them, or remove them from OperatorGroup %s",
			messages.List(s.absent, maxListed, ", "), s.group.Name)
	}
}

// certify adds the certificates of the operator to a verdict, which is due again when they have to be replaced.
func (v *Verdict) certify(certificates install.Certificates, now time.Time) {
	v.Certificates = certificates
	if at := certificates.RotateAt(); at != nil {
		v.Again = kube.Sooner(v.Again, max(time.Second, at.Sub(now)))
	}
}

// installer returns the client that applies the objects. It reads the OperatorGroup, which determines the identity,
// from the API server, and fails if the cached one is stale.
func (r *Reconciler) installer(ctx context.Context, s *situation) (client.Client, error) {
	live := &operatorsv1.OperatorGroup{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.group), live); err != nil {
		return nil, fmt.Errorf("getting OperatorGroup %s: %w", client.ObjectKeyFromObject(s.group), err)
	}
	if live.UID != s.group.UID || live.Generation != s.group.Generation {
		return nil, fmt.Errorf("OperatorGroup %s changed since it was read", client.ObjectKeyFromObject(s.group))
	}
	identity, err := r.identity(s)
	if err != nil || identity.IsManager() {
		return r.Client, err
	}
	return r.As(identity.Account())
}

func (r *Reconciler) render(ctx context.Context, s *situation) (out install.Rendered, certificates install.Certificates, err error) {
	in := install.Install{CSV: s.csv, Group: s.group, Targets: s.targets, Absent: s.absent, CRDs: map[string]types.UID{}}
	in.Grant = s.effectiveGrant(r.Trust)
	if in.Config, err = r.config(ctx, s); err != nil {
		return out, nil, err
	}
	for _, d := range s.csv.Spec.CustomResourceDefinitions.Owned {
		crd := &apiextensions.CustomResourceDefinition{}
		if err := r.Client.Get(ctx, types.NamespacedName{Name: d.Name}, crd); err != nil {
			return out, nil, client.IgnoreNotFound(err)
		}
		in.CRDs[d.Name] = crd.UID
	}
	if len(s.csv.Spec.WebhookDefinitions) > 0 {
		secrets := &corev1.SecretList{}
		if err := r.Client.List(ctx, secrets, client.InNamespace(s.csv.Namespace)); err != nil {
			return out, nil, fmt.Errorf("listing the certificates in namespace %s: %w", s.csv.Namespace, err)
		}
		if in.Certificates, err = install.Certify(s.csv, secrets.Items, r.Now()); err != nil {
			return out, nil, err
		}
	}
	out, err = install.Render(in)
	return out, in.Certificates, err
}

// config returns spec.config of the CSV's Subscription, or nil. It stays the same while several report the CSV as installed: the operator would
// be rolled out with each change of it.
func (r *Reconciler) config(ctx context.Context, s *situation) (*olm.SubscriptionConfig, error) {
	list := &v1alpha1.SubscriptionList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.csv.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", s.csv.Namespace, err)
	}
	sub := csvchain.SubscriptionOf(s.csv, list.Items)
	if sub == nil {
		return nil, nil
	}
	return operatorgroup.Config(ctx, r.Reader, sub)
}

// ensure applies an object unless it already has the desired state.
func (r *Reconciler) ensure(ctx context.Context, s *situation, o install.Object) error {
	desired := o.Object
	actual, err := r.actual(ctx, desired)
	if err != nil {
		return err
	}
	if actual != nil {
		if o.IfAbsent && len(install.Owners(actual)) == 0 {
			return nil
		}
		if account, ok := desired.(*corev1.ServiceAccount); ok {
			if err := r.mergeOwners(ctx, s, account, actual); err != nil {
				return err
			}
		}
	}
	applied, err := install.WithAppliedHash(desired)
	if err != nil {
		return err
	}
	if actual != nil {
		if is, err := same(desired, actual, applied.GetAnnotations()[install.AnnotationApplied]); is || err != nil {
			return err
		}
	}
	as, err := s.installer()
	if err != nil {
		return err
	}
	writer := apply.Writer{Client: as, Owner: FieldOwner}
	if actual == nil {
		return writer.Apply(ctx, applied)
	}
	return writer.Update(ctx, applied)
}

// mergeOwners adds the other operators of the namespace that run as a service account to its owners, so it is deleted with
// the last of them. An operator that is being replaced does not count.
func (r *Reconciler) mergeOwners(ctx context.Context, s *situation, account *corev1.ServiceAccount, actual client.Object) error {
	for _, owner := range actual.GetOwnerReferences() {
		if owner.UID == s.csv.UID {
			continue
		}
		other, err := r.cached(ctx, types.NamespacedName{Namespace: s.csv.Namespace, Name: owner.Name})
		if err != nil {
			return err
		}
		if other == nil || other.UID != owner.UID || !other.DeletionTimestamp.IsZero() {
			continue
		}
		if others, err := r.indexed(ctx, IndexReplaces, other.Name, client.InNamespace(other.Namespace)); err != nil {
			return err
		} else if successorOf(other.Name, slices.Values(others)) != nil {
			continue
		}
		account.OwnerReferences = append(account.OwnerReferences, owner)
		if actual.GetLabels()[install.LabelOwner] == other.Name {
			account.Labels[install.LabelOwner] = other.Name // a label can name only one owner
		}
	}
	return nil
}

// actual returns the live object from the cache, or nil. Service accounts are metadata only.
func (r *Reconciler) actual(ctx context.Context, desired client.Object) (client.Object, error) {
	var out client.Object
	if _, ok := desired.(*corev1.ServiceAccount); ok {
		account := &metav1.PartialObjectMetadata{}
		account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		out = account
	} else {
		out = desired.DeepCopyObject().(client.Object)
	}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(desired), out)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return out, err
}

// rejection returns the verdict on an object that the API server rejects or no identity may write; transient errors are
// returned.
func (r *Reconciler) rejection(s *situation, err error) (*Verdict, error) {
	var out *Verdict
	without, ok := errors.AsType[*untrustedError](err)
	switch {
	case ok:
		return fails(v1alpha1.PlanReasonServiceAccountRequired, without.message), nil
	case kube.Transient(err) && !kube.Denied(err):
		return nil, err
	default:
		out = fails(v1alpha1.CSVReasonComponentFailed, "Rejected by the API server: "+kube.ErrorMessage(err, maxQuoted))
	}
	out.Again = r.backOff(s)
	return out, r.Rights.Watch(r.controller, r.enqueueDenied)
}

// maxQuoted limits how much of an error a message quotes, in bytes.
const maxQuoted = 1024

// enqueueDenied enqueues the CSVs that wait for a permission.
func (r *Reconciler) enqueueDenied(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.list(ctx, func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Reason == v1alpha1.CSVReasonComponentFailed || csv.Status.Reason == v1alpha1.CSVReasonRequirementsNotMet
	})
}

// convert makes a CustomResourceDefinition use the operator's conversion webhook.
func (r *Reconciler) convert(ctx context.Context, s *situation, c install.Conversion) error {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := r.Client.Get(ctx, types.NamespacedName{Name: c.CRD}, crd); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.ApplyTo(crd.DeepCopy()); err != nil {
		return err
	}
	by := client.ObjectKeyFromObject(s.csv).String()
	if crd.Annotations[annotationConvertedBy] == by && contains(crd.Spec.Conversion, &c.Spec) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{annotationConvertedBy: by}},
		"spec":     map[string]any{"conversion": c.Spec},
	})
	if err != nil {
		return err
	}
	as, err := s.installer()
	if err != nil {
		return err
	}
	err = as.Patch(ctx, crd.DeepCopy(), client.RawPatch(types.MergePatchType, patch), FieldOwner)
	if err != nil {
		return fmt.Errorf("setting the conversion of CustomResourceDefinition %s: %w", c.CRD, err)
	}
	return nil
}

// health returns the verdict on the operator's Deployments. A Deployment that the cache still has from before the last
// apply counts as just applied.
func (r *Reconciler) health(ctx context.Context, s *situation, rendered install.Rendered) (*Verdict, error) {
	ran := s.csv.Status.Phase == olm.CSVPhaseSucceeded || s.csv.Status.Reason == v1alpha1.CSVReasonComponentUnhealthy
	var waits []string
	working := true // possibly by old pods during a rollout
	for _, o := range rendered.Objects {
		desired, ok := o.Object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		deployment := &appsv1.Deployment{}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(desired), deployment); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting Deployment %s: %w", client.ObjectKeyFromObject(desired), err)
		}
		applied, err := install.WithAppliedHash(desired)
		if err != nil {
			return nil, err
		}
		if deployment.Annotations[install.AnnotationApplied] != applied.GetAnnotations()[install.AnnotationApplied] {
			deployment = &appsv1.Deployment{} // the cached one is stale
		}
		available, stuck, why := rollout(deployment)
		if stuck || !available && takesLong(deployment, r.Now()) {
			if why, err = r.because(ctx, deployment, why); err != nil {
				return nil, err
			}
		}
		switch {
		case stuck:
			return fails(v1alpha1.CSVReasonInstallCheckFailed, fmt.Sprintf("Deployment %s makes no progress: %s", desired.Name, why)), nil
		case !available:
			waits = append(waits, fmt.Sprintf("Deployment %s is not available: %s", desired.Name, why))
			working = working && (deployment.Generation == 0 || deployment.Status.AvailableReplicas >= ptr.Deref(deployment.Spec.Replicas, 1))
		}
	}
	slices.Sort(waits)
	switch {
	case len(waits) == 0:
		return &Verdict{Phase: olm.CSVPhaseSucceeded, Reason: v1alpha1.CSVReasonInstallSuccessful, Message: "Every deployment is available"}, nil
	case ran && !working:
		return fails(v1alpha1.CSVReasonComponentUnhealthy, listed(waits)), nil
	}
	return &Verdict{Phase: olm.CSVPhaseInstalling, Reason: v1alpha1.CSVReasonInstallWaiting, Message: listed(waits), Again: max(slow, r.backOff(s))}, nil
}

// slow is how long a rollout may take before its pods are read. They are read again less and less often: no event reports their troubles.
const slow = 15 * time.Second

// takesLong reports whether a rollout has not progressed for a while.
func takesLong(d *appsv1.Deployment, now time.Time) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && now.Sub(c.LastUpdateTime.Time) >= slow
	})
}

// because returns why a Deployment is not available: a pod's trouble if it has any, or else why as given.
func (r *Reconciler) because(ctx context.Context, d *appsv1.Deployment, why string) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return why, nil // the API server admits none that is invalid
	}
	var pods installer.Cluster
	for _, list := range []installer.List{&appsv1.ReplicaSetList{}, &corev1.PodList{}} {
		if err := r.Reader.List(ctx, list, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.Limit(100)); err != nil {
			return "", fmt.Errorf("listing the pods of Deployment %s: %w", client.ObjectKeyFromObject(d), err)
		}
		if err := pods.Add(list, nil); err != nil {
			return "", err
		}
	}
	return cmp.Or(installer.PodTrouble(d, pods, r.Now()), why), nil
}

// rollout reports whether a Deployment has all its pods for its current spec. If not, it reports whether the rollout
// has failed, and why.
func rollout(d *appsv1.Deployment) (available, stuck bool, why string) {
	if d.Status.ObservedGeneration < d.Generation || d.Generation == 0 {
		return false, false, "it has just been applied"
	}
	if installer.IsSettled(d) {
		return true, false, ""
	}
	why = fmt.Sprintf("%d of %d pods are updated, %d are available", d.Status.UpdatedReplicas, ptr.Deref(d.Spec.Replicas, 1), d.Status.AvailableReplicas)
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			why = c.Message
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			return false, true, c.Message
		}
	}
	return false, false, why
}
