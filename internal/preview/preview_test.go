package preview

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objects returns the objects in manifests.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for one := range strings.SplitSeq(text, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(one), &o.Object); err != nil {
			t.Fatalf("%v\n%s", err, one)
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	return out
}

const (
	deployment = `
kind: Deployment
metadata: {name: foo, namespace: a}
spec: {template: {spec: {containers: [{name: a, image: "foo:VERSION"}, {name: b, image: "proxy:1"}], initContainers: [{name: c, image: "init:VERSION"}]}}}
---
`
	role = `
kind: KIND
metadata: {name: foo, namespace: a}
rules: [{apiGroups: [GROUP], resources: [RESOURCES], verbs: [VERBS]}]
---
`
	binding = `
kind: KIND
metadata: {name: foo, namespace: a}
roleRef: {kind: REF, name: foo}
subjects: [{kind: SUBJECT, name: foo, namespace: a}]
---
`
	csv = `
kind: ClusterServiceVersion
metadata: {name: foo.vVERSION, namespace: a}
spec:
  version: VERSION
  install:
    strategy: deployment
    spec:
      deployments: [{name: foo, spec: {template: {spec: {containers: [{name: a, image: "foo:VERSION"}]}}}}]
      permissions: [{serviceAccountName: foo, rules: [{apiGroups: [""], resources: [pods], verbs: [VERBS]}]}]
      clusterPermissions:
      - {serviceAccountName: foo, rules: [{nonResourceURLs: [/metrics], verbs: [get]}, {apiGroups: [apps], resources: [deployments], verbs: [MORE]}]}
---
`
)

func fill(text string, values ...string) string { return strings.NewReplacer(values...).Replace(text) }

