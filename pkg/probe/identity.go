package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Labels by which OLM marks the objects of a ClusterServiceVersion.
const (
	labelOwner     = "olm.owner"
	labelOwnerKind = "olm.owner.kind"
)

// maxOwners is the number of owners that are followed from a pod. A Deployment is the second.
const maxOwners = 5

// Labels and annotations by which OLM v1 and Helm mark the objects that they install.
const (
	labelExtensionKind  = "olm.operatorframework.io/owner-kind"
	labelExtensionName  = "olm.operatorframework.io/owner-name"
	annotationRelease   = "meta.helm.sh/release-name"
	annotationNamespace = "meta.helm.sh/release-namespace"
)

// identity is the operator, as far as its Probe tells.
type identity struct {
	// key is that of the Probe.
	key types.NamespacedName

	// operator is spec.operator of the Probe, and workload the workload that the operator runs in. Both are nil if the Probe is that of a
	// ClusterServiceVersion.
	operator *v1alpha1.ProbedOperator
	workload *unstructured.Unstructured
}

// Key returns the name and namespace of the operator's Probe. The package documentation lists their sources. The first call sends requests,
// unless an option gives the name. Errors wrap ErrUnknownOperator and the error of a failed request, and name the missing settings.
func (c *Client) Key(ctx context.Context) (types.NamespacedName, error) {
	out, err := c.identify(ctx)
	return out.key, err
}

func (c *Client) identify(ctx context.Context) (identity, error) {
	c.mu.Lock()
	known := c.identity
	c.mu.Unlock()
	if known.key.Name != "" {
		return known, nil
	}
	namespace, err := c.namespace()
	if err != nil {
		return identity{}, err
	}
	out := identity{key: types.NamespacedName{Namespace: namespace, Name: c.options.name}}
	if out.key.Name == "" {
		if out, err = c.ofEnvironment(ctx, namespace); err != nil {
			return identity{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = out
	return out, nil
}

func (c *Client) forgetIdentity() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = identity{}
}

func (c *Client) namespace() (string, error) {
	if found := cmp.Or(c.options.namespace, c.options.getenv("POD_NAMESPACE"), c.options.getenv("OPERATOR_NAMESPACE")); found != "" {
		return found, nil
	}
	content, err := os.ReadFile(c.options.namespaceFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: reading its namespace: %w", ErrUnknownOperator, err)
	}
	if found := strings.TrimSpace(string(content)); found != "" {
		return found, nil
	}
	return "", fmt.Errorf("%w: neither POD_NAMESPACE, OPERATOR_NAMESPACE nor %s contains its namespace", ErrUnknownOperator, c.options.namespaceFile)
}

// ofEnvironment returns the identity of the operator by the variable that names its OperatorCondition. That is named after the
// ClusterServiceVersion, but without one, the owners of the pod tell which operator it is.
func (c *Client) ofEnvironment(ctx context.Context, namespace string) (identity, error) {
	key := types.NamespacedName{Namespace: namespace, Name: c.options.getenv("OPERATOR_CONDITION_NAME")}
	if key.Name == "" {
		return c.ofPod(ctx, namespace)
	}
	unserved := false
	switch err := c.client.Get(ctx, key, newObject(v1alpha1.ClusterServiceVersionKind)); {
	case err == nil:
		return identity{key: key}, nil
	case meta.IsNoMatchError(err):
		unserved = true
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return identity{}, fmt.Errorf("%w: reading ClusterServiceVersion %s: %w", ErrUnknownOperator, key, err)
	}
	out, err := c.ofPod(ctx, namespace)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && !unserved {
		return identity{key: key}, nil // it does not run in a pod, or has the rights that a ClusterServiceVersion needs
	}
	return out, err
}

// ofPod returns the identity of the operator by the owners of its pod.
func (c *Client) ofPod(ctx context.Context, namespace string) (identity, error) {
	pod := cmp.Or(c.options.pod, c.options.getenv("POD_NAME"))
	if pod == "" {
		var err error
		if pod, err = os.Hostname(); err != nil {
			return identity{}, fmt.Errorf("%w: reading the name of its pod: %w", ErrUnknownOperator, err)
		}
	}
	kind, name := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, pod
	for range maxOwners {
		object := newObjectOf(kind)
		if err := c.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object); err != nil {
			return identity{}, fmt.Errorf("%w: OPERATOR_CONDITION_NAME names no ClusterServiceVersion, and reading %s %s/%s, an owner of pod %s, failed: %w",
				ErrUnknownOperator, kind.Kind, namespace, name, pod, err)
		}
		if csv := csvOf(object); csv != "" {
			return identity{key: types.NamespacedName{Namespace: namespace, Name: csv}}, nil
		}
		controller := metav1.GetControllerOf(object)
		if controller == nil {
			if out, ok := ofWorkload(object); ok {
				return out, nil
			}
			break
		}
		kind, name = schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind), controller.Name
	}
	return identity{}, fmt.Errorf("%w: OPERATOR_CONDITION_NAME names no ClusterServiceVersion, and pod %s/%s belongs to no ClusterServiceVersion, "+
		"Deployment, StatefulSet or DaemonSet", ErrUnknownOperator, namespace, pod)
}

// ofWorkload returns the identity of an operator without ClusterServiceVersion that runs in a workload, and false for another object.
// OLM v1 installs with Helm's code, and marks objects as Helm does.
func ofWorkload(object *unstructured.Unstructured) (identity, bool) {
	kind := object.GroupVersionKind()
	if kind.Group != "apps" || kind.Kind != "Deployment" && kind.Kind != "StatefulSet" && kind.Kind != "DaemonSet" {
		return identity{}, false
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	out := identity{workload: object, operator: &v1alpha1.ProbedOperator{Installer: "Workload", Name: object.GetName()}}
	out.key.Namespace = object.GetNamespace()
	if name := labels[labelExtensionName]; labels[labelExtensionKind] == "ClusterExtension" && name != "" {
		out.operator = &v1alpha1.ProbedOperator{Installer: "OLMv1", Name: name}
	} else if name := annotations[annotationRelease]; name != "" {
		out.operator = &v1alpha1.ProbedOperator{Installer: "Helm", Name: name}
		out.key.Namespace = cmp.Or(annotations[annotationNamespace], out.key.Namespace)
	}
	out.key.Name = "reported." + strings.ToLower(out.operator.Installer) + "." + out.operator.Name
	return out, true
}

// csvOf returns the name of the ClusterServiceVersion that an object belongs to directly, or "".
func csvOf(object metav1.Object) string {
	for _, o := range object.GetOwnerReferences() {
		if o.Kind == v1alpha1.ClusterServiceVersionKind && strings.HasPrefix(o.APIVersion, v1alpha1.GroupVersion.Group+"/") {
			return o.Name
		}
	}
	labels := object.GetLabels()
	if cmp.Or(labels[labelOwnerKind], v1alpha1.ClusterServiceVersionKind) != v1alpha1.ClusterServiceVersionKind {
		return ""
	}
	return labels[labelOwner]
}
