package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/e2e/images"
	"github.com/operator-status/operator-status/e2e/samples"
	foov1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// limit is how long OLM may take for a version: it starts the pod of a catalog and a Job for each bundle, and polls them.
const limit = 4 * time.Minute

// system is the namespace of operator-status.
var system = testcluster.ManagerAccount.Namespace

// TestOLM is the life of operator-status on a cluster with OLM: installed by its bundle, it holds the update of an operator
// that migrates data, is updated itself meanwhile, and is uninstalled.
func TestOLM(t *testing.T) {
	registry := images.Of(t, clusterDir)
	managers := map[string]string{images.Current: registry.Manager(t, images.Current)}
	applyPolicies(t)
	cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}})
	self := subscribe(t, system, "operator-status", registry.Catalog(t, managers))
	self.awaitRunning(t, "operator-status.v"+images.Current)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "operator-status"}}
	leader := podOf(t, lease, managers[images.Current])

	operator := registry.Sample(t)
	foo := subscribe(t, cluster.Namespace(t, "foo"), samples.Annotated, registry.SampleCatalog(t, operator, "1.0.0"))
	foo.awaitRunning(t, samples.CSV(samples.Annotated, "1.0.0"))
	cluster = cluster.Rediscovered(t) // the kinds that OLM has installed
	data := samples.NewFoo(t, cluster, foo.namespace, "data")
	samples.AwaitFoo(t, cluster, data, "1.0.0", metav1.ConditionFalse)
	samples.Change(t, cluster, data, func(spec *foov1.FooSpec) { spec.Version, spec.Hold = "1.1.0", true })
	samples.AwaitFoo(t, cluster, data, "1.0.0", metav1.ConditionTrue)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: foo.namespace, Name: samples.CSV(samples.Annotated, "1.0.0")}}
	foo.await(t, probe, func() string {
		return testcluster.Lacking(probe.Status.Conditions, "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	})
	held := watchHold(t, foo.namespace)

	foo.offer(t, registry.SampleCatalog(t, operator, samples.Versions()...))
	foo.awaitPending(t, samples.CSV(samples.Annotated, "1.1.0"))
	foo.checkHeldUpdate(t)

	managers[images.Next] = registry.Manager(t, images.Next)
	self.offer(t, registry.Catalog(t, managers))
	self.awaitRunning(t, "operator-status.v"+images.Next)
	if second := podOf(t, lease, managers[images.Next]); second == leader {
		t.Errorf("pod %s still leads", leader)
	}
	foo.awaitPending(t, samples.CSV(samples.Annotated, "1.1.0"))
	for _, released := range held() {
		t.Errorf("the hold ended while operator-status was updated: %s", released)
	}

	samples.Change(t, cluster, data, func(spec *foov1.FooSpec) { spec.Hold = false })
	foo.awaitRunning(t, samples.CSV(samples.Annotated, "1.1.0"))
	samples.AwaitFoo(t, cluster, data, "1.1.0", metav1.ConditionFalse)

	uninstall(t, self)
	foo.awaitRunning(t, samples.CSV(samples.Annotated, "1.1.0"))
}

// subscription is an operator that OLM installs from a catalog of its own.
type subscription struct {
	namespace, pkg string
	catalog        *olm.CatalogSource
}

// subscribe has OLM install a package from the image of a catalog, into a namespace.
func subscribe(t *testing.T, namespace, pkg, image string) subscription {
	t.Helper()
	out := subscription{namespace, pkg, &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "catalog"}}}
	out.catalog.Spec = olm.CatalogSourceSpec{
		SourceType: olm.SourceTypeGrpc, Image: image,
		GrpcPodConfig: &olm.GrpcPodConfig{SecurityContextConfig: olm.Restricted, ExtractContent: &olm.ExtractContentConfig{CatalogDir: "/configs"}},
	}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}}
	if namespace != system {
		group.Spec.TargetNamespaces = []string{namespace}
	}
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pkg}, Spec: &olm.SubscriptionSpec{
		Package: pkg, Channel: "stable", CatalogSource: out.catalog.Name, CatalogSourceNamespace: namespace,
	}}
	cluster.Create(t, out.catalog, group, sub)
	t.Cleanup(func() {
		if t.Failed() {
			describe(t, namespace)
		}
	})
	return out
}