func TestCompare(t *testing.T) {
	bound := func(kind, group, resources, verbs string) string {
		bindings := map[string]string{"Role": "RoleBinding", "ClusterRole": "ClusterRoleBinding"}
		return fill(role, "KIND", kind, "GROUP", group, "RESOURCES", resources, "VERBS", verbs) +
			fill(binding, "KIND", bindings[kind], "REF", kind, "SUBJECT", "ServiceAccount")
	}
	cases := map[string]struct {
		reason        string
		before, after string
		want          Changes
	}{
		"Same": {"Nothing is told of what stays.", fill(deployment, "VERSION", "1"), fill(deployment, "VERSION", "1"), Changes{}},
		"Images": {"Images of all containers count.", fill(deployment, "VERSION", "1"), fill(deployment, "VERSION", "2"),
			Changes{ImagesRemoved: []string{"foo:1", "init:1"}, ImagesAdded: []string{"foo:2", "init:2"}}},
		"First": {"A first version has all rights anew.", "", bound("Role", `""`, "secrets, pods", "get, list"),
			Changes{RightsGained: []string{"get, list pods, secrets in a"}}},
		"Wider": {"The same right in all namespaces is another.", bound("Role", `""`, "secrets", "get"), bound("ClusterRole", `""`, "secrets", "get"),
			Changes{RightsGained: []string{"get secrets in all namespaces"}}},
		"Narrower": {"What remains in one namespace is lost in the others.", bound("ClusterRole", `""`, "secrets", "get"), bound("Role", `""`, "secrets", "get"),
			Changes{RightsLost: []string{"get secrets in all namespaces"}}},
		"Star": {"A star covers all.", bound("ClusterRole", `"*"`, `"*"`, `"*"`), bound("ClusterRole", "apps", "deployments", "delete"),
			Changes{RightsLost: []string{"* *.* in all namespaces"}}},
		"Unbound": {"A role for users is no right of the operator.", "",
			fill(role, "KIND", "ClusterRole", "GROUP", `""`, "RESOURCES", "secrets", "VERBS", "get") +
				fill(binding, "KIND", "ClusterRoleBinding", "REF", "ClusterRole", "SUBJECT", "Group"), Changes{}},
		"ClusterRoleInNamespace": {"A RoleBinding gives the rights of a ClusterRole in its namespace.", "",
			fill(strings.Replace(role, ", namespace: a", "", 1), "KIND", "ClusterRole", "GROUP", `""`, "RESOURCES", "secrets", "VERBS", "get") +
				fill(binding, "KIND", "RoleBinding", "REF", "ClusterRole", "SUBJECT", "ServiceAccount"), Changes{RightsGained: []string{"get secrets in a"}}},
		"CSV": {"A ClusterServiceVersion has them in its own way.", fill(csv, "VERSION", "1.0.0", "VERBS", "get, delete", "MORE", "get"),
			fill(csv, "VERSION", "1.1.0", "VERBS", "get", "MORE", "get, update"), Changes{
				ImagesRemoved: []string{"foo:1.0.0"}, ImagesAdded: []string{"foo:1.1.0"},
				RightsLost: []string{"delete pods in its target namespaces"}, RightsGained: []string{"update deployments.apps in all namespaces"},
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, err := New(objects(t, tc.before))
			if err != nil {
				t.Fatal(err)
			}
			after, err := New(objects(t, tc.after))
			if err != nil {
				t.Fatal(err)
			}
			got := Compare(before, after)
			for _, list := range []*[]string{&got.ImagesAdded, &got.ImagesRemoved, &got.RightsGained, &got.RightsLost} {
				if len(*list) == 0 {
					*list = nil
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNewOfSeveral verifies that a version has the images of all workloads and ClusterServiceVersions, in any order.
func TestNewOfSeveral(t *testing.T) {
	first, second := strings.ReplaceAll(csv, "VERSION", "1.0.0"), strings.ReplaceAll(csv, "VERSION", "2.0.0")
	for _, text := range []string{deployment + "---\n" + first + "---\n" + second, first + "---\n" + second + "---\n" + deployment} {
		got, err := New(objects(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"foo:1.0.0", "foo:2.0.0", "foo:VERSION", "init:VERSION", "proxy:1"}, got.Images); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

// TestNewInvalid verifies that manifests of any content return an error and no panic.
func TestNewInvalid(t *testing.T) {
	for _, text := range []string{
		`{kind: Deployment, spec: {template: {spec: {containers: no}}}}`, `{kind: Role, rules: no}`, `{kind: RoleBinding, subjects: no}`,
		`{kind: ClusterServiceVersion, spec: {version: x}}`, `{kind: ClusterServiceVersion, spec: no}`,
	} {
		if _, err := New(objects(t, text)); err == nil || !strings.Contains(err.Error(), "is invalid") {
			t.Errorf("%s returns %v", text, err)
		}
	}
	for _, text := range []string{`{kind: Deployment}`, `{kind: Deployment, spec: {template: {spec: {containers: [1, {image: 2}]}}}}`, `{kind: Role, rules: [{verbs: [get]}]}`} {
		if _, err := New(objects(t, text)); err != nil {
			t.Errorf("%s returns %v", text, err)
		}
	}
}

func TestDropped(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after string
		want          []string // with a star if the custom resource has it
	}{
		"Same":    {"Fields that stay are none.", `{properties: {spec: {properties: {a: {type: string}}}}}`, `{properties: {spec: {properties: {a: {type: string}, b: {}}}}}`, nil},
		"Field":   {"A field that goes is dropped.", `{properties: {spec: {properties: {size: {}, none: {}}}}}`, `{properties: {spec: {}}}`, []string{"spec.none", "spec.size*"}},
		"Whole":   {"With all that is inside.", `{properties: {spec: {properties: {size: {}}}}}`, `{properties: {}}`, []string{"spec*"}},
		"Status":  {"But not of the status.", `{properties: {status: {properties: {size: {}}}}}`, `{properties: {status: {}}}`, nil},
		"Root":    {"Nor those of every object.", `{properties: {apiVersion: {}, kind: {}, metadata: {}}}`, `{properties: {spec: {}}}`, nil},
		"Items":   {"Also in elements of lists.", `{properties: {spec: {properties: {list: {items: {properties: {a: {}, b: {}}}}}}}}`, `{properties: {spec: {properties: {list: {items: {properties: {b: {}}}}}}}}`, []string{"spec.list[].a*"}},
		"Values":  {"And values of maps.", `{properties: {spec: {properties: {map: {additionalProperties: {properties: {a: {}, b: {}}}}}}}}`, `{properties: {spec: {properties: {map: {additionalProperties: {properties: {a: {}}}}}}}}`, []string{"spec.map[].b*"}},
		"Unknown": {"Whatever is preserved is not dropped.", `{properties: {spec: {properties: {size: {}}}}}`, `{properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}`, nil},
		"AnyMap":  {"A field may become a key of a map.", `{properties: {spec: {properties: {size: {}}}}}`, `{properties: {spec: {additionalProperties: true}}}`, nil},
	}
	custom := map[string]any{"spec": map[string]any{"size": int64(1), "list": []any{"x", map[string]any{"a": "1"}}, "map": map[string]any{"k": map[string]any{"b": false}}}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := &apiextensionsv1.JSONSchemaProps{}, &apiextensionsv1.JSONSchemaProps{}
			for text, into := range map[string]any{tc.before: before, tc.after: after} {
				if err := yaml.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, f := range Dropped(before, after) {
				text := f.String()
				if f.In(custom) {
					text += "*"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMissingRoles(t *testing.T) {
	bind := func(kind, ref, subject string) string {
		return fill(binding, "KIND", kind, "REF", ref, "SUBJECT", subject)
	}
	roleOf := func(kind string) string {
		return fill(role, "KIND", kind, "GROUP", "apps", "RESOURCES", "deployments", "VERBS", "get")
	}
	cases := map[string]struct{ reason, objects, want string }{
		"There":   {"A role among the objects is not missing.", roleOf("Role") + bind("RoleBinding", "Role", "ServiceAccount"), ""},
		"Role":    {"A Role has the namespace of its binding.", bind("RoleBinding", "Role", "ServiceAccount"), "Role a/foo"},
		"Cluster": {"A ClusterRole has none.", bind("RoleBinding", "ClusterRole", "ServiceAccount"), "ClusterRole /foo"},
		"Twice": {"Each is missing once.", bind("RoleBinding", "ClusterRole", "ServiceAccount") + bind("ClusterRoleBinding", "ClusterRole", "ServiceAccount"),
			"ClusterRole /foo"},
		"Other": {"One of the other kind is another.", roleOf("Role") + bind("RoleBinding", "ClusterRole", "ServiceAccount"), "ClusterRole /foo"},
		"Users": {"Roles of users do not matter.", bind("ClusterRoleBinding", "ClusterRole", "Group"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range MissingRoles(objects(t, tc.objects)) {
				got = append(got, keyOf(o.GetKind(), o.GetNamespace(), o.GetName()))
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, text, tc.want)
			}
		})
	}
}
