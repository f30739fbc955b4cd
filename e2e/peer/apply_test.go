package peer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// applying is the user agent and field manager of direct apply.
const applying = "direct-apply"

// direct applies manifests as kubectl does: those of one package in sequence, several packages in parallel.
type direct struct {
	*contender
	client client.Client

	// first is true to dry-run all manifests of a package before the first is applied, as an InstallPlan does.
	first bool
}

func newDirect(t testing.TB) *direct {
	t.Helper()
	c := onCluster(t, "direct apply")
	c.agents = []string{applying}
	config := rest.CopyConfig(c.cluster.Config)
	config.UserAgent = applying
	applier, err := client.New(config, client.Options{Scheme: c.cluster.Client.Scheme(), Mapper: c.cluster.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return &direct{contender: c, client: applier}
}

// prepare creates the namespaces of packages.
func (d *direct) prepare(t testing.TB, packages ...testcatalog.Package) {
	t.Helper()
	for _, p := range packages {
		d.cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(p)}})
	}
}

// apply applies manifests, waits until the objects are ready, and returns how long that took.
func (d *direct) apply(ctx context.Context, manifests []*unstructured.Unstructured) (time.Duration, error) {
	start := time.Now()
	if d.first {
		if err := d.dryRun(ctx, manifests); err != nil {
			return 0, err
		}
	}
	for _, o := range manifests {
		if err := d.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner(applying), client.ForceOwnership); err != nil {
			return 0, fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range manifests {
		if err := d.await(ctx, o); err != nil {
			return 0, fmt.Errorf("waiting for %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return time.Since(start), nil
}

// dryRun dry-runs manifests. Those that depend on others may fail.
func (d *direct) dryRun(ctx context.Context, manifests []*unstructured.Unstructured) error {
	for _, o := range manifests {
		err := d.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner(applying), client.ForceOwnership, client.DryRunAll)
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("dry-running %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// await waits until a CustomResourceDefinition is established or a Deployment is available. Other kinds need no wait.
func (d *direct) await(ctx context.Context, o *unstructured.Unstructured) error {
	var actual client.Object
	var runs func() bool
	switch o.GetKind() {
	case "CustomResourceDefinition":
		crd := &apiextensions.CustomResourceDefinition{}
		actual, runs = crd, func() bool { return established(crd) }
	case "Deployment":
		deployment := &appsv1.Deployment{}
		actual, runs = deployment, func() bool { return available(deployment) }
	default:
		return nil
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := d.cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), actual)
		return err == nil && runs(), err
	})
}

func established(crd *apiextensions.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue
	})
}

func available(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas >= *d.Spec.Replicas && d.Status.UpdatedReplicas >= *d.Spec.Replicas
}

// order is the order in which kinds are applied. Other kinds take the place of the empty entry, before Deployments.
var order = []string{
	"CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"", "Deployment", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
}

func rank(kind string) int {
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// manifests returns, by package, the objects of the operators as a user would apply them. They are read from a cluster
// where the packages are installed, without the objects that the installer and Kubernetes create for themselves.
func manifests(installed state, packages []testcatalog.Package) map[string][]*unstructured.Unstructured {
	owners := ownersOf(packages)
	out := map[string][]*unstructured.Unstructured{}
	for _, i := range sorted(installed) {
		o := installed[i]
		pkg := owners.packageOf(i, o)
		if pkg == "" || i.kind.Group == "operators.coreos.com" || i.name == "default" || i.name == "kube-root-ca.crt" || strings.HasPrefix(i.name, "olm.og.") {
			continue
		}
		out[pkg] = append(out[pkg], manifest(o))
	}
	for _, of := range out {
		slices.SortStableFunc(of, func(a, b *unstructured.Unstructured) int { return rank(a.GetKind()) - rank(b.GetKind()) })
	}
	return out
}

// manifest returns an object without the fields that the API server and controllers set.
func manifest(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	delete(out.Object, "status")
	delete(out.Object, "metadata")
	out.SetName(o.GetName())
	out.SetNamespace(o.GetNamespace())
	out.SetLabels(o.GetLabels())
	out.SetAnnotations(o.GetAnnotations())
	if o.GetKind() == "Service" {
		unstructured.RemoveNestedField(out.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(out.Object, "spec", "clusterIPs")
	}
	return out
}
