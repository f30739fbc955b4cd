package manager_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/config/policies"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestPolicies applies config/policies, and compares what each policy holds with its cases, and with how Argo CD rates the custom
// resources in the tests of its health checks: a healthy one never holds an update, any other does unless it is one of tolerated.
func TestPolicies(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.RemoveCRDs(t)
	cluster.StartManager(t)
	manifests, err := testcluster.Manifests("policies")
	if err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, "", string(manifests))
	all, err := policies.All()
	if err != nil {
		t.Fatal(err)
	}
	var probes []*v1alpha1.Probe
	t.Cleanup(func() { // or the managers of the tests after this one would reconcile them
		for i := range all {
			mustDelete(t, &all[i].ProbePolicy)
		}
		for _, p := range probes {
			cluster.AwaitGone(t, p)
		}
	})
	argo := customizations(t)
	for id := range tolerated {
		if _, err := os.Stat(filepath.Join(argo, filepath.Dir(id), "testdata", filepath.Base(id)+".yaml")); err != nil {
			t.Errorf("tolerated has a custom resource that Argo CD does not test: %v", err)
		}
	}
	if n := strings.Count(string(manifests), "kind: ProbePolicy\n"); n != len(all) {
		t.Errorf("config/policies/kustomization.yaml has %d policies, and there are %d folders", n, len(all))
	}
	cases, crds := make([]map[string]map[string]policyCase, len(all)), map[string]string{}
	for i, policy := range all {
		probes = append(probes, probeNamed(cluster.Namespace(t, policy.Name), policy.Name+".v1.0.0"))
		cases[i] = casesOf(t, policy.ProbePolicy, argo)
		for crd, ofKind := range cases[i] {
			crds[crd] = crdManifest(crd, ofKind)
		}
	}
	cluster.Apply(t, "", strings.Join(slices.Collect(maps.Values(crds)), "\n---\n")) // together, since each takes seconds to be served
	for i, policy := range all {
		t.Run(policy.Name, func(t *testing.T) {
			t.Parallel()
			namespace := probes[i].Namespace
			account(t, cluster, namespace, "*")
			for crd, ofKind := range cases[i] {
				createAll(t, namespace, crd, ofKind)
			}
			operator := succeeded(t, namespace, probes[i].Name, slices.Collect(maps.Keys(cases[i]))...)
			for crd, ofKind := range cases[i] {
				checkHeld(t, key(operator).Namespace, operator.Name, crd, ofKind)
			}
		})
	}
}

// casesOf returns the cases of a policy and of Argo CD, by CustomResourceDefinition and name.
func casesOf(t *testing.T, policy holdv1alpha1.ProbePolicy, argo string) map[string]map[string]policyCase {
	t.Helper()
	out := ownCases(t, policy)
	for _, r := range policy.Spec.ProbeResources {
		ofKind := slices.Collect(maps.Values(out[r.CRDName()]))
		if !slices.ContainsFunc(ofKind, func(c policyCase) bool { return c.Holds }) || !slices.ContainsFunc(ofKind, func(c policyCase) bool { return !c.Holds }) {
			t.Fatalf("cases.yaml of %s has no %s that holds an update and one that does not", policy.Name, r.CRDName())
		}
		maps.Copy(out[r.CRDName()], argoCases(t, argo, ofKind[0].Object.GroupVersionKind().GroupKind(), comparesStatus(r)))
	}
	return out
}

// policyCase is a custom resource, and whether it holds an update.
type policyCase struct {
	Reason string
	Holds  bool
	Object unstructured.Unstructured
}

