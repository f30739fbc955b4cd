package probe

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/isolation"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/status/condition"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
)

// Pods runs the readers of Probes with isolation Pod.
type Pods struct {
	// Image returns the image of the readers, which is that of the manager, or "" if unknown.
	Image func(context.Context) (string, error)

	// Namespace of the manager, whose service account creates them.
	Namespace string

	// Live bypasses the cache.
	Live client.Reader

	deployments cache.Cache
}

// maxQuoted limits how much of an error a message quotes, in bytes.
const maxQuoted = 512

// podRetry is how often a Probe is reconciled while its pod is not ready, besides the events of its Deployment.
const podRetry = 10 * time.Second

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get

// isolate keeps the pod of a Probe with isolation Pod running, and the part of the status that the pod does not write.
func (r *StatusReconciler) isolate(ctx context.Context, probe *v1alpha1.Probe) (reconcile.Result, error) {
	if err := r.watchPods(); err != nil {
		return reconcile.Result{}, fmt.Errorf("watching the Deployments of Probes: %w", err)
	}
	if !r.Pods.deployments.WaitForCacheSync(ctx) {
		return reconcile.Result{}, ctx.Err()
	}
	in, plan, err := r.prepare(ctx, probe)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the inputs of Probe %s: %w", client.ObjectKeyFromObject(probe), err)
	}
	if in.Outdated {
		return reconcile.Result{}, nil
	}
	if in.Pod, err = r.keepPod(ctx, in, plan); err != nil {
		return reconcile.Result{}, err
	}
	in.Resources = plan.resources(nil, nil)
	status := probestatus.ComputeManaged(in)
	if in.Pod.Account == "" || meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced) == nil {
		status = probestatus.Compute(in) // no pod reports
	}
	r.reportReadFailure(probe, status, in.Now.Time)
	result, err := r.write(ctx, probe, status, in.Now.Time)
	if in.Pod.Problem != nil {
		result.RequeueAfter = podRetry
	}
	return kube.Requeue(result, err)
}

// keepPod creates or updates the pod of a Probe, and returns how it is.
func (r *StatusReconciler) keepPod(ctx context.Context, in probestatus.Inputs, p plan) (*probestatus.Pod, error) {
	account := p.account()
	if account == "" {
		problem, err := r.deletePod(ctx, in.Probe)
		return &probestatus.Pod{Problem: cmp.Or(problem, p.noIdentity())}, err
	}
	out := &probestatus.Pod{Account: in.Probe.Namespace + "/" + account}
	image, err := r.Pods.Image(ctx)
	if err != nil {
		return nil, err
	}
	pod := isolation.Pod{Probe: in.Probe, Account: account, Image: image, Plan: podPlanOf(in, p).String()}
	switch {
	case len(pod.Plan) > isolation.MaxPlan:
		out.Problem = &condition.Problem{Reason: v1alpha1.ReasonPlanTooLarge, Message: fmt.Sprintf(
			"Resources, expressions and namespaces take %d bytes, of at most %d for a pod: name fewer, or set isolation to Shared", len(pod.Plan), isolation.MaxPlan)}
		return out, nil
	case image == "":
		out.Problem = &condition.Problem{Reason: v1alpha1.ReasonNoImage,
			Message: "The image of a manager outside a cluster is unknown: set --probe-reader-image"}
		return out, nil
	}
	live, err := r.Pods.deployment(ctx, in.Probe)
	if err != nil {
		return nil, err
	}
	if live != nil && isolation.ReaderOf(live) == pod.Identity() {
		return out, nil
	}
	if out.Problem, err = r.applyPod(ctx, pod); err != nil || out.Problem != nil {
		return out, err
	}
	out.Problem, err = r.Pods.problem(ctx, in.Probe, live)
	return out, err
}

