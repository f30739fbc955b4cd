package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/archive"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// page is the maximum number of objects in a response. Fields that are not printed are dropped after each page, so the memory
// is that of one page and of the printed fields.
const page = 250

// scheme returns the scheme of kinds.
func scheme(kinds []installer.Kind) (*runtime.Scheme, error) {
	out := runtime.NewScheme()
	for _, k := range kinds {
		if err := k.AddToScheme(out); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return out, nil
}

// changed are the kinds that commands create or change, and do not read to describe operators.
var changed = []installer.Kind{
	{
		GroupVersionKind: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"),
		AddToScheme:      admissionregistrationv1.AddToScheme, ClusterScoped: true,
	},
	{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"), AddToScheme: corev1.AddToScheme, ClusterScoped: true},
}

// kinds returns all kinds that a command may read.
func (o *options) kinds() []installer.Kind {
	return append(slices.Concat(o.installers.Kinds(), o.installers.CheckKinds(), o.installers.TreeKinds(), installer.PodKinds()), appliedKind())
}

// read reads everything that describes the operators of a namespace, or of all if that is empty, and more kinds. It prints
// a warning for each kind that the user may not read.
func (o *options) read(ctx context.Context, namespace string, more ...installer.Kind) (installer.Cluster, error) {
	c, err := o.reader()
	if err != nil {
		return installer.Cluster{}, err
	}
	kinds := append(o.installers.Kinds(), more...)
	out, err := readAll(ctx, c, kinds, namespace)
	var rules []string
	for _, k := range kinds {
		switch {
		case !slices.Contains(out.Unread, k.Plural):
		case !k.Background:
			o.warnUnread(k.Plural)
		case k.DefinesOperators():
			rules = append(rules, k.Plural)
		}
	}
	if len(rules) > 0 {
		o.warnUnread(strings.Join(rules, ", ") + ", which identify the operators that OLM did not install")
	}
	return out, err
}

// describe returns the operators of a cluster, found with by. If a workload of theirs does not run as declared it also reads the objects
// that tell why, and adds them to the cluster.
func (o *options) describe(ctx context.Context, c *installer.Cluster, by func(installer.Cluster) []operator.Operator) ([]operator.Operator, error) {
	operators := by(*c)
	reader, err := o.reader()
	if err != nil {
		return nil, err
	}
	namespaces := o.installers.Unsettled(*c, operators)
	if len(namespaces) > mostNamespaces {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		more, err := readAll(ctx, reader, installer.PodKinds(), namespace)
		if err != nil {
			return nil, err
		}
		c.Objects, c.Unread = append(c.Objects, more.Objects...), append(c.Unread, more.Unread...)
	}
	slices.Sort(c.Unread)
	c.Unread = slices.Compact(c.Unread)
	out := o.installers.Explain(*c, operators, o.now())
	for _, op := range out {
		for _, kind := range op.Unread {
			o.warnUnread(kind)
		}
	}
	return out, nil
}

// mostNamespaces is the number of namespaces from which pods are read one by one. With more, one read of all costs less.
const mostNamespaces = 16

// isUnread reports whether the objects of a kind may not be read, or an archive lacks them.
func isUnread(err error) bool {
	return apierrors.IsForbidden(err) || errors.Is(err, archive.ErrMissing)
}

// warnUnread prints that the objects of a kind could not be read.
func (o *options) warnUnread(kind string) {
	if len(o.from) > 0 {
		o.warn("the archive lacks some or all " + kind)
	} else {
		o.warn("you may not list " + kind)
	}
}

// readAll reads the kinds concurrently. A kind that the user may not read is left out and noted, unless nothing can be shown
// without it, and one that is not installed is left out. One of which an archive has objects that cannot be read is noted, too.
func readAll(ctx context.Context, c lister, kinds []installer.Kind, namespace string) (installer.Cluster, error) {
	parts, errs := make([]installer.Cluster, len(kinds)), make([]error, len(kinds))
	var group sync.WaitGroup
	for i, k := range kinds {
		group.Go(func() { parts[i], errs[i] = readKind(ctx, c, k, namespace) })
	}
	group.Wait()
	out := installer.Cluster{Namespace: namespace}
	for i, err := range errs {
		k := kinds[i]
		switch {
		case err == nil:
			out.Objects = append(out.Objects, parts[i].Objects...)
			if a, ok := c.(*archive.Archive); ok && a.Incomplete(k.GroupVersionKind) {
				out.Unread = append(out.Unread, k.Plural)
			}
		case apierrors.IsNotFound(err): // it is not installed
		case apierrors.IsForbidden(err) && isKnown(c, k, false): // nor is it
		case isUnread(err) && (!k.Required || !apierrors.IsForbidden(err)):
			out.Unread = append(out.Unread, k.Plural)
			if isKnown(c, k, true) {
				out.Served = append(out.Served, k.GroupVersionKind)
			}
		default:
			return installer.Cluster{}, fmt.Errorf("listing %s: %w", k.Plural, err)
		}
	}
	slices.Sort(out.Unread)
	return out, nil
}

// isKnown reports whether the API server is known to serve a kind, or not to.
func isKnown(c lister, k installer.Kind, served bool) bool {
	d, ok := c.(discoverer)
	if !ok {
		return false
	}
	serves, known := d.serves(k.GroupVersionKind)
	return known && serves == served
}

// readKind reads the objects of one kind page by page.
func readKind(ctx context.Context, c lister, k installer.Kind, namespace string) (out installer.Cluster, err error) {
	for next, more := "", true; more; more = next != "" {
		list := k.List()
		opts := []client.ListOption{client.Limit(page), client.Continue(next)}
		if !k.ClusterScoped && !k.AllNamespaces {
			opts = append(opts, client.InNamespace(namespace))
		}
		if k.Selector != "" {
			opts = append(opts, selecting(k.Selector))
		}
		if err := c.List(ctx, list, opts...); err != nil {
			return out, err
		}
		if err := out.Add(list, k.Trim); err != nil {
			return out, err
		}
		next = list.GetContinue()
	}
	return out, nil
}

// selecting returns the option for a label selector, which is a constant.
func selecting(text string) client.ListOption {
	selector, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return client.MatchingLabelsSelector{Selector: selector}
}

// lister lists objects of a cluster, or of an archive.
type lister interface {
	List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error
}

// reader returns the source of the objects: the cluster, or the archives that the flag --from names.
func (o *options) reader() (lister, error) {
	if len(o.from) == 0 {
		return o.discovering()
	}
	if o.opened != nil {
		return o.opened, nil
	}
	s, err := scheme(o.kinds())
	if err != nil {
		return nil, err
	}
	if o.opened, err = archive.Open(o.from, s); err != nil {
		return nil, err
	}
	for _, skipped := range o.opened.Skipped {
		fmt.Fprintf(o.ErrOut, "Warning: %s\n", skipped)
	}
	return o.opened, nil
}

// discovering returns a client with the user's permissions that knows which kinds are served.
func (o *options) discovering() (lister, error) {
	c, err := o.client()
	if err != nil || o.flags == nil { // as in tests
		return c, err
	}
	if o.discovered == nil {
		config, err := o.config()
		if err != nil {
			return nil, err
		}
		asking, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			return nil, err
		}
		out := newDiscovering(c, asking)
		o.discovered = &out
	}
	return *o.discovered, nil
}

// now returns the time that ages count to: that of the last archive if any is read.
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
	if len(o.from) > 0 {
		return nil, errors.New("this command changes or watches a cluster and does not accept --from")
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	kinds := append(o.kinds(), changed...)
	s, err := scheme(kinds)
	if err != nil {
		return nil, err
	}
	o.connected, err = client.NewWithWatch(config, client.Options{Scheme: s, Mapper: mapper(kinds)})
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
	s, err := scheme(o.kinds())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(apiextensionsv1.AddToScheme(s), authenticationv1.AddToScheme(s), corev1.AddToScheme(s)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return client.New(config, client.Options{Scheme: s})
}

// mapper returns the kinds that are read, whether installed or not: to ask the API server for them first would take
// longer than to read them.
func mapper(kinds []installer.Kind) meta.RESTMapper {
	out := meta.NewDefaultRESTMapper(nil)
	for _, k := range kinds {
		if k.ClusterScoped {
			out.Add(k.GroupVersionKind, meta.RESTScopeRoot)
		} else {
			out.Add(k.GroupVersionKind, meta.RESTScopeNamespace)
		}
	}
	return out
}
