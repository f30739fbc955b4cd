package probe

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// RecheckInterval is how long the answer that Probes are not served is kept before the API server is asked again.
const RecheckInterval = 10 * time.Second

// Discovery reports which resources an API server serves. The DiscoveryClient of client-go implements it. It must not
// cache.
type Discovery interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Client reads and writes the Probe of the operator that it runs in. It is safe for concurrent use.
type Client struct {
	client    client.Client
	discovery Discovery
	options   options

	mu      sync.Mutex
	served  bool
	checked time.Time // when the API server was last asked whether it serves Probes, or zero to ask again
	identity

	holding sync.Mutex        // orders the calls of Hold and Release
	held    map[Object]string // the objects that hold updates, with messages
}

// Option changes a default of New. In tests, options replace everything that is otherwise read from the environment of
// the process.
type Option func(*options)

type options struct {
	name, namespace, pod string
	getenv               func(string) string
	namespaceFile        string
	now                  func() time.Time
}

// WithName sets the name of the operator's ClusterServiceVersion.
func WithName(csv string) Option { return func(o *options) { o.name = csv } }

// WithNamespace sets the namespace of the operator's ClusterServiceVersion.
func WithNamespace(namespace string) Option { return func(o *options) { o.namespace = namespace } }

// WithPodName sets the name of the pod whose owners are followed. By default it is the environment variable POD_NAME, or
// else the host name.
func WithPodName(pod string) Option { return func(o *options) { o.pod = pod } }

// WithEnvironment replaces os.Getenv.
func WithEnvironment(getenv func(string) string) Option {
	return func(o *options) { o.getenv = getenv }
}

// WithNamespaceFile sets the path of the file with the namespace of the pod's service account.
func WithNamespaceFile(path string) Option { return func(o *options) { o.namespaceFile = path } }

// WithClock replaces time.Now for lastTransitionTime and RecheckInterval.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// New returns a Client that sends its requests with c. It sends none itself.
func New(c client.Client, d Discovery, opts ...Option) *Client {
	out := &Client{client: c, discovery: d, options: options{
		getenv:        os.Getenv,
		namespaceFile: "/var/run/secrets/kubernetes.io/serviceaccount/namespace",
		now:           time.Now,
	}}
	for _, o := range opts {
		o(&out.options)
	}
	return out
}

// Served reports whether the API server serves Probes. True is kept until a request fails because they are no longer
// served. False is kept for RecheckInterval.
func (c *Client) Served(ctx context.Context) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.served {
		return true, nil
	}
	if !c.checked.IsZero() && c.options.now().Sub(c.checked) < RecheckInterval {
		return false, nil
	}
	resources, err := c.discover(ctx, v1alpha1.GroupVersion.String())
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("finding out whether %s has Probes: %w", v1alpha1.GroupVersion, err)
	}
	c.checked = c.options.now()
	if err == nil {
		for _, r := range resources.APIResources {
			c.served = c.served || r.Kind == v1alpha1.ProbeKind && r.Name == "probes"
		}
	}
	return c.served, nil
}

// discover asks the API server which resources of a group and version it serves. Discovery clients of older releases of
// client-go take no context.
func (c *Client) discover(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	type withContext interface {
		ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	}
	if d, ok := c.discovery.(withContext); ok {
		return d.ServerResourcesForGroupVersionWithContext(ctx, groupVersion)
	}
	return c.discovery.ServerResourcesForGroupVersion(groupVersion)
}

// Get returns the operator's Probe as it is. It returns ErrNotServed, ErrUnknownOperator, or an error that satisfies
// apierrors.IsNotFound if the Probe does not exist yet.
func (c *Client) Get(ctx context.Context) (*v1alpha1.Probe, error) {
	own, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	probe, err := c.get(ctx, own.key)
	if err != nil {
		return nil, fmt.Errorf("reading Probe %s: %w", own.key, err)
	}
	return probe, nil
}

// Upgradeable returns the condition Upgradeable of the operator's Probe, or nil if the Probe or the condition does not
// exist.
func (c *Client) Upgradeable(ctx context.Context) (*metav1.Condition, error) {
	probe, err := c.Get(ctx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable), nil
}

// SetUpgradeable sets the condition Upgradeable of the operator's Probe, which it claims first: see Claim. False holds
// updates of the operator; True and Unknown do not. The reason is a word in CamelCase, and the message is shown to
// administrators as the cause of the hold. It should name the object, and explain how the hold ends.
//
// Nothing is written if the condition already is as it should be. The time of the last transition changes only with the
// status, and other conditions stay as they are. If the Probe changes at the same time, the write is repeated.
//
// In addition to the errors of Claim it returns ErrInvalidCondition.
func (c *Client) SetUpgradeable(ctx context.Context, status metav1.ConditionStatus, reason, message string) error {
	condition := metav1.Condition{Type: v1alpha1.ConditionUpgradeable, Status: status, Reason: reason, Message: message}
	if err := validate(condition); err != nil {
		return err
	}
	return c.Update(ctx, func(probe *v1alpha1.Probe) {
		condition.ObservedGeneration = probe.Generation
		condition.LastTransitionTime = metav1.NewTime(c.options.now())
		meta.SetStatusCondition(&probe.Status.Conditions, condition)
	})
}

