package testcatalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operator-status/operator-status/internal/test/builder"
)

// Foo describes a small operator with one Deployment, which runs nothing, and one CustomResourceDefinition.
type Foo struct {
	// Name is the name of the package. Its kind is the capitalized name, in the group <name>.example.com.
	Name    string
	Version string

	// Upgradeable is the expression in the CustomResourceDefinition's annotation, or empty for no annotation.
	Upgradeable string

	// Requires lists the names of other Foo packages whose kinds this one requires.
	Requires []string

	// Change modifies the objects before they are published. It may be nil.
	Change func(csv *unstructured.Unstructured, crd *unstructured.Unstructured)

	// More lists the manifests of further objects in the bundle.
	More []string
}

// Holding returns versions of a package whose annotation holds an update while a custom resource is Migrating.
func Holding(name string, versions ...string) []Foo {
	var out []Foo
	for _, v := range versions {
		out = append(out, Foo{Name: name, Version: v, Upgradeable: "!Migrating"})
	}
	return out
}

// Unschedulable is a Change: the pods of the operator's Deployment select a node that does not exist.
func Unschedulable(csv, _ *unstructured.Unstructured) {
	ChangeDeployment(csv, func(spec map[string]any) {
		spec["template"].(map[string]any)["spec"].(map[string]any)["nodeSelector"] = map[string]any{"no": "such-node"}
	})
}

// NeverStarts is Unschedulable, and the Deployment exceeds its progress deadline after two seconds.
func NeverStarts(csv, crd *unstructured.Unstructured) {
	Unschedulable(csv, crd)
	ChangeDeployment(csv, func(spec map[string]any) { spec["progressDeadlineSeconds"] = int64(2) })
}

// SetLeastSize has the schema of a CustomResourceDefinition require a spec.size of at least that much.
func SetLeastSize(crd *unstructured.Unstructured, least float64) {
	size := map[string]any{"type": "integer", "minimum": least}
	schema := map[string]any{"type": "object", "properties": map[string]any{
		"spec": map[string]any{"type": "object", "properties": map[string]any{"size": size}},
	}}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	_ = unstructured.SetNestedMap(versions[0].(map[string]any), schema, "schema", "openAPIV3Schema")
	_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
}

// ChangeDeployment changes the spec of the operator's Deployment.
func ChangeDeployment(csv *unstructured.Unstructured, change func(spec map[string]any)) {
	deployments, _, _ := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", "deployments")
	change(deployments[0].(map[string]any)["spec"].(map[string]any))
	_ = unstructured.SetNestedSlice(csv.Object, deployments, "spec", "install", "spec", "deployments") // it exists
}

// CSV returns the name of the ClusterServiceVersion.
func (f Foo) CSV() string { return fmt.Sprintf("%s-operator.v%s", f.Name, f.Version) }

// CRD returns the name of the CustomResourceDefinition.
func (f Foo) CRD() string { return fmt.Sprintf("%ss.%s.example.com", f.Name, f.Name) }

// Publish returns the package of the given versions, oldest first. All must have the same Name.
func Publish(versions ...Foo) (Package, error) {
	out := Package{Name: versions[0].Name, Channel: "stable"}
	for _, f := range versions {
		b, err := f.bundle()
		if err != nil {
			return out, fmt.Errorf("%s: %w", f.CSV(), err)
		}
		out.Bundles = append(out.Bundles, b)
	}
	return out, nil
}

// Published is Publish for a test, which fails if it does.
func Published(t testing.TB, versions ...Foo) Package {
	t.Helper()
	out, err := Publish(versions...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (f Foo) bundle() (out Bundle, err error) {
	if out.Version, err = semver.Parse(f.Version); err != nil {
		return out, err
	}
	manifests := strings.Join(append([]string{builder.CRD(f.Name+"s", f.Name+".example.com"), fooCSV}, f.More...), "\n---\n")
	if out.Objects, err = parse([]byte(f.fill(manifests))); err != nil {
		return out, err
	}
	crd, csv := out.Objects[0], out.Objects[1]
	if f.Upgradeable != "" {
		crd.SetAnnotations(map[string]string{"olm.operatorframework.io/condition.Upgradeable": f.Upgradeable})
	}
	var required []any
	for _, name := range f.Requires {
		other := Foo{Name: name}
		required = append(required, map[string]any{"name": other.CRD(), "version": "v1", "kind": other.Kind()})
	}
	if len(required) == 0 {
		required = []any{}
	}
	if err := unstructured.SetNestedSlice(csv.Object, required, "spec", "customresourcedefinitions", "required"); err != nil {
		return out, err
	}
	if f.Change != nil {
		f.Change(csv, crd)
	}
	out.CSV = &olm.ClusterServiceVersion{}
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(csv.Object, out.CSV)
}

// Kind returns the kind of its custom resources.
func (f Foo) Kind() string { return strings.ToUpper(f.Name[:1]) + f.Name[1:] }

func (f Foo) fill(template string) string {
	return strings.NewReplacer("NAME", f.Name, "KIND", f.Kind(), "VERSION", f.Version, "CSV", f.CSV()).Replace(template)
}

const fooCSV = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: CSV
  annotations: {capabilities: Basic Install}
spec:
  displayName: KIND
  version: VERSION
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: true}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned: [{name: NAMEs.NAME.example.com, version: v1, kind: KIND, displayName: KIND, description: A KIND}]
  install:
    strategy: deployment
    spec:
      clusterPermissions:
      - serviceAccountName: NAME-operator
        rules:
        - {apiGroups: [NAME.example.com], resources: ["*"], verbs: ["*"]}
      permissions:
      - serviceAccountName: NAME-operator
        rules:
        - {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete]}
      deployments:
      - name: NAME-operator
        spec:
          replicas: 1
          selector: {matchLabels: {app: NAME-operator}}
          template:
            metadata: {labels: {app: NAME-operator}}
            spec:
              serviceAccountName: NAME-operator
              containers:
              - {name: operator, image: "example.com/NAME-operator:VERSION"}
`