// offer replaces the image of the catalog.
func (s subscription) offer(t *testing.T, image string) {
	t.Helper()
	before := s.catalog.DeepCopy()
	s.catalog.Spec.Image = image
	if err := cluster.Client.Patch(t.Context(), s.catalog, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func (s subscription) csv(name string) *v1alpha1.ClusterServiceVersion {
	return &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

func (s subscription) await(t *testing.T, o client.Object, check func() string) {
	t.Helper()
	cluster.AwaitWithin(t, limit, o, check)
}

// awaitRunning waits until a version has been installed and no other is left.
func (s subscription) awaitRunning(t *testing.T, name string) {
	t.Helper()
	csv := s.csv(name)
	s.await(t, csv, func() string {
		if csv.Status.Phase != olm.CSVPhaseSucceeded {
			return fmt.Sprintf("its phase is %s: %s", csv.Status.Phase, csv.Status.Message)
		}
		all := &v1alpha1.ClusterServiceVersionList{}
		if err := cluster.Client.List(t.Context(), all, client.InNamespace(s.namespace)); err != nil || len(all.Items) != 1 {
			return fmt.Sprintf("%d ClusterServiceVersions exist, want 1 (%v)", len(all.Items), err)
		}
		return ""
	})
}

// awaitPending waits until OLM holds a version, since the version that it replaces is not upgradeable.
func (s subscription) awaitPending(t *testing.T, name string) {
	t.Helper()
	csv := s.csv(name)
	s.await(t, csv, func() string {
		if csv.Status.Phase != olm.CSVPhasePending || csv.Status.Reason != olm.CSVReasonOperatorConditionNotUpgradeable {
			return fmt.Sprintf("its phase is %s/%s: %s", csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
		}
		return ""
	})
}

// checkHeldUpdate verifies that the command line compares the CustomResourceDefinitions of a held update, which OLM has
// unpacked from an image, with the custom resources that exist.
func (s subscription) checkHeldUpdate(t *testing.T) {
	t.Helper()
	check := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status"),
		"check", "--kubeconfig="+filepath.Join(clusterDir, "kubeconfig"), "-n", s.namespace, s.pkg)
	out, _ := check.CombinedOutput() // it exits with 2 for an update that is held
	if code := check.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "Held") || strings.Contains(string(out), "Warning") {
		t.Errorf("check exits with %d:\n%s", code, out)
	}
}

// watchHold watches the OperatorCondition of the sample, until the returned function returns the states in which it let
// the update go ahead.
func watchHold(t *testing.T, namespace string) (released func() []string) {
	t.Helper()
	c, err := client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), &operatorsv2.OperatorConditionList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan []string, 1)
	go func() {
		var out []string
		for e := range w.ResultChan() {
			o, ok := e.Object.(*operatorsv2.OperatorCondition)
			if !ok || o.Name != samples.CSV(samples.Annotated, "1.0.0") {
				continue
			}
			if e.Type == watch.Deleted || !meta.IsStatusConditionFalse(o.Spec.Conditions, operatorsv2.Upgradeable) {
				out = append(out, fmt.Sprintf("%s %s", e.Type, testcluster.Print(o)))
			}
		}
		found <- out
	}()
	return func() []string {
		w.Stop()
		return <-found
	}
}

// podOf waits until a pod with an image holds the lease, and returns its name.
func podOf(t *testing.T, lease *coordinationv1.Lease, image string) string {
	t.Helper()
	pod := &corev1.Pod{}
	cluster.Await(t, lease, func() string {
		name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
		if err := cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: name}, pod); err != nil {
			return fmt.Sprintf("getting pod %q, which holds the lease: %v", name, err)
		}
		if got := pod.Spec.Containers[0].Image; got != image {
			return fmt.Sprintf("pod %s, which holds the lease, runs %s", name, got)
		}
		return ""
	})
	return pod.Name
}

// manifests returns the objects of a folder of config.
func manifests(t *testing.T, folder string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "kustomize"), "build",
		filepath.Join(testcluster.Root(), "config", folder)).Output()
	if err != nil {
		t.Fatalf("building config/%s (`make tools` builds kustomize): %v", folder, err)
	}
	return string(out)
}

