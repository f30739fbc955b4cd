package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/archive"
	"github.com/operator-status/operator-status/internal/inventory"
)

// page is the maximum number of objects in a response. Fields that are not printed are dropped after each page, so the memory
// is that of one page and of the printed fields.
const page = 250

// notCopied excludes the copies that OLM makes of a ClusterServiceVersion in every namespace.
const notCopied = "!olm.copiedFrom"

func scheme() (*runtime.Scheme, error) {
	out := runtime.NewScheme()
	out.AddKnownTypes(olm.SchemeGroupVersion, &olm.CatalogSource{}, &olm.CatalogSourceList{}, &olm.InstallPlan{}, &olm.InstallPlanList{})
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, configv1.Install, v1alpha1.AddToScheme, operatorsv2.AddToScheme,
		platformv1alpha1.AddToScheme} {
		if err := add(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// kind is a kind to read, and the function that keeps each page.
type kind struct {
	name     string // as messages and inventory.Cluster name it
	list     func() client.ObjectList
	selector string
	cluster  bool // whether it is cluster-scoped
	keep     func(client.ObjectList)
}

// read reads everything that describes the operators of a namespace, or of all if that is empty, and more kinds. It prints
// a warning for each kind that the user may not read.
func (o *options) read(ctx context.Context, namespace string, more ...kind) (inventory.Cluster, error) {
	var out inventory.Cluster
	c, err := o.reader()
	if err != nil {
		return out, err
	}
	unread, err := readAll(ctx, c, append(kindsIn(&out), more...), namespace)
	for _, kind := range unread {
		o.warnUnread(kind)
	}
	out.Unread = unread
	return out, err
}

// isUnread reports whether the objects of a kind may not be read, or an archive lacks them.
func isUnread(err error) bool {
	return apierrors.IsForbidden(err) || errors.Is(err, archive.ErrMissing)
}

// warnUnread prints that the objects of a kind could not be read.
func (o *options) warnUnread(kind string) {
	if o.from != "" {
		o.warn("the archive has no " + kind)
	} else {
		o.warn("you may not list " + kind)
	}
}

// kindsIn returns the kinds that describe operators. Their objects are added to out.
func kindsIn(out *inventory.Cluster) []kind {
	return []kind{
		{"Subscriptions", func() client.ObjectList { return &v1alpha1.SubscriptionList{} }, "", false, func(l client.ObjectList) {
			for _, sub := range l.(*v1alpha1.SubscriptionList).Items {
				sub.ManagedFields, sub.Status.CatalogHealth = nil, ownCatalog(&sub)
				out.Subscriptions = append(out.Subscriptions, sub)
			}
		}},
		{"ClusterServiceVersions", func() client.ObjectList { return &v1alpha1.ClusterServiceVersionList{} }, notCopied, false, func(l client.ObjectList) {
			for i := range l.(*v1alpha1.ClusterServiceVersionList).Items {
				out.ClusterServiceVersions = append(out.ClusterServiceVersions, trimmed(&l.(*v1alpha1.ClusterServiceVersionList).Items[i]))
			}
		}},
		{"InstallPlans", func() client.ObjectList { return &olm.InstallPlanList{} }, "", false, func(l client.ObjectList) {
			for _, plan := range l.(*olm.InstallPlanList).Items {
				plan.ManagedFields, plan.Status.Plan, plan.Status.BundleLookups = nil, nil, nil
				out.InstallPlans = append(out.InstallPlans, plan)
			}
		}},
		{"Probes", func() client.ObjectList { return &v1alpha1.ProbeList{} }, "", false, func(l client.ObjectList) {
			for _, probe := range l.(*v1alpha1.ProbeList).Items {
				probe.ManagedFields = nil
				out.Probes = append(out.Probes, probe)
			}
		}},
		{"OperatorConditions", func() client.ObjectList { return &operatorsv2.OperatorConditionList{} }, notCopied, false, func(l client.ObjectList) {
			for _, condition := range l.(*operatorsv2.OperatorConditionList).Items {
				condition.ManagedFields = nil
				out.OperatorConditions = append(out.OperatorConditions, condition)
			}
		}},
		{"CatalogSources", func() client.ObjectList { return &olm.CatalogSourceList{} }, "", true, func(l client.ObjectList) {
			out.CatalogSources = append(out.CatalogSources, l.(*olm.CatalogSourceList).Items...)
		}},
		{"PlatformOperators", func() client.ObjectList { return &platformv1alpha1.PlatformOperatorList{} }, "", true, func(l client.ObjectList) {
			out.PlatformOperators = append(out.PlatformOperators, l.(*platformv1alpha1.PlatformOperatorList).Items...)
		}},
	}
}

// versionsIn is the kind of the version of an OpenShift cluster.
func versionsIn(out *inventory.Cluster) kind {
	return kind{"ClusterVersions", func() client.ObjectList { return &configv1.ClusterVersionList{} }, "", true, func(l client.ObjectList) {
		out.ClusterVersions = l.(*configv1.ClusterVersionList).Items // a cluster has one
	}}
}

// ownCatalog returns the health of the CatalogSource that a Subscription names, as OLM reports it there.
func ownCatalog(sub *v1alpha1.Subscription) []olm.SubscriptionCatalogHealth {
	return slices.DeleteFunc(sub.Status.CatalogHealth, func(h olm.SubscriptionCatalogHealth) bool {
		return sub.Spec == nil || h.CatalogSourceRef == nil || h.CatalogSourceRef.Name != sub.Spec.CatalogSource ||
			h.CatalogSourceRef.Namespace != sub.Spec.CatalogSourceNamespace
	})
}

// readAll reads the kinds concurrently, and returns those that the user may not read. A kind that is not installed is
// left out, unless that is Subscriptions.
func readAll(ctx context.Context, c lister, kinds []kind, namespace string) (unread []string, err error) {
	errs := make([]error, len(kinds))
	var group sync.WaitGroup
	for i, k := range kinds {
		group.Go(func() { errs[i] = k.read(ctx, c, namespace) })
	}
	group.Wait()
	for i, err := range errs {
		switch {
		case err == nil, i > 0 && apierrors.IsNotFound(err):
		case apierrors.IsNotFound(err):
			return nil, errors.New("the cluster has no Subscriptions: neither OLM nor operator-status with its built-in loops is installed there")
		case i == 0 && apierrors.IsForbidden(err):
			return nil, fmt.Errorf("listing Subscriptions: %w", err) // nothing can be shown without them
		case isUnread(err):
			unread = append(unread, kinds[i].name)
		default:
			return nil, fmt.Errorf("listing %s: %w", kinds[i].name, err)
		}
	}
	slices.Sort(unread)
	return unread, nil
}

// read reads one kind page by page.
func (k kind) read(ctx context.Context, c lister, namespace string) error {
	next := ""
	for {
		list := k.list()
		opts := []client.ListOption{client.Limit(page), client.Continue(next)}
		if !k.cluster {
			opts = append(opts, client.InNamespace(namespace))
		}
		if k.selector != "" {
			opts = append(opts, selecting(k.selector))
		}
		if err := c.List(ctx, list, opts...); err != nil {
			return err
		}
		k.keep(list)
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

// selecting returns the option for a label selector, which is a constant.
func selecting(text string) client.ListOption {
	selector, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return client.MatchingLabelsSelector{Selector: selector}
}

// trimmed returns the parts of a ClusterServiceVersion that are printed.
func trimmed(csv *v1alpha1.ClusterServiceVersion) v1alpha1.ClusterServiceVersion {
	out := v1alpha1.ClusterServiceVersion{ObjectMeta: csv.ObjectMeta, Status: csv.Status}
	out.ManagedFields, out.Status.RequirementStatus = nil, nil
	out.Annotations = map[string]string{}
	for key, value := range csv.Annotations {
		if strings.HasPrefix(key, "operatorstatus.io/") || strings.HasPrefix(key, "operatorframework.io/") || strings.HasPrefix(key, "olm.") {
			out.Annotations[key] = value
		}
	}
	out.Spec.DisplayName, out.Spec.Version, out.Spec.Replaces = csv.Spec.DisplayName, csv.Spec.Version, csv.Spec.Replaces
	return out
}

// lister lists objects of a cluster, or of an archive.
type lister interface {
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// reader returns the source of the objects: the cluster, or the archive that the flag --from names.
func (o *options) reader() (lister, error) {
	if o.from == "" {
		return o.client()
	}
	if o.opened != nil {
		return o.opened, nil
	}
	s, err := scheme()
	if err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	if o.opened, err = archive.Open(o.from, s); err != nil {
		return nil, err
	}
	for _, skipped := range o.opened.Skipped {
		fmt.Fprintf(o.ErrOut, "Warning: %s\n", skipped)
	}
	return o.opened, nil
}

// now returns the time that ages count to: that of an archive if one is read.
func (o *options) now() time.Time {
	if o.opened != nil {
		return o.opened.Taken
	}
	return time.Now()
}

// userAgent identifies the program to the API server.
const userAgent = "kubectl-operator_status"

// client returns a client with the user's permissions, the same each time.
func (o *options) client() (client.WithWatch, error) {
	if o.connected != nil {
		return o.connected, nil
	}
	if o.from != "" {
		return nil, errors.New("this command changes or watches a cluster and does not accept --from")
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	s, err := scheme()
	if err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	o.connected, err = client.NewWithWatch(config, client.Options{Scheme: s, Mapper: mapper()})
	return o.connected, err
}

// config returns how to connect as the user.
func (o *options) config() (*rest.Config, error) {
	out, err := o.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	out.QPS, out.UserAgent = -1, userAgent
	return out, nil
}

// clientOfAnyKind is client for kinds that only the API server knows.
func (o *options) clientOfAnyKind() (client.Client, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	s, err := scheme()
	if err == nil {
		err = errors.Join(apiextensionsv1.AddToScheme(s), corev1.AddToScheme(s))
	}
	if err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return client.New(config, client.Options{Scheme: s})
}

// mapper returns the kinds that are read, whether installed or not: to ask the API server for them first would take
// longer than to read them.
func mapper() meta.RESTMapper {
	out := meta.NewDefaultRESTMapper(nil)
	for _, gvk := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind),
		v1alpha1.GroupVersion.WithKind(v1alpha1.ProbeKind), olm.SchemeGroupVersion.WithKind(olm.InstallPlanKind),
		olm.SchemeGroupVersion.WithKind(olm.CatalogSourceKind), operatorsv2.GroupVersion.WithKind("OperatorCondition"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
	} {
		out.Add(gvk, meta.RESTScopeNamespace)
	}
	out.Add(platformv1alpha1.GroupVersion.WithKind("PlatformOperator"), meta.RESTScopeRoot)
	out.Add(configv1.GroupVersion.WithKind("ClusterVersion"), meta.RESTScopeRoot)
	return out
}
