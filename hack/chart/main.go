// Command chart generates the templates of charts/operator-status from config/default and config/lifecycle, so they never differ.
//
//	chart <kustomize> <config> <chart>
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	namespace = "operator-status-system"
	crdKind   = "CustomResourceDefinition"

	namespaceKind = "Namespace"

	generatedBy = "{{- /* Generated from config by `make chart`. */ -}}\n"
)

func main() {
	const arguments = 3
	if len(os.Args) != arguments+1 {
		fmt.Fprintln(os.Stderr, "usage: chart <kustomize> <config> <chart>")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(kustomize, config, chart string) error {
	base, err := build(kustomize, filepath.Join(config, "default"))
	if err != nil {
		return err
	}
	all, err := build(kustomize, filepath.Join(config, "lifecycle"))
	if err != nil {
		return err
	}
	files, err := templates(base, all)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(chart, "templates", name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the chart: %w", err)
		}
	}
	return nil
}

func build(kustomize, dir string) ([]string, error) {
	out, err := exec.Command(kustomize, "build", dir).Output()
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", dir, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n---\n"), nil
}

// templates returns the templates by name: those of the objects in base, and those that are only in all.
func templates(base, all []string) (map[string]string, error) {
	inBase := map[string]bool{}
	for _, o := range base {
		inBase[o] = true
	}
	out := map[string]string{}
	found := 0
	for _, text := range all {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			return nil, fmt.Errorf("parsing an object: %w", err)
		}
		set := "lifecycle"
		if inBase[text] {
			set, found = "status", found+1
		}
		if o.GetKind() == namespaceKind && o.GetName() == namespace {
			continue // Helm creates it
		}
		t, err := templated(o.GetKind(), text, set)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		file := set + ".yaml"
		if o.GetKind() == crdKind {
			file = set + "-crds.yaml"
		}
		out[file] += t
	}
	if found != len(inBase) {
		return nil, fmt.Errorf("config/lifecycle changes %d objects of config/default, which the chart cannot express", len(inBase)-found)
	}
	for name, text := range out {
		out[name] = generatedBy + text
		if strings.HasPrefix(name, "lifecycle") {
			out[name] = generatedBy + "{{- if .Values.lifecycle.enabled }}\n" + text + "{{- end }}\n"
		}
	}
	return out, nil
}

// conditions are the values that include objects of a kind.
var conditions = map[string]string{
	"NetworkPolicy":                    ".Values.networkPolicies.enabled",
	"ValidatingAdmissionPolicy":        ".Values.admissionPolicies.enabled",
	"ValidatingAdmissionPolicyBinding": ".Values.admissionPolicies.enabled",
}

// Templates for traces, which are off by default.
const (
	tracingFlags = `        {{- with .Values.tracing.endpoint }}
        - --tracing-endpoint={{ . }}
        {{- end }}
        {{- if .Values.tracing.insecure }}
        - --tracing-insecure
        {{- end }}
`
	tracingPort = `  {{- with .Values.tracing.endpoint }}
  - ports:
    - port: {{ regexFind "[0-9]+$" . }}
      protocol: TCP
  {{- end }}
`
)

// templated returns the template of an object.
func templated(kind, text, set string) (string, error) {
	if strings.Contains(text, "{{") {
		return "", fmt.Errorf("the manifest contains {{, which Helm would interpret")
	}
	var err error
	replace := func(old, with string) {
		if strings.Count(text, old) != 1 {
			err = fmt.Errorf("the manifest contains %q %d times, want once", old, strings.Count(text, old))
		}
		text = strings.Replace(text, old, with, 1)
	}
	text = strings.ReplaceAll(text, namespace, "{{ .Release.Namespace }}")
	switch kind {
	case "Deployment":
		values := map[string]string{"status": ".Values", "lifecycle": ".Values.lifecycle"}[set]
		replace("image: controller:latest", `image: {{ include "operator-status.image" . }}`)
		replace("\n  replicas: 1\n", "\n  replicas: {{ "+values+".replicas }}\n")
		start := strings.Index(text, "\n        resources:\n")
		if start < 0 {
			return "", fmt.Errorf("the manifest has no resources")
		}
		end := start + 1 + len("        resources:\n")
		for strings.HasPrefix(text[end:], "          ") {
			end += strings.Index(text[end:], "\n") + 1
		}
		text = text[:start] + "\n        resources:\n          {{- toYaml " + values + ".resources | nindent 10 }}\n" + text[end:]
		if set == "status" {
			replace("\n      - args:\n", "\n      - args:\n"+tracingFlags)
		}
	case "NetworkPolicy":
		if set == "status" && strings.Contains(text, "\n  egress:\n") {
			replace("\n  egress:\n", "\n  egress:\n"+tracingPort)
		}
	case crdKind: // they outlive the release, since custom resources do
		if strings.Contains(text, "\n  annotations:\n") {
			replace("\n  annotations:\n", "\n  annotations:\n    helm.sh/resource-policy: keep\n")
		} else {
			replace("\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n")
		}
	}
	condition := conditions[kind]
	if kind == namespaceKind { // may exist already, and stays with the objects of others in it
		name := strings.TrimSpace(text[strings.LastIndex(text, "\n  name: ")+len("\n  name: "):])
		condition = fmt.Sprintf("not (lookup %q %q %q %q)", "v1", namespaceKind, "", name)
		replace("\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n")
	}
	out := "---\n" + text + "\n"
	if condition != "" {
		out = "{{- if " + condition + " }}\n" + out + "{{- end }}\n"
	}
	return out, err
}
