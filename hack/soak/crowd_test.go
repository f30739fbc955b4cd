package soak

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var crowds = flag.Bool("crowd", false, "Measure the memory for many and for large objects of a tenant.")

// settles limits how long the manager may work on a crowd, and the API server on deleting it.
const settles = 10 * time.Minute

// TestCrowd verifies that the manager stays below its memory limit with 10,000 small or 100 large objects of each kind
// that it reads and a tenant may create.
func TestCrowd(t *testing.T) {
	if !*crowds {
		t.Skip("`make soak` runs it")
	}
	t.Setenv("MEMORY_LIMIT", strconv.Itoa(memoryLimit))
	// With policies, the manager also watches the workloads and roles of the cluster, and each Subscription gets an UpgradeHold.
	hold := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "crowd"}}
	hold.Spec.Match = &holdv1alpha1.OperatorMatch{Installers: []holdv1alpha1.Installer{"OLM", "OLMv1", "Helm", "Workload"}}
	cluster.Create(t, hold)
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "crowd"}}
	policy.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: "probes.operators.coreos.com", Upgradeable: "Synced"}}
	cluster.Create(t, policy)
	const small, many, large, few = 100, 10_000, 1_000_000, 100
	t.Run("None", func(t *testing.T) { crowd{}.measure(t, 0, 0) })
	for _, c := range []crowd{
		{"v1", "Secret", "metadata: {labels: {olm.managed: 'true'}}\nstringData: {text: '$TEXT'}"},
		{"v1", "ConfigMap", "metadata: {labels: {olm.managed: 'true'}}\ndata: {text: '$TEXT'}"},
		{"v1", "Service", "metadata: {labels: {olm.managed: 'true'}, annotations: {text: '$NOTE'}}\nspec: {clusterIP: None}"},
		{"v1", "ServiceAccount", "metadata: {annotations: {text: '$NOTE'}}"},
		{"apps/v1", "Deployment", "metadata: {labels: {olm.managed: 'true'}}\n" +
			"spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a, args: ['$TEXT']}]}}}"},
		{"rbac.authorization.k8s.io/v1", "Role", "metadata: {labels: {olm.managed: 'true'}}\nrules: [{apiGroups: [''], resources: [pods/status], verbs: [patch], resourceNames: ['$TEXT']}]"},
		{"rbac.authorization.k8s.io/v1", "RoleBinding", "metadata: {labels: {olm.managed: 'true'}, annotations: {text: '$NOTE'}}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}\nsubjects: [{kind: ServiceAccount, name: default}]"},
		{coreos, "Subscription", "spec: {name: none, source: none, sourceNamespace: $NAMESPACE, config: {env: [{name: a, value: '$TEXT'}]}}"},
		{coreos, "InstallPlan", "spec: {approval: Manual, approved: false, clusterServiceVersionNames: ['$TEXT']}"},
		{coreos, "ClusterServiceVersion", "metadata: {annotations: {text: '$NOTE'}}\n" +
			"spec: {displayName: x, version: 1.0.0, installModes: [{type: OwnNamespace, supported: true}], install: {strategy: deployment, spec: {deployments: " +
			"[{name: a, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a, args: ['$TEXT']}]}}}}]}}}"},
		{coreos, "CatalogSource", "spec: {sourceType: internal, configMap: none, description: '$TEXT'}"},
		{coreos, "Probe", "metadata: {annotations: {text: '$NOTE'}}\nspec: {serviceAccountName: none, probeResources: [{name: configmaps, upgradeable: A}]}"},
		{"operators.coreos.com/v1", "OperatorGroup", "spec: {targetNamespaces: [$NAMESPACE], serviceAccountName: none}\nmetadata: {annotations: {text: '$NOTE'}}"},
		{"operators.coreos.com/v2", "OperatorCondition", "spec: {deployments: ['$TEXT']}"},
		{"platform.openshift.io/v1alpha1", "PlatformOperator", "spec: {package: {name: none}, managementPolicy: Observe, resources: [{name: a, manifest: " +
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {text: '$TEXT'}}}]}"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Run("Small", func(t *testing.T) { c.measure(t, many, small) })
			t.Run("Large", func(t *testing.T) { c.measure(t, few, large) })
		})
	}
}