// tolerated are custom resources that Argo CD does not rate as healthy, and that hold no update, by the folder and file of its tests.
var tolerated = map[string]string{
	"operator.knative.dev/KnativeServing/progressing":                      "Ready is Unknown, which holds nothing",
	"operator.knative.dev/KnativeServing/degraded":                         "Ready has a status that does not exist: the Probe reports it as unreadable",
	"operator.knative.dev/KnativeEventing/progressing":                     "as above",
	"operator.knative.dev/KnativeEventing/degraded":                        "as above",
	"cert-manager.io/Certificate/degraded_configError":                     "nothing is under way, and the next version may be the remedy",
	"helm.toolkit.fluxcd.io/HelmRelease/degraded":                          "nothing is under way until the next try",
	"kustomize.toolkit.fluxcd.io/Kustomization/degraded":                   "nothing is under way",
	"nmstate.io/NodeNetworkConfigurationPolicy/degraded_failedToConfigure": "nothing is under way: nmstate has rolled back",
	"cdi.kubevirt.io/DataVolume/progressing_containercreating":             "nothing has been imported yet",
	"cdi.kubevirt.io/DataVolume/degraded_badurl":                           "nothing is imported",
	"services.cloud.sap.com/ServiceInstance/deleting":                      "a deletion is no condition",
	"services.cloud.sap.com/ServiceInstance/degraded":                      "nothing is under way: the service broker has refused it",
	"services.cloud.sap.com/ServiceBinding/deleting":                       "a deletion is no condition",
	"services.cloud.sap.com/ServiceBinding/degraded":                       "as above",
	"rabbitmq.com/RabbitmqCluster/degraded_badconfig":                      "there are no pods yet",
	"elasticsearch.k8s.elastic.co/Elasticsearch/progressing":               "green and Ready, and a sum over lists cannot be compared",
	"beat.k8s.elastic.co/Beat/progressing":                                 "its health is absent",
	"beat.k8s.elastic.co/Beat/invalid":                                     "its health does not exist",
	"beat.k8s.elastic.co/Beat/ready_red":                                   "no pod is ready, and nothing is under way",
	"install.istio.io/IstioOperator/degraded":                              "nothing is under way, and the next version may be the remedy",
	"minio.min.io/Tenant/no_status":                                        "its state is absent",
	"minio.min.io/Tenant/out_of_control":                                   "nothing is under way: a mistake in the configuration",
	"minio.min.io/Tenant/another_tenant_exists":                            "as above",
	"minio.min.io/Tenant/incorrect_tenant_credentials":                     "as above",
	"minio.min.io/Tenant/pool_decommissioning_not_allowed":                 "nothing is under way: the request was refused",
	"flink.apache.org/FlinkDeployment/degraded_error":                      "nothing is under way: it needs another spec",
}

