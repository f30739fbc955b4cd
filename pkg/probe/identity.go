package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Key returns the name and namespace of the operator's Probe, which are those of its ClusterServiceVersion. The package
// documentation lists their sources. Requests are sent only if neither an option nor the environment contains the name.
// Errors wrap ErrUnknownOperator and the error of a failed request, and name the missing settings.
func (c *Client) Key(ctx context.Context) (types.NamespacedName, error) {
	c.mu.Lock()
	key := c.key
	c.mu.Unlock()
	if key.Name != "" {
		return key, nil
	}
	var err error
	if key.Namespace, err = c.namespace(); err != nil {
		return types.NamespacedName{}, err
	}
	if key.Name = cmp.Or(c.options.name, c.options.getenv("OPERATOR_CONDITION_NAME")); key.Name == "" {
		if key.Name, err = c.owner(ctx, key.Namespace); err != nil {
			return types.NamespacedName{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
	return key, nil
}

func (c *Client) forgetKey() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = types.NamespacedName{}
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

// owner returns the name of the ClusterServiceVersion that the operator's pod belongs to.
func (c *Client) owner(ctx context.Context, namespace string) (string, error) {
	pod := cmp.Or(c.options.pod, c.options.getenv("POD_NAME"))
	if pod == "" {
		var err error
		if pod, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("%w: reading the name of its pod: %w", ErrUnknownOperator, err)
		}
	}
	kind, name := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, pod
	for range maxOwners {
		object := newObjectOf(kind)
		if err := c.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object); err != nil {
			return "", fmt.Errorf("%w: OPERATOR_CONDITION_NAME is not set, and reading %s %s/%s, an owner of pod %s, failed: %w",
				ErrUnknownOperator, kind.Kind, namespace, name, pod, err)
		}
		if csv := csvOf(object); csv != "" {
			return csv, nil
		}
		controller := metav1.GetControllerOf(object)
		if controller == nil {
			break
		}
		kind, name = schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind), controller.Name
	}
	return "", fmt.Errorf("%w: OPERATOR_CONDITION_NAME is not set, and pod %s/%s does not belong to a ClusterServiceVersion",
		ErrUnknownOperator, namespace, pod)
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
