package platformoperator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
)

// +kubebuilder:rbac:groups="",resources=configmaps;persistentvolumeclaims;pods;replicationcontrollers;secrets,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=daemonsets;deployments;replicasets;statefulsets,verbs=list;watch
// +kubebuilder:rbac:groups=batch,resources=cronjobs;jobs,verbs=list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// data is users' data that the deletion of a PlatformOperator would delete, or leave without the operator.
type data struct {
	// found holds some objects of each kind and namespace, at most maxFound.
	found []found

	// unread names a kind that could not be listed, and why, or is empty.
	unread string

	// orphaned are the CSVs of the operator if its Subscription was deleted.
	orphaned []*operatorsv1alpha1.ClusterServiceVersion
}

// found is an object that belongs to a user, and a client that can read and watch it.
type found struct {
	*metav1.PartialObjectMetadata
	as client.WithWatch
}

// maxFound is how many objects of a kind are collected in a namespace. One is enough to block the deletion.
const maxFound = 20

// blockingKinds holds the kinds whose objects block the deletion of the namespace that they are in.
var blockingKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	corev1.SchemeGroupVersion.WithKind("ReplicationController"),
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
}

// usersData finds users' data: custom resources of the operator in its target namespaces, and the contents of a
// namespace that would be deleted with the PlatformOperator.
func (c composer) usersData(ctx context.Context) (data, error) {
	var out data
	for _, r := range c.op.Status.Resources {
		var err error
		switch r.Name {
		case platformoperatorstatus.EntrySubscription:
			err = c.customResources(ctx, r.Reference, &out)
		case platformoperatorstatus.EntryNamespace:
			err = c.contents(ctx, r.Reference, &out)
		}
		if err != nil {
			return data{}, err
		}
	}
	return out, nil
}

// contents adds the users' objects in the PlatformOperator's namespace.
func (c composer) contents(ctx context.Context, ref corev1.ObjectReference, out *data) error {
	if live, err := c.own(ctx, c.itself(), ref); err != nil {
		return fmt.Errorf("getting Namespace %s: %w", ref.Name, err)
	} else if live == nil {
		return nil // it is not deleted
	}
	for _, kind := range blockingKinds {
		if err := c.collect(ctx, kind, ref.Name, nil, out, isUsers); err != nil {
			return err
		}
	}
	return c.collect(ctx, operatorsv1alpha1.GroupVersion.WithKind(operatorsv1alpha1.SubscriptionKind), ref.Name, nil, out, isOfPlatformOperator)
}

// isOfPlatformOperator reports whether a PlatformOperator controls an object.
func isOfPlatformOperator(o *metav1.PartialObjectMetadata) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.Kind == v1alpha1.PlatformOperatorKind && strings.HasPrefix(owner.APIVersion, v1alpha1.GroupVersion.Group+"/")
}

