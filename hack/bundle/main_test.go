package main

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	probes "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
)

const root = "../.."

func TestComplete(t *testing.T) {
	const base = "metadata: {annotations: {createdAt: then}}"
	const csv = "metadata: {annotations: {createdAt: now, a: b}}\nspec:\n  unknown: kept\n  install: {spec: {deployments: [{name: d, spec: {" +
		"template: {spec: {containers: [{name: manager, image: i}, {name: manager, image: i}, {name: a, image: j}]}}}}]}}\n"
	cases := map[string]struct {
		reason, base, csv string
		want              map[string]any
		fails             string
	}{
		"Completed": {
			reason: "The ClusterServiceVersion gets the creation time of the base and each related image once, and keeps all other fields.", base: base, csv: csv,
			want: map[string]any{"annotations": map[string]any{"createdAt": "then", "a": "b"}, "unknown": "kept", "relatedImages": []any{
				map[string]any{"name": "a", "image": "j"}, map[string]any{"name": "manager", "image": "i"},
			}},
		},
		"NoTime":   {reason: "A base without a creation time is an error, since two builds would differ.", base: "metadata: {}", csv: csv, fails: "createdAt"},
		"NotAYAML": {reason: "A ClusterServiceVersion that is not valid YAML is an error.", base: base, csv: "{", fails: "parsing"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, err := complete([]byte(tc.base), []byte(tc.csv))
			if tc.fails != "" || err != nil {
				if err == nil || tc.fails == "" || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("%s\nerror %v; want %q", tc.reason, err, tc.fails)
				}
				return
			}
			var out map[string]map[string]any
			if err := yaml.Unmarshal(text, &out); err != nil {
				t.Fatal(err)
			}
			got := map[string]any{"annotations": out["metadata"]["annotations"], "unknown": out["spec"]["unknown"], "relatedImages": out["spec"]["relatedImages"]}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestValid verifies that the validators of Operator Framework, those of OperatorHub included, have no objection to the bundle. The one
// about architectures is left out: it pulls the image.
func TestValid(t *testing.T) {
	b, err := manifests.GetBundleFromDir(filepath.Join(root, "bundle"))
	if err != nil {
		t.Fatalf("reading the bundle (`make bundle` makes it): %v", err)
	}
	validators := validation.DefaultBundleValidators.WithValidators(validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator,
		validation.StandardCategoriesValidator, validation.ObjectValidator, validation.OperatorGroupValidator, validation.CommunityOperatorValidator,
		validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator)
	for _, result := range validators.Validate(b.ObjectsToValidate()...) {
		for _, e := range result.Errors {
			t.Errorf("%s: %v", result.Name, e)
		}
		for _, w := range result.Warnings {
			t.Errorf("%s has a warning: %v", result.Name, w)
		}
	}
}

// TestOwnUpdateNotHeld verifies that operator-status never holds its own update: its CustomResourceDefinitions have no
// annotation that would opt it in.
func TestOwnUpdateNotHeld(t *testing.T) {
	csv, objects := &probes.ClusterServiceVersion{}, []*unstructured.Unstructured{}
	for _, o := range bundleObjects(t) {
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			convert(t, o, csv)
			continue
		}
		objects = append(objects, o)
	}
	if probe := annotations.BundleProbe(csv, objects); probe != nil {
		t.Errorf("operator-status has a Probe of its own: %v", probe.Spec)
	}
	if d := gate.Evaluate(gate.Inputs{Running: csvchain.Version(csv), Target: "operator-status.v99.0.0"}); d.Held {
		t.Errorf("the update of operator-status is held: %s", d.Message)
	}
}

// supported lists the kinds in this bundle that OLM supports, out of those in operator-registry's pkg/lib/bundle.
var supported = []string{
	"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "NetworkPolicy", "PodDisruptionBudget", "PriorityClass", "Service",
	"ServiceAccount",
}

// leftOut lists the kinds and objects in config/default that the bundle lacks, and why.
var leftOut = map[string]string{
	"Namespace": "OLM installs into the namespace of the Subscription, and the bundle only suggests one",
	"ServiceAccount/operator-status-controller-manager": "OLM creates the service accounts of the ClusterServiceVersion",
	"ValidatingAdmissionPolicy":                         "OLM does not support the kind in a bundle: the release has it in policies.yaml",
	"ValidatingAdmissionPolicyBinding":                  "OLM does not support the kind in a bundle: the release has it in policies.yaml",
}

// TestBundleMatchesConfig verifies that every object of config/default is in the bundle, in its ClusterServiceVersion, or
// left out for a reason.
func TestBundleMatchesConfig(t *testing.T) {
	csv, found := &v1alpha1.ClusterServiceVersion{}, map[string]*unstructured.Unstructured{}
	for _, o := range bundleObjects(t) {
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			convert(t, o, csv)
			continue
		}
		found[o.GetKind()+"/"+o.GetName()] = o
		if !slices.Contains(supported, o.GetKind()) {
			t.Errorf("OLM does not support %s %s in a bundle", o.GetKind(), o.GetName())
		}
		if o.GetNamespace() != "" {
			t.Errorf("%s %s has a namespace, want none: OLM sets it", o.GetKind(), o.GetName())
		}
	}
	strategy := csv.Spec.InstallStrategy.StrategySpec
	granted := map[bool][]rbacv1.PolicyRule{} // by whether in all namespaces
	for all, permissions := range map[bool][]v1alpha1.StrategyDeploymentPermissions{true: strategy.ClusterPermissions, false: strategy.Permissions} {
		for _, p := range permissions {
			granted[all] = append(granted[all], p.Rules...)
		}
	}
	wanted := map[bool]int{}
	for _, o := range configObjects(t) {
		id := o.GetKind() + "/" + o.GetName()
		if leftOut[o.GetKind()] != "" || leftOut[id] != "" {
			continue
		}
		if b, ok := found[id]; ok {
			if diff := cmp.Diff(o.Object["spec"], b.Object["spec"]); diff != "" {
				t.Errorf("%s differs in the bundle (`make bundle`): -config +bundle\n%s", id, diff)
			}
			delete(found, id)
			continue
		}
		switch o.GetKind() {
		case "Deployment":
			d := &appsv1.Deployment{}
			convert(t, o, d)
			if len(strategy.DeploymentSpecs) != 1 || strategy.DeploymentSpecs[0].Name != d.Name {
				t.Errorf("the ClusterServiceVersion does not have exactly the Deployment %s", d.Name)
				continue
			}
			want, got := d.Spec, strategy.DeploymentSpecs[0].Spec
			want.Template.Spec.Containers[0].Image = got.Template.Spec.Containers[0].Image
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Deployment %s differs in the ClusterServiceVersion: -config +bundle\n%s", d.Name, diff)
			}
		case "ClusterRole", "Role":
			role := &rbacv1.ClusterRole{}
			convert(t, o, role)
			all := o.GetKind() == "ClusterRole"
			wanted[all] += len(role.Rules)
			for _, rule := range role.Rules {
				if !slices.ContainsFunc(granted[all], func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, rule) }) {
					t.Errorf("the ClusterServiceVersion lacks a rule of %s: %v", id, rule)
				}
			}
		case "ClusterRoleBinding", "RoleBinding": // OLM binds the permissions
		default:
			t.Errorf("%s is not in the bundle", id)
		}
	}
	for all, count := range wanted {
		if len(granted[all]) != count {
			t.Errorf("for all namespaces=%t the ClusterServiceVersion has %d rules, want %d as in config/default", all, len(granted[all]), count)
		}
	}
	for id := range found {
		t.Errorf("%s is in the bundle and not in config/default", id)
	}
}