// applyPod applies the objects of a pod. It returns a Problem if a user must act: the manager may not, or another owner
// has an object of that name.
func (r *StatusReconciler) applyPod(ctx context.Context, pod isolation.Pod) (*condition.Problem, error) {
	for _, o := range pod.Objects() {
		err := r.Client.Apply(ctx, o, client.FieldOwner(FieldOwner), client.ForceOwnership)
		switch {
		case apierrors.IsForbidden(err):
			return r.forbidden(ctx, "run a pod", pod.Probe, err)
		case apierrors.IsInvalid(err):
			return refused(err), nil
		case err != nil:
			return nil, fmt.Errorf("applying the pod of Probe %s: %w", client.ObjectKeyFromObject(pod.Probe), err)
		}
	}
	return nil, nil
}

// removePod deletes the pod of a Probe that no longer has isolation Pod. It returns a Pod if that stays.
func (r *StatusReconciler) removePod(ctx context.Context, probe *v1alpha1.Probe) (*probestatus.Pod, error) {
	if meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionPodReady) == nil {
		return nil, nil
	}
	problem, err := r.deletePod(ctx, probe)
	switch {
	case err != nil:
		return nil, err
	case problem != nil:
		return &probestatus.Pod{Problem: problem}, nil
	case isManaged(probe):
		return nil, nil // the status that is about to be computed has no such condition
	}
	out := probe.DeepCopy()
	meta.RemoveStatusCondition(&out.Status.Conditions, v1alpha1.ConditionPodReady)
	return nil, kube.UpdateStatus(ctx, r.Client, out, FieldOwner)
}

// deletePod deletes the objects of a Probe's pod that its controller reference names it as owner of. It returns a
// Problem if the manager may not.
func (r *StatusReconciler) deletePod(ctx context.Context, probe *v1alpha1.Probe) (*condition.Problem, error) {
	at := metav1.ObjectMeta{Namespace: probe.Namespace, Name: isolation.Name(probe)}
	live, err := r.Pods.live(ctx, probe)
	if err != nil || live == nil || !metav1.IsControlledBy(live, probe) {
		return nil, err
	}
	// The Deployment goes last: as long as it exists, the others are deleted again after an interruption.
	for _, o := range []client.Object{&rbacv1.RoleBinding{ObjectMeta: at}, &rbacv1.Role{ObjectMeta: at}, &appsv1.Deployment{ObjectMeta: at}} {
		err := r.Client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if apierrors.IsForbidden(err) {
			return r.forbidden(ctx, "delete the pod", probe, err)
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting the pod of Probe %s: %w", client.ObjectKeyFromObject(probe), err)
		}
	}
	log.FromContext(ctx).Info("Deleted pod of Probe")
	return nil, nil
}

// forbidden returns the Problem that the manager lacks the ClusterRole of isolation in the namespace of a Probe, with
// the command that grants it. If the manager has the ClusterRole, the Problem quotes the API server, which answers
// the same to a request that a quota or a policy denies.
func (r *StatusReconciler) forbidden(ctx context.Context, action string, probe *v1alpha1.Probe, err error) (*condition.Problem, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: probe.Namespace, Group: appsv1.GroupName, Resource: "deployments", Verb: "create"},
	}}
	if err := r.Client.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("checking the manager's permissions in namespace %s: %w", probe.Namespace, err)
	}
	if review.Status.Allowed {
		return refused(err), nil
	}
	return &condition.Problem{Reason: v1alpha1.ReasonForbidden, Message: fmt.Sprintf(
		"The manager may not %s for Probes in namespace %[2]s: %[3]s. To allow it: kubectl create rolebinding operator-status-isolation "+
			"--namespace=%[2]s --clusterrole=operator-status-isolation-role --serviceaccount=%[4]s:operator-status-controller-manager",
		action, probe.Namespace, kube.ErrorMessage(err, maxQuoted), r.Pods.Namespace)}, nil
}

// refused returns the Problem that the API server rejects the pod of a Probe.
func refused(err error) *condition.Problem {
	return &condition.Problem{Reason: v1alpha1.ReasonPodNotReady, Message: "The API server rejected the pod of the Probe: " + kube.ErrorMessage(err, maxQuoted)}
}

// account returns the name of the service account that reads all resources of the plan, or "".
func (p plan) account() string {
	for _, resource := range p {
		for _, reading := range resource.readings {
			return reading.target.Identity.Name
		}
	}
	return ""
}