// Update claims the operator's Probe, and writes its status as change leaves it, if it differs. Changes of anything else
// are ignored. change is called again if the Probe was changed at the same time. status.observedGeneration is set.
//
// It returns the errors of Claim.
func (c *Client) Update(ctx context.Context, change func(*v1alpha1.Probe)) error {
	own, err := c.ready(ctx)
	if err != nil {
		return err
	}
	err = retry.OnError(retry.DefaultRetry, isOutdated, func() error {
		actual, err := c.claim(ctx, own)
		if err != nil {
			return err
		}
		changed := actual.DeepCopy()
		change(changed)
		desired := actual.DeepCopy()
		desired.Status = changed.Status
		desired.Status.ObservedGeneration = actual.Generation
		if equality.Semantic.DeepEqual(actual.Status, desired.Status) {
			return nil
		}
		_, err = patch(actual, desired, func(o client.Object, p client.Patch) error { return c.client.Status().Patch(ctx, o, p) })
		return err
	})
	if err != nil {
		return fmt.Errorf("updating the status of Probe %s: %w", own.key, err)
	}
	return nil
}

var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// Lengths that the schema of metav1.Condition allows, in characters.
const (
	maxReason  = 1024
	maxMessage = 32768
)

// validate returns an error if the schema of metav1.Condition does not allow a condition.
func validate(condition metav1.Condition) error {
	switch condition.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
	default:
		return fmt.Errorf("%w %s: the status is %q, and must be True, False or Unknown", ErrInvalidCondition, condition.Type, condition.Status)
	}
	switch {
	case !reasonPattern.MatchString(condition.Reason):
		return fmt.Errorf("%w %s: the reason is %q, and must be one word in CamelCase, such as MigratingDatabase (it matches %s)",
			ErrInvalidCondition, condition.Type, condition.Reason, reasonPattern)
	case len(condition.Reason) > maxReason:
		return fmt.Errorf("%w %s: the reason has %d characters of at most %d", ErrInvalidCondition, condition.Type, len(condition.Reason), maxReason)
	case len([]rune(condition.Message)) > maxMessage:
		return fmt.Errorf("%w %s: the message has %d characters of at most %d", ErrInvalidCondition, condition.Type, len([]rune(condition.Message)), maxMessage)
	}
	return nil
}

// isOutdated reports whether a request failed because the Probe was created, changed or deleted since it was read.
func isOutdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// ready returns the identity of the operator, or ErrNotServed. Whether Probes are served is found out first, since an operator
// that was not installed by a ClusterServiceVersion usually runs where they are not.
func (c *Client) ready(ctx context.Context) (identity, error) {
	if served, err := c.Served(ctx); err != nil {
		return identity{}, err
	} else if !served {
		return identity{}, ErrNotServed
	}
	return c.identify(ctx)
}

// get returns a Probe. It returns ErrNotServed if Probes are no longer served.
func (c *Client) get(ctx context.Context, key types.NamespacedName) (*v1alpha1.Probe, error) {
	object := newObject(v1alpha1.ProbeKind)
	err := c.client.Get(ctx, key, object)
	if err == nil {
		return decode(object)
	}
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) { // the object or its kind
		c.forgetServed()
		if served, failure := c.Served(ctx); failure != nil {
			return nil, failure
		} else if !served {
			return nil, ErrNotServed
		}
	}
	return nil, err
}

func (c *Client) forgetServed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served, c.checked = false, time.Time{}
}

// patch sends the difference between two states of a Probe. It fails with a conflict if the Probe is no longer in the
// first one. Fields that this version of the package does not know are preserved.
func patch(actual, desired *v1alpha1.Probe, send func(client.Object, client.Patch) error) (*v1alpha1.Probe, error) {
	data, err := client.MergeFromWithOptions(actual, client.MergeFromWithOptimisticLock{}).Data(desired)
	if err != nil {
		return nil, err
	}
	object := newObject(v1alpha1.ProbeKind)
	object.SetNamespace(actual.Namespace)
	object.SetName(actual.Name)
	if err := send(object, client.RawPatch(types.MergePatchType, data)); err != nil {
		return nil, err
	}
	return decode(object)
}

// newObject returns an empty object of a kind in this project's group. Requests with it need no scheme and no cache.
func newObject(kind string) *unstructured.Unstructured {
	return newObjectOf(v1alpha1.GroupVersion.WithKind(kind))
}

func newObjectOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(kind)
	return out
}

func decode(object *unstructured.Unstructured) (*v1alpha1.Probe, error) {
	out := &v1alpha1.Probe{}
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out)
}
