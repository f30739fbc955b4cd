package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// TestChartMatchesConfig verifies that the chart renders the objects of config/default, or of config/lifecycle, and that its
// templates are current.
func TestChartMatchesConfig(t *testing.T) {
	kustomize := filepath.Join(root, "bin", "kustomize")
	chart := filepath.Join(root, "charts", "operator-status")
	base, err := build(kustomize, filepath.Join(root, "config", "default"))
	if err != nil {
		t.Fatalf("%v (`make tools` builds kustomize)", err)
	}
	all, err := build(kustomize, filepath.Join(root, "config", "lifecycle"))
	if err != nil {
		t.Fatal(err)
	}
	current, err := templates(base, all)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range current {
		if got, err := os.ReadFile(filepath.Join(chart, "templates", name)); err != nil || string(got) != want {
			t.Errorf("%s is out of date (%v): run `make chart`", name, err)
		}
	}
	for lifecycle, want := range map[bool][]string{false: base, true: all} {
		got := renderChart(t, chart, map[string]any{
			"image": map[string]any{"repository": "controller", "tag": "latest"}, "lifecycle": map[string]any{"enabled": lifecycle},
		})
		if diff := cmp.Diff(objects(t, want), got); diff != "" {
			t.Errorf("lifecycle.enabled %t: -config +chart\n%s", lifecycle, diff)
		}
	}
}

// TestImage verifies which image the chart refers to.
func TestImage(t *testing.T) {
	cases := map[string]struct {
		reason string
		image  map[string]any
		want   string
	}{
		"Default": {reason: "The default image has the tag of the chart's version.", image: nil, want: "ghcr.io/operator-status/operator-status:v0.1.0"},
		"Tag":     {reason: "The value image.tag replaces the default tag.", image: map[string]any{"tag": "a"}, want: "ghcr.io/operator-status/operator-status:a"},
		"Digest": {reason: "The value image.digest takes precedence over image.tag.", image: map[string]any{"tag": "a", "digest": "sha256:b"},
			want: "ghcr.io/operator-status/operator-status@sha256:b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := renderChart(t, filepath.Join(root, "charts", "operator-status"), map[string]any{"image": tc.image})["Deployment/operator-status-controller-manager"]
			containers, _, _ := unstructured.NestedSlice(o, "spec", "template", "spec", "containers")
			if got := containers[0].(map[string]any)["image"]; got != tc.want {
				t.Errorf("%s\nimage %v; want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestTracing verifies that traces are enabled with the chart, and with config/tracing, for which the managers may reach the collector.
func TestTracing(t *testing.T) {
	overlay, err := os.MkdirTemp(filepath.Join(root, "bin"), "tracing-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(overlay) }) // bin is not committed
	component := "resources: [../../config/default]\ncomponents: [../../config/tracing]\n"
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(component), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := build(filepath.Join(root, "bin", "kustomize"), overlay)
	if err != nil {
		t.Fatal(err)
	}
	const endpoint = "otel-collector.observability.svc:4317"
	for way, of := range map[string]map[string]map[string]any{
		"kustomize": objects(t, built),
		"Helm": renderChart(t, filepath.Join(root, "charts", "operator-status"), map[string]any{
			"tracing": map[string]any{"endpoint": endpoint, "insecure": true}, "lifecycle": map[string]any{"enabled": false},
		}),
	} {
		containers, _, _ := unstructured.NestedSlice(of["Deployment/operator-status-controller-manager"], "spec", "template", "spec", "containers")
		args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		for _, want := range []string{"--tracing-endpoint=" + endpoint, "--tracing-insecure", "--leader-elect"} {
			if !slices.Contains(args, want) {
				t.Errorf("%s: the arguments of the manager do not contain %s: %v", way, want, args)
			}
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(of)), allowsPort(4317)) {
			t.Errorf("%s: no NetworkPolicy permits the port of the collector", way)
		}
	}
}

// allowsPort returns a function that reports whether an object is a NetworkPolicy that permits connections to a port.
func allowsPort(port int64) func(map[string]any) bool {
	return func(o map[string]any) bool {
		rules, _, _ := unstructured.NestedSlice(o, "spec", "egress")
		return slices.ContainsFunc(rules, func(rule any) bool {
			ports, _, _ := unstructured.NestedSlice(rule.(map[string]any), "ports")
			return slices.ContainsFunc(ports, func(p any) bool { return fmt.Sprint(p.(map[string]any)["port"]) == fmt.Sprint(port) })
		})
	}
}

// renderChart returns the objects of the chart. Its templates use few functions, which are enough to render them without
// Helm.
func renderChart(t *testing.T, chart string, values map[string]any) map[string]map[string]any {
	t.Helper()
	all := template.New("chart")
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			out := &bytes.Buffer{}
			err := all.ExecuteTemplate(out, name, data)
			return out.String(), err
		},
		"regexFind": func(expression, s string) string { return regexp.MustCompile(expression).FindString(s) },
		"lookup":    func(string, string, string, string) any { return nil }, // nothing exists yet
		"toYaml": func(v any) (string, error) {
			out, err := yaml.Marshal(v)
			return strings.TrimSpace(string(out)), err
		},
		"nindent": func(n int, s string) string {
			return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
		},
		"default": func(d, v any) any {
			if v == nil || v == "" {
				return d
			}
			return v
		},
	})
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*.*")) // without those of `helm test`
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	var merged, metadata map[string]any
	for file, to := range map[string]*map[string]any{"values.yaml": &merged, "Chart.yaml": &metadata} {
		text, err := os.ReadFile(filepath.Join(chart, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, to); err != nil {
			t.Fatal(err)
		}
	}
	for key, v := range values {
		if v, ok := v.(map[string]any); ok {
			maps.Copy(merged[key].(map[string]any), v)
		}
	}
	data := map[string]any{
		"Values": merged, "Chart": map[string]any{"AppVersion": metadata["appVersion"]}, "Release": map[string]any{"Namespace": namespace},
	}
	out := &bytes.Buffer{}
	for _, f := range files {
		if filepath.Ext(f) != ".yaml" {
			continue
		}
		if err := all.ExecuteTemplate(out, filepath.Base(f), data); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	return objects(t, strings.Split("\n"+out.String(), "\n---\n"))
}

// objects returns objects by kind and name, without the Namespace of the release and the annotation that keeps some.
func objects(t *testing.T, texts []string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, text := range texts {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if len(o.Object) == 0 || o.GetKind() == namespaceKind && o.GetName() == namespace {
			continue
		}
		if unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy"); len(o.GetAnnotations()) == 0 {
			o.SetAnnotations(nil)
		}
		id := o.GetKind() + "/" + o.GetName()
		if _, ok := out[id]; ok {
			t.Errorf("duplicate object %s; the objects are %v", id, slices.Sorted(maps.Keys(out)))
		}
		out[id] = o.Object
	}
	return out
}