// customResources adds the custom resources of kinds that the Subscription's operator owns, in its target namespaces;
// in all namespaces if the OperatorGroup has a problem.
func (c composer) customResources(ctx context.Context, ref corev1.ObjectReference, out *data) error {
	csvs, orphaned, err := c.operator(ctx, ref)
	if err != nil || len(csvs) == 0 {
		return err
	}
	if orphaned {
		out.orphaned = csvs
	}
	targets := []string{metav1.NamespaceAll}
	if group, problem, err := operatorgroup.Find(ctx, c.Client, ref.Namespace); err != nil {
		return err
	} else if problem == nil {
		if targets, err = operatorgroup.Targets(ctx, c.Client, group); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, csv := range csvs {
		kinds, err := operand.Kinds(ctx, c.Client, csv)
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			if seen[kind.CRD] {
				continue
			}
			seen[kind.CRD] = true
			for _, namespace := range kind.Where(targets) {
				if err := c.collect(ctx, kind.GroupVersionKind, namespace, csv, out, func(*metav1.PartialObjectMetadata) bool { return true }); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// operator returns the CSVs that the Subscription of a reference installed, if the PlatformOperator controls it. They outlive
// the Subscription: orphaned is true if that was deleted.
func (c composer) operator(ctx context.Context, ref corev1.ObjectReference) (csvs []*operatorsv1alpha1.ClusterServiceVersion, orphaned bool, err error) {
	sub := &operatorsv1alpha1.Subscription{}
	err = c.Reader.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, sub)
	switch {
	case apierrors.IsNotFound(err):
		csvs, err = c.recordedCSVs(ctx, ref.Namespace)
		return csvs, true, err
	case meta.IsNoMatchError(err), err == nil && !platformoperatorstatus.Controls(c.op, sub):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("getting Subscription %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	for _, name := range slices.Compact([]string{sub.Status.InstalledCSV, sub.Status.CurrentCSV}) {
		if csv, err := c.csv(ctx, sub.Namespace, name); err != nil {
			return nil, false, err
		} else if csv != nil {
			csvs = append(csvs, csv)
		}
	}
	return csvs, false, nil
}

// recordedCSVs returns the CSVs in the status, and those that replace them.
func (c composer) recordedCSVs(ctx context.Context, namespace string) ([]*operatorsv1alpha1.ClusterServiceVersion, error) {
	all, err := operatorgroup.CSVs(ctx, c.Reader, namespace)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) { // the kind is not served
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var recorded []string
	for _, ref := range c.op.Status.RelatedObjects {
		if ref.APIVersion == operatorsv1alpha1.GroupVersion.String() && ref.Kind == operatorsv1alpha1.ClusterServiceVersionKind && ref.Namespace == namespace {
			recorded = append(recorded, ref.Name)
		}
	}
	return csvchain.From(all, recorded), nil
}

// unclaimed returns the CSVs that no Subscription of their namespace has, or will have as one to the same package.
func (c composer) unclaimed(ctx context.Context, namespace string,
	csvs []*operatorsv1alpha1.ClusterServiceVersion) ([]*operatorsv1alpha1.ClusterServiceVersion, error) {
	subs := &operatorsv1alpha1.SubscriptionList{}
	if err := c.Reader.List(ctx, subs, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", namespace, err)
	}
	return slices.DeleteFunc(csvs, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return slices.ContainsFunc(subs.Items, func(sub operatorsv1alpha1.Subscription) bool {
			return sub.Status.InstalledCSV == csv.Name || sub.Status.CurrentCSV == csv.Name || sub.Spec != nil && sub.Spec.Package == c.op.Spec.Package.Name
		})
	}), nil
}

// withReplaced returns CSVs and all that they replace, directly or not, and that still exist: the oldest first.
func (c composer) withReplaced(ctx context.Context, csvs []*operatorsv1alpha1.ClusterServiceVersion) ([]*operatorsv1alpha1.ClusterServiceVersion, error) {
	var out []*operatorsv1alpha1.ClusterServiceVersion
	seen := map[string]bool{}
	for _, csv := range csvs {
		var line []*operatorsv1alpha1.ClusterServiceVersion
		for csv != nil && !seen[csv.Name] {
			seen[csv.Name] = true
			line = append(line, csv)
			var err error
			if csv, err = c.csv(ctx, csv.Namespace, csv.Spec.Replaces); err != nil {
				return nil, err
			}
		}
		slices.Reverse(line)
		out = append(out, line...)
	}
	return out, nil
}

// csv returns a CSV that was installed in a namespace, or nil.
func (c composer) csv(ctx context.Context, namespace, name string) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	if name == "" {
		return nil, nil
	}
	out := &operatorsv1alpha1.ClusterServiceVersion{}
	err := c.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, out)
	switch {
	case apierrors.IsNotFound(err), err == nil && out.IsCopied():
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting ClusterServiceVersion %s/%s: %w", namespace, name, err)
	}
	return out, nil
}

// collect adds the objects of a kind that count, except those that the PlatformOperator controls. If the manager cannot
// list them, look lists as the service accounts of the CSV, which may list the operator's own kinds.
func (c composer) collect(ctx context.Context, kind schema.GroupVersionKind, namespace string, csv *operatorsv1alpha1.ClusterServiceVersion, out *data,
	counts func(*metav1.PartialObjectMetadata) bool) error {
	readers := []client.WithWatch{c.Live}
	if csv != nil {
		for _, name := range csv.ServiceAccounts() {
			if as, err := c.As(types.NamespacedName{Namespace: csv.Namespace, Name: name}); err == nil {
				readers = append(readers, as)
			}
		}
	}
	var refused error
	for _, as := range readers {
		err := c.pages(ctx, as, kind, namespace, out, counts)
		switch {
		case err == nil, apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		refused = err
	}
	out.unread = fmt.Sprintf("%s cannot be listed: %s", kind.GroupKind(), kube.ErrorMessage(refused, maxQuoted))
	return nil
}

// pages lists page by page until a page contains an object that counts.
func (c composer) pages(ctx context.Context, as client.WithWatch, kind schema.GroupVersionKind, namespace string, out *data,
	counts func(*metav1.PartialObjectMetadata) bool) error {
	const page = 500
	for next := ""; ; {
		list := &metav1.PartialObjectMetadataList{} // an object that is decoded over another keeps labels and owners of it
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := as.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(next)); err != nil {
			return err
		}
		n := 0
		for i := range list.Items {
			o := &list.Items[i]
			if n < maxFound && !platformoperatorstatus.Controls(c.op, o) && counts(o) {
				o.SetGroupVersionKind(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
				out.found = append(out.found, found{o, as})
				n++
			}
		}
		if next = list.Continue; n > 0 || next == "" {
			return nil
		}
	}
}

// isUsers reports whether an object was created by a user rather than by the operator's installation or the cluster. An
// object with an owner is deleted with that owner, and does not count.
func isUsers(o *metav1.PartialObjectMetadata) bool {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	switch {
	case len(o.GetOwnerReferences()) > 0,
		labels["olm.managed"] == "true", labels["olm.owner"] != "", annotations["operatorstatus.io/bundled-by"] != "",
		annotations[corev1.ServiceAccountNameKey] != "",                                // a token
		annotations["openshift.io/internal-registry-auth-token.service-account"] != "", // a pull secret
		annotations["control-plane.alpha.kubernetes.io/leader"] != "":                  // a leader election lock
		return false
	}
	return o.Kind != "ConfigMap" || !slices.Contains(defaultConfigMaps, o.GetName())
}

// defaultConfigMaps holds the names of ConfigMaps that clusters create in every namespace.
var defaultConfigMaps = []string{"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"}

// none reports whether nothing blocks the deletion.
func (d data) none() bool { return len(d.found) == 0 && d.unread == "" }

// message returns the blockers of the deletion, and how to override them.
func (d data) message(op *v1alpha1.PlatformOperator) string {
	var kinds []string
	byKind := map[string][]string{}
	for _, o := range d.found {
		kind := o.GroupVersionKind().GroupKind().String()
		if byKind[kind] == nil {
			kinds = append(kinds, kind)
		}
		byKind[kind] = append(byKind[kind], strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
	}
	var parts []string
	for _, kind := range kinds {
		if kind == "Secret" { // more users may read PlatformOperators than list Secrets
			parts = append(parts, fmt.Sprintf("Secrets of namespace %s", op.GetNamespaceToInstallIn()))
			continue
		}
		parts = append(parts, kind+" "+named(byKind[kind]))
	}
	if d.unread != "" {
		parts = append(parts, d.unread)
	}
	return fmt.Sprintf("Waiting for users to delete objects that would be deleted with the operator, or left without it: %s. "+
		"To uninstall the operator anyway: kubectl annotate platformoperator.platform.openshift.io %s %s=true", strings.Join(parts, "; "), op.Name, v1alpha1.AnnotationDeleteAnyway)
}

// named joins the first few names, sorted.
func named(names []string) string {
	const most = 5
	names = slices.Sorted(slices.Values(names))
	if len(names) >= maxFound { // more may exist than were collected
		return strings.Join(names[:most], ", ") + ", and more"
	}
	return messages.List(names, most, ", ")
}
