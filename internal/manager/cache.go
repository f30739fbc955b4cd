package manager

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

func cacheOptions(namespace string) cache.Options {
	return cache.Options{DefaultTransform: strip, ByObject: managed(namespace)}
}

// managed limits the cache to parts of operators, for kinds of which a cluster has many other objects. namespace is the
// manager's.
func managed(namespace string) map[client.Object]cache.ByObject {
	out := map[client.Object]cache.ByObject{}
	parts := labels.SelectorFromSet(labels.Set{install.LabelManaged: "true"})
	for _, kind := range []client.Object{
		&appsv1.Deployment{}, &corev1.Service{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
	} {
		out[kind] = cache.ByObject{Label: parts}
	}
	out[&corev1.Secret{}] = cache.ByObject{Label: parts, Transform: stripSecrets(namespace)}
	return out
}

// stripSecrets returns a transform that removes the data of Secrets, except of the records in the manager's namespace
// and of serving certificates: any user with `create` on Secrets can label them as parts of operators.
func stripSecrets(namespace string) toolscache.TransformFunc {
	return func(o any) (any, error) {
		if secret, ok := o.(*corev1.Secret); ok && secret.Namespace != namespace {
			secret.Data = install.ServingData(secret)
		}
		return strip(o)
	}
}

// strip removes the fields of cached objects that no controller reads, which are most of the size of
// CustomResourceDefinitions, ClusterServiceVersions, InstallPlans and service accounts. It switches on the type of
// the object, since a cache must not be configured for a kind before it is installed. Since cached objects are
// incomplete, controllers must not write them back as a whole, but apply or patch.
func strip(o any) (any, error) {
	if object, ok := o.(client.Object); ok {
		object.SetManagedFields(nil)
		withoutLastApplied(object)
	}
	switch o := o.(type) {
	case *apiextensions.CustomResourceDefinition:
		return customresourcesgate.TransformStripCRDSchema(o)
	case *v1alpha1.ClusterServiceVersion:
		stripCSV(o)
	case *v1alpha1.Subscription:
		stripSubscription(o)
	case *olm.InstallPlan:
		stripPlan(o)
	case *olm.CatalogSource:
		o.Spec.Description, o.Spec.Icon = "", olm.Icon{}
	case *metav1.PartialObjectMetadata:
		o.Annotations = nil
	}
	return o, nil
}

// withoutLastApplied removes the annotation in which kubectl keeps a whole second copy of the object.
func withoutLastApplied(o client.Object) {
	if annotations := o.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(annotations)
	}
}

// stripCSV removes the fields that only users read. Of a copy that OLM made in another namespace it keeps only that
// it is a copy.
func stripCSV(csv *v1alpha1.ClusterServiceVersion) {
	if csv.IsCopied() {
		csv.Spec = olm.ClusterServiceVersionSpec{}
		csv.Status = v1alpha1.ClusterServiceVersionStatus{Reason: csv.Status.Reason}
		return
	}
	spec := &csv.Spec
	spec.Description, spec.Icon, spec.Links, spec.Maintainers, spec.Keywords, spec.RelatedImages = "", nil, nil, nil, nil, nil
	for _, descriptions := range [][]olm.CRDDescription{spec.CustomResourceDefinitions.Owned, spec.CustomResourceDefinitions.Required} {
		for i := range descriptions {
			d := descriptions[i]
			descriptions[i] = olm.CRDDescription{Name: d.Name, Version: d.Version, Kind: d.Kind}
		}
	}
}

// stripSubscription removes the content of spec.config, which is read from the API server where it is applied.
func stripSubscription(sub *v1alpha1.Subscription) {
	if sub.Spec != nil && sub.Spec.Config != nil {
		sub.Spec.Config = &olm.SubscriptionConfig{}
	}
}

// stripPlan removes the manifests, which are read from the API server when a plan runs.
func stripPlan(plan *olm.InstallPlan) {
	for _, step := range plan.Status.Plan {
		step.Resource.Manifest = ""
	}
}