// applyPolicies creates the policies, which a bundle cannot contain.
func applyPolicies(t *testing.T) {
	t.Helper()
	objects, err := testcluster.Decode([]byte(manifests(t, "default")))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
			cluster.Create(t, o)
		}
	}
}

// uninstall releases all updates and deletes the objects that a user created to install operator-status. No workload is left.
func uninstall(t *testing.T, self subscription) {
	t.Helper()
	release := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "manager"), "release",
		"--kubeconfig="+filepath.Join(clusterDir, "kubeconfig"))
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	csv := self.csv("operator-status.v" + images.Next)
	for _, o := range []client.Object{&v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: self.pkg}}, csv, self.catalog} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.AwaitGone(t, csv)
	left := &corev1.PodList{}
	cluster.AwaitWithin(t, limit, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}, func() string {
		if err := cluster.Client.List(t.Context(), left, client.InNamespace(system)); err != nil {
			return err.Error()
		}
		var running []string
		for i := range left.Items {
			if left.Items[i].Status.Phase == corev1.PodRunning {
				running = append(running, left.Items[i].Name)
			}
		}
		return strings.Join(running, " ")
	})
	conditions := &operatorsv2.OperatorConditionList{}
	if err := cluster.Client.List(t.Context(), conditions); err != nil {
		t.Fatal(err)
	}
	for _, c := range conditions.Items {
		if meta.IsStatusConditionFalse(c.Spec.Conditions, operatorsv2.Upgradeable) {
			t.Errorf("OperatorCondition %s/%s still holds an update", c.Namespace, c.Name)
		}
	}
	for name := range strings.FieldsSeq(leftovers(t)) {
		kind, _, _ := strings.Cut(name, ".")
		if !slices.Contains([]string{"customresourcedefinition", "clusterrole", "clusterrolebinding", "priorityclass", "validatingadmissionpolicy",
			"validatingadmissionpolicybinding"}, kind) {
			t.Errorf("%s still exists after the uninstallation", name)
		}
	}
	cluster.Shell(t, documentedCleanup(t))
	cluster.AwaitWithin(t, limit, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}, func() string { return leftovers(t) })
}

// documentedCleanup returns the commands of docs/olm.md that delete OLM's leftovers.
func documentedCleanup(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "docs", "olm.md"))
	if err != nil {
		t.Fatal(err)
	}
	const start, end = "kubectl annotate customresourcedefinition ", "\n\n"
	_, commands, found := strings.Cut(string(text), "    "+start)
	commands, _, _ = strings.Cut(commands, end)
	if !found || !strings.Contains(commands, "kubectl delete ") {
		t.Fatal("docs/olm.md does not describe how to delete the objects that OLM leaves")
	}
	return start + commands
}

// kinds are those of all objects of operator-status.
const kinds = "customresourcedefinition,clusterrole,clusterrolebinding,priorityclass,validatingadmissionpolicy,validatingadmissionpolicybinding," +
	"deployment,service,networkpolicy,poddisruptionbudget,serviceaccount,role,rolebinding"

// leftovers returns the objects of operator-status in the cluster, and those that OLM has derived from them.
func leftovers(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "controlplane", "kubectl"),
		"--kubeconfig="+filepath.Join(clusterDir, "kubeconfig"), "get", kinds, "--all-namespaces", "--output=name").Output()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for name := range strings.FieldsSeq(string(out)) {
		if strings.Contains(name, "operator-status") || strings.Contains(name, "probes.operators") || strings.Contains(name, "platformoperators") {
			left = append(left, name)
		}
	}
	return strings.Join(left, "\n")
}

// describe logs the workloads and OLM's objects in a namespace.
func describe(t *testing.T, namespace string) {
	t.Helper()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &appsv1.DeploymentList{}, &v1alpha1.SubscriptionList{}, &olm.InstallPlanList{},
		&v1alpha1.ClusterServiceVersionList{}, &olm.CatalogSourceList{}} {
		if err := cluster.Client.List(context.Background(), list, client.InNamespace(namespace)); err != nil && !apierrors.IsNotFound(err) {
			t.Log(err)
			continue
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Log(err)
		}
		for _, o := range items {
			if object, ok := o.(client.Object); ok {
				t.Log(testcluster.Print(object))
			}
		}
	}
}
