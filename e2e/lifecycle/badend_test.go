package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// stuckState is a state that only a user ends.
type stuckState struct {
	name string

	// manifests are the objects of the state, in a namespace of its own whose name replaces NAMESPACE; that of the catalog
	// replaces CATALOG.
	manifests string
}

// group is an OperatorGroup for the namespace that it is in.
const group = "{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: group}, spec: {targetNamespaces: [NAMESPACE]}}\n---\n"

func subscription(pkg, fields string) string {
	return fmt.Sprintf("{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: sub}, spec: {name: %s, sourceNamespace: olm, %s}}\n---\n",
		pkg, fields)
}

func platformOperator(name, fields string) string {
	return fmt.Sprintf("{apiVersion: platform.openshift.io/v1alpha1, kind: PlatformOperator, metadata: {name: NAMESPACE-%s}, spec: {namespace: NAMESPACE-installed, "+
		"package: {name: %s, catalog: {namespace: olm, name: CATALOG}}%s}}\n---\n", name, name, fields)
}

func handmade(fields string) string {
	return "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: handmade.v1.0.0}, spec: {displayName: Handmade, version: 1.0.0, " +
		"installModes: [{type: OwnNamespace, supported: true}], " + fields + "}}\n---\n"
}

func probe(fields string) string {
	return "{apiVersion: operators.coreos.com/v1alpha1, kind: Probe, metadata: {name: probe}, spec: {" + fields + "}}\n---\n"
}

const strategy = "install: {strategy: deployment, spec: {deployments: []}}"

var stuckStates = []stuckState{
	{"no package", group + subscription("nopackage", "source: CATALOG, channel: stable")},
	{"no channel", group + subscription("badgood", "source: CATALOG, channel: nochannel")},
	{"no catalog", group + subscription("badgood", "source: nocatalog, channel: stable")},
	{"no group", subscription("badgood", "source: CATALOG, channel: stable")},
	{"two groups", group + strings.Replace(group, "name: group", "name: another", 1) + subscription("badgood", "source: CATALOG, channel: stable")},
	{"no service account", strings.Replace(group, "spec: {", "spec: {serviceAccountName: nobody, ", 1) + subscription("badgood", "source: CATALOG, channel: stable")},
	{"account without permissions", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: powerless}}\n---\n" +
		strings.Replace(group, "spec: {", "spec: {serviceAccountName: powerless, ", 1) + subscription("badgood", "source: CATALOG, channel: stable")},
	{"bundle that the API server rejects", group + subscription("badrefused", "source: CATALOG, channel: stable")},
	{"operator that never starts", group + subscription("badstuck", "source: CATALOG, channel: stable")},
	{"catalog without content", "{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: source}, spec: {sourceType: internal, configMap: nothing}}"},
	{"catalog without an image", "{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: source}, spec: {sourceType: grpc, image: 'localhost:1/no/image:1'}}"},
	{"missing CustomResourceDefinition", group + handmade(strategy+", customresourcedefinitions: {required: [{name: missings.missing.example.com, version: v1, kind: Missing}]}")},
	{"unknown install strategy", group + handmade("install: {strategy: unknown, spec: {deployments: []}}")},
	{"unmet minKubeVersion", group + handmade(strategy+", minKubeVersion: 99.0.0")},
	{"webhook without a grant", group + handmade(strategy+", webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: hook.example.com, "+
		"deploymentName: none, admissionReviewVersions: [v1], sideEffects: None}]")},
	{"Probe without an operator", probe("probeResources: [{name: probes.operators.coreos.com, upgradeable: Ready}]")},
	{"Probe with a missing service account", group + strings.Replace(handmade(strategy), "handmade.v1.0.0", "probe", 1) +
		probe("serviceAccountName: nobody, probeResources: [{name: probes.operators.coreos.com, upgradeable: Ready}]")},
	{"Probe with an account without permissions", group + strings.Replace(handmade(strategy), "handmade.v1.0.0", "probe", 1) + "{apiVersion: v1, kind: ServiceAccount, metadata: {name: powerless}}\n---\n" +
		probe("serviceAccountName: powerless, probeResources: [{name: probes.operators.coreos.com, upgradeable: Ready}]")},
	{"Probe of a missing kind", group + strings.Replace(handmade(strategy), "handmade.v1.0.0", "probe", 1) + probe("probeResources: [{name: missings.missing.example.com, upgradeable: Ready}]")},
	{"platform without a package", platformOperator("nopackage", "")},
	{"platform in a reserved namespace", strings.Replace(platformOperator("badgood", ""), "NAMESPACE-installed", "kube-system", 1)},
	{"platform with a duplicate object", platformOperator("badtwice", `, resources: [
		{name: one, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: twice}, data: {key: one}}},
		{name: two, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: twice}, data: {key: two}}}]`)},
	{"platform with its own namespace", platformOperator("badown", `, resources: [
		{name: own, manifest: {apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-installed, labels: {own: "true"}}}}]`)},
	{"platform with a missing kind", platformOperator("badkind", `, resources: [
		{name: missing, manifest: {apiVersion: missing.example.com/v1, kind: Missing, metadata: {name: missing}}}]`)},
	{"platform with a forbidden kind", platformOperator("badright", `, resources: [
		{name: forbidden, manifest: {apiVersion: v1, kind: Secret, metadata: {name: forbidden}}}]`)},
	{"platform with an object that the API server rejects", platformOperator("badobject", `, resources: [
		{name: refused, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}}]`)},
	{"platform that another client contests", platformOperator("badcontest", `, resources: [
		{name: contested, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: contested}, data: {key: ours}}}]`)},
}