// noIdentity returns why the plan has no readings.
func (p plan) noIdentity() *condition.Problem {
	for _, resource := range p {
		for i := range resource.Problems {
			if resource.Problems[i].Reason == v1alpha1.ReasonNoIdentity {
				return &resource.Problems[i]
			}
		}
	}
	return &condition.Problem{Reason: v1alpha1.ReasonPodNotReady, Message: "Nothing to read: no resource of the Probe exists"}
}

// watch starts the watch on the Deployments of readers, in a cache of its own: that of the manager has only the
// Deployments of operators.
func (p *Pods) watch(mgr ctrl.Manager, c controller.Controller) error {
	exists, err := labels.NewRequirement(isolation.Label, selection.Exists, nil)
	if err != nil {
		return err
	}
	p.deployments, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultLabelSelector: labels.NewSelector().Add(*exists),
	})
	if err != nil {
		return fmt.Errorf("creating the cache of Deployments: %w", err)
	}
	if err := mgr.Add(p.deployments); err != nil {
		return err
	}
	owner := handler.TypedEnqueueRequestForOwner[client.Object](mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.Probe{})
	return c.Watch(source.Kind[client.Object](p.deployments, &appsv1.Deployment{}, owner))
}

// deployment returns the Deployment of a Probe from the cache, or nil.
func (p *Pods) deployment(ctx context.Context, probe *v1alpha1.Probe) (*appsv1.Deployment, error) {
	return isolation.Deployment(ctx, p.deployments, probe)
}

// live returns the Deployment of a Probe from the API server, or nil.
func (p *Pods) live(ctx context.Context, probe *v1alpha1.Probe) (*appsv1.Deployment, error) {
	return isolation.Deployment(ctx, p.Live, probe)
}

// account returns the service account of a Probe's pod, or the zero value.
func (p *Pods) account(ctx context.Context, probe *v1alpha1.Probe) types.NamespacedName {
	if d, err := p.deployment(ctx, probe); err == nil && d != nil {
		return types.NamespacedName{Namespace: probe.Namespace, Name: d.Spec.Template.Spec.ServiceAccountName}
	}
	return types.NamespacedName{}
}

// problem returns why the pod of a Probe is not ready, from its Deployment and containers.
func (p *Pods) problem(ctx context.Context, probe *v1alpha1.Probe, d *appsv1.Deployment) (*condition.Problem, error) {
	out := &condition.Problem{Reason: v1alpha1.ReasonPodNotReady, Message: fmt.Sprintf("Waiting for the pod of Deployment %s to be ready", isolation.Name(probe))}
	if d == nil {
		return out, nil
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			out.Message += ": " + c.Message
			return out, nil
		}
	}
	pods := &corev1.PodList{}
	if err := p.Live.List(ctx, pods, client.InNamespace(probe.Namespace), client.MatchingLabels{isolation.Label: isolation.Name(probe)}); err != nil {
		return nil, fmt.Errorf("listing the pods of Deployment %s: %w", isolation.Name(probe), err)
	}
	for i := range pods.Items {
		if cause := podProblem(&pods.Items[i]); cause != "" {
			out.Message += ": " + cause
			break
		}
	}
	return out, nil
}

// podProblem returns why a pod does not run, or "" if unknown. The kubelet's report alternates while it retries, so
// the texts here are constant.
func podProblem(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if ended := s.LastTerminationState.Terminated; ended != nil && !s.Ready {
			return fmt.Sprintf("its container ended with exit code %d: %s", ended.ExitCode, messages.Clip(ended.Message, maxQuoted))
		}
		if w := s.State.Waiting; w != nil && strings.Contains(w.Reason, "Image") {
			return fmt.Sprintf("image %s cannot be pulled", s.Image)
		} else if w != nil && strings.HasSuffix(w.Reason, "Error") {
			return w.Reason + ": " + messages.Clip(w.Message, maxQuoted)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + messages.Clip(c.Message, maxQuoted)
		}
	}
	return ""
}
