package operatorgroup

import (
	"context"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// label sets the label of an OperatorGroup on exactly its target namespaces, as OLM does: webhooks and network policies
// select them by it. A group that targets all namespaces labels none.
func (r *Reconciler) label(ctx context.Context, group *operatorsv1.OperatorGroup, targets []string) error {
	key, _, err := group.OGLabelKeyAndValue()
	if err != nil {
		return fmt.Errorf("OperatorGroup %s: %w", client.ObjectKeyFromObject(group), err)
	}
	if slices.Contains(targets, metav1.NamespaceAll) {
		targets = nil
	}
	for _, name := range targets {
		n := metadataOf("Namespace")
		if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, n); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("getting namespace %s: %w", name, err)
		}
		if _, labelled := n.Labels[key]; labelled {
			continue
		}
		if err := r.relabel(ctx, n, func(labels map[string]string) { labels[key] = "" }); err != nil {
			return err
		}
	}
	labelled, err := r.namespaces(ctx, client.HasLabels{key})
	if err != nil {
		return err
	}
	for i := range labelled {
		if slices.Contains(targets, labelled[i].Name) {
			continue
		}
		if err := r.relabel(ctx, &labelled[i], func(labels map[string]string) { delete(labels, key) }); err != nil {
			return err
		}
	}
	return nil
}

// unlabel removes the labels of OperatorGroups that no longer exist from all namespaces.
func (r *Reconciler) unlabel(ctx context.Context) error {
	groups := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, groups); err != nil {
		return fmt.Errorf("listing the OperatorGroups: %w", err)
	}
	existing := map[string]bool{}
	for i := range groups.Items {
		if key, _, err := groups.Items[i].OGLabelKeyAndValue(); err == nil {
			existing[key] = true
		}
	}
	namespaces, err := r.namespaces(ctx)
	if err != nil {
		return err
	}
	for i := range namespaces {
		for label := range namespaces[i].Labels {
			if !operatorsv1.IsOperatorGroupLabel(label) || existing[label] {
				continue
			}
			if err := r.relabel(ctx, &namespaces[i], func(labels map[string]string) { delete(labels, label) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// namespaces lists namespaces. Callers must not modify them.
func (r *Reconciler) namespaces(ctx context.Context, options ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	out := &metav1.PartialObjectMetadataList{}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.Client.List(ctx, out, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing the namespaces: %w", err)
	}
	return out.Items, nil
}

func (r *Reconciler) relabel(ctx context.Context, namespace *metav1.PartialObjectMetadata, change func(map[string]string)) error {
	out := namespace.DeepCopy()
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	change(out.Labels)
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Patch(ctx, out, client.MergeFrom(namespace), FieldOwner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("labelling namespace %s: %w", namespace.Name, err)
	}
	return nil
}
