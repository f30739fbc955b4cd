package resolve

import (
	"encoding/json"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

func TestInstalled(t *testing.T) {
	full := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "vault.v1.2.3"}}
	full.Spec.Version.Version = semver.MustParse("1.2.3")
	full.Spec.CustomResourceDefinitions = olm.CustomResourceDefinitions{
		Owned: []olm.CRDDescription{
			{Name: "vaults.security.example.com", Version: "v1", Kind: "Vault"},
			{Name: "nodot", Version: "v1", Kind: "Nonsense"},
		},
		Required: []olm.CRDDescription{{Name: "etcds.example.com", Version: "v1", Kind: "Etcd"}},
	}
	bare := Installed{
		Name: "vault.v1.2.3", Version: semver.MustParse("1.2.3"),
		Provides: []property.GVK{{Group: "security.example.com", Version: "v1", Kind: "Vault"}},
	}
	needs := property.Property{Type: property.TypePackageRequired, Value: json.RawMessage(`{"packageName":"etcd","versionRange":"1.x"}`)}
	named := property.Property{Type: property.TypePackage, Value: json.RawMessage(`{"packageName":"vault","version":"1.2.3"}`)}
	unreadable := property.Property{Type: property.TypePackage, Value: json.RawMessage(`"vault"`)}
	with := func(pkg string, properties ...property.Property) Installed {
		out := bare
		out.Package, out.Properties = pkg, properties
		return out
	}
	stamp := func(properties ...property.Property) string {
		data, err := json.Marshal(map[string]any{"properties": properties})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	cases := map[string]struct {
		reason     string
		annotation *string
		want       Installed
	}{
		"Unstamped":         {"A CSV without the annotation has provided APIs, and no package.", nil, bare},
		"Stamped":           {"The package and the dependencies are read from the annotation.", new(stamp(named, needs)), with("vault", named, needs)},
		"WithoutAPackage":   {"Dependencies are read if the annotation has no package.", new(stamp(needs)), with("", needs)},
		"UnreadablePackage": {"A package that cannot be parsed is left out.", new(stamp(unreadable, needs)), with("", unreadable, needs)},
		"Garbage":           {"An annotation that is not JSON is ignored.", new("{"), bare},
		"Empty":             {"An empty annotation is ignored.", new(""), bare},
		"Null":              {"An annotation without properties is ignored.", new(`{"properties":null}`), bare},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := full.DeepCopy()
			if tc.annotation != nil {
				in.Annotations = map[string]string{csvchain.AnnotationProperties: *tc.annotation}
			}
			if diff := cmp.Diff(tc.want, InstalledOf(in)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestServed(t *testing.T) {
	crd := apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensions.CustomResourceDefinitionNames{Kind: "Foo"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true}, {Name: "v1beta1"}, {Name: "v2", Served: true}},
		},
	}
	got := Served([]apiextensions.CustomResourceDefinition{crd})
	want := []property.GVK{{Group: "example.com", Version: "v1", Kind: "Foo"}, {Group: "example.com", Version: "v2", Kind: "Foo"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of served versions (-want +got):\n%s", diff)
	}
}
