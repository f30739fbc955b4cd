package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// realCSVs returns the CSVs in the folder $BUNDLES, by file.
func realCSVs(t *testing.T) map[string]*v1alpha1.ClusterServiceVersion {
	t.Helper()
	dir := os.Getenv("BUNDLES")
	if dir == "" {
		t.Skip("BUNDLES names no folder of bundles")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "manifests", "*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*v1alpha1.ClusterServiceVersion{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(raw, &kind); err != nil || kind.Kind != v1alpha1.ClusterServiceVersionKind {
			continue
		}
		csv := &v1alpha1.ClusterServiceVersion{}
		if err := yaml.Unmarshal(raw, csv); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		csv.Namespace, csv.UID = "operators", "csv-uid"
		name, _ := filepath.Rel(dir, file)
		out[name] = csv
	}
	if len(out) == 0 {
		t.Fatalf("there are no bundles in %s", dir)
	}
	return out
}

// TestRealBundles verifies that every real operator either renders or yields an *Error with a reason; that rendering is
// deterministic and does not modify its input; that objects are unique and have valid names; and that an operator
// without a grant has no objects outside its namespace.
func TestRealBundles(t *testing.T) {
	for file, csv := range realCSVs(t) {
		t.Run(file, func(t *testing.T) {
			certs, err := Certify(csv, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			in := Install{
				CSV:   csv,
				Group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "group"}},
				Grant: GrantOf(&csv.Spec), Certificates: certs,
			}
			before := csv.DeepCopy()
			first, err := Render(in)
			var stated *Error
			if errors.As(err, &stated) && stated.Reason != "" && stated.Message != "" {
				t.Skipf("cannot be installed: %s: %s", stated.Reason, stated.Message)
			}
			if err != nil {
				t.Fatal(err)
			}
			checkObjects(t, first)
			if len(first.LeftOut) > 0 {
				t.Errorf("left out %q although all permissions are granted", first.LeftOut)
			}
			if diff := cmp.Diff(first, rendered(t, in)); diff != "" {
				t.Errorf("the second result differs:\n%s", diff)
			}
			if diff := cmp.Diff(before, csv); diff != "" {
				t.Errorf("the CSV was changed:\n%s", diff)
			}

			in.Grant = Grant{}
			in.Targets = []string{"a", "operators"}
			for _, obj := range rendered(t, in).Objects {
				if obj.GetNamespace() != "operators" {
					t.Errorf("%s is in %q", obj.GetName(), obj.GetNamespace())
				}
			}
		})
	}
}

func checkObjects(t *testing.T, out Rendered) {
	t.Helper()
	seen := map[string]bool{}
	for _, obj := range out.Objects {
		kind := obj.GetObjectKind().GroupVersionKind()
		key := kind.String() + " " + obj.GetNamespace() + "/" + obj.GetName()
		if seen[key] {
			t.Errorf("duplicate object %s", key)
		}
		seen[key] = true
		var problems []string
		if strings.ContainsAny(obj.GetName(), "/%") {
			problems = append(problems, "not a segment of a path")
		}
		if kind.Group != "rbac.authorization.k8s.io" {
			problems = validation.IsDNS1123Subdomain(obj.GetName())
		}
		for name, value := range obj.GetLabels() {
			problems = append(problems, validation.IsQualifiedName(name)...)
			problems = append(problems, validation.IsValidLabelValue(value)...)
		}
		if len(problems) > 0 {
			t.Errorf("%s: %v", key, problems)
		}
	}
}