// TestReferences verifies the images, examples and icon of the ClusterServiceVersion.
func TestReferences(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{}
	kinds := map[string]bool{}
	for _, o := range bundleObjects(t) {
		switch o.GetKind() {
		case v1alpha1.ClusterServiceVersionKind:
			convert(t, o, csv)
		case "CustomResourceDefinition":
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			kinds[kind] = true
		}
	}
	image := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Image
	if diff := cmp.Diff([]v1alpha1.RelatedImage{{Name: "manager", Image: image}}, csv.Spec.RelatedImages); diff != "" {
		t.Errorf("relatedImages: -want +got\n%s", diff)
	}
	if csv.Annotations["containerImage"] != image {
		t.Errorf("annotation containerImage is %s; want %s", csv.Annotations["containerImage"], image)
	}
	var examples []*unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		delete(kinds, e.GetKind())
	}
	for kind := range kinds {
		t.Errorf("alm-examples has no example of %s", kind)
	}
	svg, err := os.ReadFile(filepath.Join(root, "config", "manifests", "icon.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if len(csv.Spec.Icon) != 1 || csv.Spec.Icon[0].Data != base64.StdEncoding.EncodeToString(svg) {
		t.Error("the icon is not config/manifests/icon.svg")
	}
}

// TestCatalog verifies that the catalog is valid and offers the bundle.
func TestCatalog(t *testing.T) {
	catalog, err := declcfg.LoadFS(t.Context(), os.DirFS(filepath.Join(root, "catalog")))
	if err != nil {
		t.Fatal(err)
	}
	model, err := declcfg.ConvertToModel(*catalog)
	if err != nil {
		t.Fatalf("the catalog is not valid: %v", err)
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	for _, o := range bundleObjects(t) {
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			convert(t, o, csv)
		}
	}
	offered, ok := model["operator-status"]
	if !ok || offered.DefaultChannel == nil || offered.DefaultChannel.Name != "stable" {
		t.Fatalf("the catalog lacks package operator-status with default channel stable: %v", model)
	}
	head, err := offered.DefaultChannel.Head()
	if err != nil {
		t.Fatal(err)
	}
	if head.Name != csv.Name || !strings.HasSuffix(head.Image, ":v"+csv.Spec.Version.String()) {
		t.Errorf("the channel ends with %s in %s; the bundle is %s", head.Name, head.Image, csv.Name)
	}
}

// bundleObjects returns the objects in the bundle.
func bundleObjects(t *testing.T) (out []*unstructured.Unstructured) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "bundle", "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the bundle has no manifests (%v): run `make bundle`", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, object(t, text))
	}
	return out
}

// configObjects returns the objects of config/default.
func configObjects(t *testing.T) (out []*unstructured.Unstructured) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kustomize"), "build", filepath.Join(root, "config", "default")).Output()
	if err != nil {
		t.Fatalf("building config/default (`make tools` builds kustomize): %v", err)
	}
	for text := range strings.SplitSeq(string(text), "\n---\n") {
		out = append(out, object(t, []byte(text)))
	}
	return out
}

func object(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}

func convert(t *testing.T, o *unstructured.Unstructured, to any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, to); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}