// ownCases returns the cases of a policy, by CustomResourceDefinition and name.
func ownCases(t *testing.T, policy holdv1alpha1.ProbePolicy) map[string]map[string]policyCase {
	t.Helper()
	file := filepath.Join(testcluster.Root(), "config", "policies", policy.Name, "cases.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var content struct{ Cases []policyCase }
	if err := yaml.UnmarshalStrict(text, &content); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	out := map[string]map[string]policyCase{}
	for _, r := range policy.Spec.ProbeResources {
		out[r.CRDName()] = map[string]policyCase{}
	}
	for i, c := range content.Cases {
		ofKind := out[crdOf(c.Object.GroupVersionKind().GroupKind(), out)]
		if ofKind == nil {
			t.Fatalf("%s: the policy has no expression for %s", file, c.Object.GroupVersionKind())
		}
		ofKind[fmt.Sprintf("case-%d", i)] = c
	}
	return out
}

// crdOf returns the name of the CustomResourceDefinition of a kind, of those that a policy names.
func crdOf(kind schema.GroupKind, cases map[string]map[string]policyCase) string {
	singular := strings.ToLower(kind.Kind)
	if kind.Kind == "MongoDBOpsManager" {
		singular = "opsmanager"
	}
	for _, plural := range []string{singular, singular + "s", singular + "es", strings.TrimSuffix(singular, "y") + "ies"} {
		if name := plural + "." + kind.Group; cases[name] != nil {
			return name
		}
	}
	return ""
}

// customizations returns the folder with Argo CD's health checks.
func customizations(t *testing.T) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/argoproj/argo-cd/v3")
	download.Dir = filepath.Join(testcluster.Root(), "hack", "health")
	answer, err := download.Output()
	if err != nil {
		t.Fatalf("downloading Argo CD: %v\n%s", err, answer)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(answer, &module); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(module.Dir, "resource_customizations")
}

// comparesStatus reports whether an expression compares fields of the status.
func comparesStatus(r v1alpha1.ProbeResource) bool { return strings.Contains(r.Upgradeable, "status.") }

// argoCases returns the custom resources of Argo CD's tests that have conditions, or any status if fields of it count, and that
// Argo CD rates, by name.
func argoCases(t *testing.T, folder string, kind schema.GroupKind, anyStatus bool) map[string]policyCase {
	t.Helper()
	folder = filepath.Join(folder, kind.Group, kind.Kind)
	text, err := os.ReadFile(filepath.Join(folder, "health_test.yaml"))
	if os.IsNotExist(err) {
		return nil
	}
	var suite struct {
		Tests []struct {
			InputPath    string
			HealthStatus struct{ Status string }
		}
	}
	if err == nil {
		err = yaml.Unmarshal(text, &suite)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]policyCase{}
	for _, tc := range suite.Tests {
		name := strings.TrimSuffix(filepath.Base(tc.InputPath), ".yaml")
		id := kind.Group + "/" + kind.Kind + "/" + name
		text, err := os.ReadFile(filepath.Join(folder, tc.InputPath))
		c := policyCase{Reason: "Argo CD rates " + id + " as " + tc.HealthStatus.Status, Holds: tc.HealthStatus.Status != "Healthy" && tolerated[id] == ""}
		if err == nil {
			err = yaml.Unmarshal(text, &c.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(c.Object.Object, "status", "conditions")
		status, _, _ := unstructured.NestedMap(c.Object.Object, "status")
		isKnown := len(conditions) > 0 || len(status) > 0 && anyStatus
		if !isKnown || slices.Contains([]string{"Suspended", "Unknown"}, tc.HealthStatus.Status) || isOutdated(c.Object) {
			continue // or a user has paused it
		}
		out["argo-"+strings.ToLower(strings.ReplaceAll(name, "_", "-"))] = c
	}
	return out
}

// isOutdated reports whether conditions are older than the spec. A new object has the first generation.
func isOutdated(o unstructured.Unstructured) bool {
	observed, found, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if g, ok, _ := unstructured.NestedInt64(c.(map[string]any), "observedGeneration"); ok {
			observed, found = g, true
		}
	}
	return found && observed < o.GetGeneration()
}

// crdManifest returns a definition of the kind of custom resources that has no schema.
func crdManifest(crd string, cases map[string]policyCase) string {
	plural, group, _ := strings.Cut(crd, ".")
	for _, c := range cases {
		return builder.CRDOfKind(plural, group, c.Object.GetKind(), `api-approved.kubernetes.io: "unapproved, for a test"`)
	}
	return ""
}

// createAll creates custom resources.
func createAll(t *testing.T, namespace, crd string, cases map[string]policyCase) {
	t.Helper()
	_, group, _ := strings.Cut(crd, ".")
	for name, c := range cases {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": c.Object.GetKind(), "spec": c.Object.Object["spec"], "status": c.Object.Object["status"]}}
		o.SetNamespace(namespace)
		o.SetName(name)
		manifest, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		cluster.Apply(t, namespace, string(manifest))
	}
}

// checkHeld compares the custom resources that a Probe reports as blocking with those that hold an update.
func checkHeld(t *testing.T, namespace, probe, crd string, cases map[string]policyCase) {
	t.Helper()
	var want []string
	for name, c := range cases {
		if c.Holds {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	p := probeNamed(namespace, probe)
	got := []string{}
	cluster.Await(t, p, func() string {
		if lacking := testcluster.Lacking(p.Status.Conditions, "Synced=True/Synced", "Upgradeable=False/NotUpgradeable"); lacking != "" {
			return lacking
		}
		got = got[:0]
		for _, r := range p.Status.ProbeResources {
			if r.Blocking && r.Resource == crd {
				got = append(got, r.Name)
			}
		}
		slices.Sort(got)
		return ""
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: other custom resources hold an update (-want +got):\n%s", crd, diff)
		for name, c := range cases {
			if slices.Contains(want, name) != slices.Contains(got, name) {
				t.Logf("%s: %s: %v", name, c.Reason, c.Object.Object["status"])
			}
		}
	}
	checkEqual(t, "the manager of the Probe", v1alpha1.ManagerPolicy, p.Spec.Manager)
}