// TestRequestsOfStuckStates verifies that each of many states that only a user can end costs at most a few requests a minute,
// and that the states do not burden the rest of the cluster.
func TestRequestsOfStuckStates(t *testing.T) {
	cluster.AwaitNoneTerminating(t)
	packages := []testcatalog.Package{
		publish(t, testcatalog.Foo{Name: "badgood", Version: "1.0.0"}),
		publish(t, testcatalog.Foo{Name: "badrefused", Version: "1.0.0", More: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}"}}),
		publish(t, testcatalog.Foo{Name: "badstuck", Version: "1.0.0", Change: testcatalog.NeverStarts}),
	}
	for _, name := range []string{"badtwice", "badown", "badkind", "badright", "badobject", "badcontest"} {
		packages = append(packages, publish(t, testcatalog.Foo{Name: name, Version: "1.0.0"}))
	}
	cluster.Apply(t, "", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: composed-badly, labels: {operatorstatus.io/aggregate-to-compose: "true"}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
`)
	s := newStage(t, "bad", packages...)
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	states := map[string]string{} // by the namespaces and the names of cluster-scoped objects that belong to them
	for _, stuck := range stuckStates {
		namespace := cluster.Namespace(t, "bad")
		states[namespace], states[namespace+"-installed"] = stuck.name, stuck.name
		t.Cleanup(func() { beginDeletion(t, namespace) })
		manifests := strings.NewReplacer("NAMESPACE", namespace, "CATALOG", s.catalog.Name).Replace(stuck.manifests)
		cluster.Apply(t, namespace, manifests)
		uninstallPlatform(t, namespace, stuck, states)
		if strings.Contains(stuck.name, "contests") {
			overwriteOnChange(t, types.NamespacedName{Namespace: namespace + "-installed", Name: "contested"})
		}
	}
	awaitRare(t, states)
	manager.CheckAlive(t)
}

// awaitRare waits until each state has had a while with only a few requests: the pauses between attempts grow, from a
// start that depends on how fast the cluster is.
func awaitRare(t *testing.T, states map[string]string) {
	t.Helper()
	const (
		window = 40 * time.Second
		most   = 6 // requests in the window
		within = 6 * time.Minute
	)
	start, rare := time.Now(), map[string]int{}
	for {
		time.Sleep(window / 10) // nothing reports that requests fail to appear
		recent := requestsIn(t, states, time.Now().Add(-window))
		if time.Since(start) < window {
			continue
		}
		busy := ""
		for state, requests := range recent {
			if _, ok := rare[state]; ok {
				continue
			}
			if len(requests) <= most {
				rare[state] = len(requests)
				continue
			}
			busy += fmt.Sprintf("%s: %d requests:\n\t%s\n", state, len(requests), strings.Join(requests, "\n\t"))
		}
		if busy == "" {
			break
		}
		if time.Since(start) > within {
			t.Errorf("after %s, the last %s:\n%s", within, window, busy)
			break
		}
	}
	for _, state := range slices.Sorted(maps.Keys(rare)) {
		t.Logf("%3d requests in %s: %s", rare[state], window, state)
	}
}

// requestsIn returns the manager's requests since then by the state that they belong to.
func requestsIn(t *testing.T, states map[string]string, since time.Time) map[string][]string {
	t.Helper()
	const noState = "no state"
	out := map[string][]string{noState: nil}
	for _, state := range states {
		out[state] = nil
	}
	for _, r := range cluster.Requests(t, since) {
		if !r.IsWork() {
			continue
		}
		state := cmp.Or(states[r.ObjectRef.Namespace], states[r.ObjectRef.Name], noState)
		out[state] = append(out[state], r.String())
	}
	return out
}

// uninstallPlatform deletes the PlatformOperators of a state with the test.
func uninstallPlatform(t *testing.T, namespace string, stuck stuckState, states map[string]string) {
	t.Helper()
	list := &platformv1alpha1.PlatformOperatorList{}
	if err := cluster.Client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		op := &list.Items[i]
		if !strings.HasPrefix(op.Name, namespace+"-") {
			continue
		}
		states[op.Name] = stuck.name
		t.Cleanup(func() {
			s := &stage{namespace: namespace}
			s.patch(t, op, `{"metadata":{"annotations":{"`+platformv1alpha1.AnnotationDeleteAnyway+`":"true"}}}`)
			deleteAndWait(t, op)
			if name := op.Spec.Namespace; strings.HasPrefix(name, namespace) { // it may contain data, so it stays
				beginDeletion(t, name)
			}
		})
	}
}

// beginDeletion deletes a namespace without waiting for its end.
func beginDeletion(t *testing.T, name string) {
	t.Helper()
	err := cluster.Client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("deleting namespace %s: %v", name, err)
	}
}

// overwriteOnChange changes a ConfigMap whenever another client writes it.
func overwriteOnChange(t *testing.T, key types.NamespacedName) {
	t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	cluster.Await(t, o, func() string { return "" })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w, err := cluster.Client.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer w.Stop()
		for e := range w.ResultChan() {
			if got, ok := e.Object.(*corev1.ConfigMap); ok && got.Data["key"] == "ours" {
				_ = cluster.Client.Patch(ctx, got, client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"`+rand.String(5)+`"}}`))) // it is tried again
			}
		}
	}()
}