// crowd is a kind of object that a tenant creates many of.
type crowd struct{ apiVersion, kind, rest string }

// measure creates a number of objects of about a size, in bytes, and then starts the manager.
func (c crowd) measure(t *testing.T, count, size int) {
	t.Helper()
	namespace := cluster.Namespace(t, "crowd")
	accepted := 0
	if count > 0 {
		accepted = c.create(t, namespace, count, size)
	}
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--catalog-allow-cidr=127.0.0.0/8")
	started := time.Now()
	awaitIdle(t, manager)
	t.Logf("%d of %d objects were accepted; the manager was idle after %s", accepted, count, time.Since(started).Round(time.Second))
	manager.CheckAlive(t)
	peak := manager.PeakMemoryOfOne(t)
	t.Logf("%d MiB", peak>>20)
	if peak > memoryLimit {
		t.Errorf("the manager used %d MiB of memory, more than the limit of %d MiB", peak>>20, memoryLimit>>20)
	}
	manager.Kill(t)
	c.delete(t, namespace, count)
}

// awaitIdle waits until the processes of a manager use nearly no CPU.
func awaitIdle(t *testing.T, manager *testcluster.Manager) {
	t.Helper()
	const observed, rest = 3 * time.Second, 300 * time.Millisecond
	used := func() (sum time.Duration) {
		for _, pid := range manager.Pids() {
			sum += testcluster.ProcessorTime(t, pid)
		}
		return sum
	}
	last := used()
	if err := wait.PollUntilContextTimeout(t.Context(), observed, settles, false, func(context.Context) (bool, error) {
		now := used()
		quiet := now-last < rest
		last = now
		return quiet, nil
	}); err != nil {
		t.Fatalf("the manager does not become idle: %v", err)
	}
}

// create returns how many objects the API server accepted.
func (c crowd) create(t *testing.T, namespace string, count, size int) int {
	t.Helper()
	const maxAnnotations = 200_000
	text := strings.NewReplacer("$TEXT", strings.Repeat("x", size), "$NOTE", strings.Repeat("x", min(size, maxAnnotations)), "$NAMESPACE", namespace).Replace(c.rest)
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetAPIVersion(c.apiVersion)
	object.SetKind(c.kind)
	object.SetNamespace(namespace)
	return inParallel(count, func(i int) bool {
		o := object.DeepCopy()
		o.SetName(c.name(namespace, i))
		err := cluster.Client.Create(t.Context(), o)
		if err != nil && i == 0 {
			t.Log(err)
		}
		return err == nil
	})
}

// delete deletes the objects that create created and waits until they no longer exist. It removes their finalizers, since
// the manager that set them no longer runs.
func (c crowd) delete(t *testing.T, namespace string, count int) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(c.apiVersion)
	object.SetKind(c.kind)
	object.SetNamespace(namespace)
	gone := func(i int) bool {
		o := object.DeepCopy()
		o.SetName(c.name(namespace, i))
		err := cluster.Client.Delete(t.Context(), o)
		if err == nil && c.kind == platformv1alpha1.PlatformOperatorKind {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
			_ = cluster.Client.Patch(t.Context(), o, patch) // the next deletion shows whether it did
		}
		return apierrors.IsNotFound(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), time.Second, settles, true, func(context.Context) (bool, error) {
		return inParallel(count, gone) == count, nil
	}); err != nil {
		t.Fatalf("objects of kind %s are not all deleted: %v", c.kind, err)
	}
}

func (c crowd) name(namespace string, i int) string { return fmt.Sprintf("%s-%d", namespace, i) }

// inParallel calls f with 0 to count-1, some at a time, and returns how many calls returned true.
func inParallel(count int, f func(int) bool) int {
	const writers = 16
	var yes atomic.Int64
	var calls sync.WaitGroup
	for w := range writers {
		calls.Go(func() {
			for i := w; i < count; i += writers {
				if f(i) {
					yes.Add(1)
				}
			}
		})
	}
	calls.Wait()
	return int(yes.Load())
}
