package installers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
)

// TestPreview verifies what the command line prints before a Helm release is updated to another chart: to a harmless one, and to ones that
// ask for more rights, drop a field that a custom resource has, or make it invalid.
func TestPreview(t *testing.T) {
	o := story.New(t, cluster, kubeconfig, "preview")
	chart := func(version, properties, rights string) string {
		t.Helper()
		folder := neighbour.Chart(t, o, version)
		file := filepath.Join(folder, "templates", "operator.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.NewReplacer("x-kubernetes-preserve-unknown-fields: true", "properties: {spec: {type: object, properties: {"+properties+"}}}",
			"\nrules:", "\nrules:"+rights).Replace(string(text))
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	const all = "size: {type: integer}, colour: {type: string}"
	if out, err := command("helm", "install", o.Name, chart(story.First, all, ""), "--namespace="+o.Namespace).CombinedOutput(); err != nil {
		t.Fatalf("helm install: %v: %s", err, out)
	}
	o.AwaitImage(t, story.First)
	custom := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "preview.example.com/v1", "kind": "Widget", "spec": map[string]any{"size": int64(3), "colour": "red"},
	}}
	custom.SetNamespace(o.Namespace)
	custom.SetName("example")
	if err := cluster.Rediscovered(t).Client.Create(t.Context(), custom); err != nil {
		t.Fatal(err)
	}
	images := "The manifests in the standard input\nImages\n  - example.com/preview:1.0.0\n  + example.com/preview:1.1.0\nRights\n"
	cases := map[string]struct {
		reason             string
		properties, rights string
		bound              string // a ClusterRole that is not in the chart
		code               int
		want               string
	}{
		"Harmless": {"Only the image changes.", all + ", shape: {type: string}", "", "", 0, images + "  none\nCustomResourceDefinitions\n  none\n"},
		"Rights": {"More rights are told.", all, "\n- {apiGroups: [''], resources: [secrets], verbs: [get, list]}", "", 0,
			images + "  + get, list secrets in all namespaces\nCustomResourceDefinitions\n  none\n"},
		"Admin": {"A role that the chart binds and does not have is read from the cluster.", all, "", "cluster-admin", 0,
			images + "  + * *, *.* in all namespaces\nCustomResourceDefinitions\n  none\n"},
		"NoRole": {"One that does not exist is told.", all, "", "gone", 0,
			images + "  unknown: those of ClusterRole gone, which does not exist\nCustomResourceDefinitions\n  none\n"},
		"Dropped": {"A field with a value would be lost.", "size: {type: integer}", "", "", 3,
			images + "  none\nCustomResourceDefinitions\n  widgets.preview.example.com: BROKEN: v1 drops spec.colour, which is lost in Widget " + o.Namespace + "/example\n"},
		"Invalid": {"A custom resource would be invalid.", "size: {type: integer, maximum: 2}, colour: {type: string}", "", "", 3,
			images + "  none\nCustomResourceDefinitions\n  widgets.preview.example.com: BROKEN: it would break existing custom resources: Widget " + o.Namespace +
				"/example would be invalid: spec.size: Invalid value: spec.size in body should be less than or equal to 2\n"},
	}
	const binding = `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: preview-ROLE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ROLE}
subjects: [{kind: ServiceAccount, name: preview, namespace: default}]
`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			manifests, err := command("helm", "template", o.Name, chart(story.Second, tc.properties, tc.rights), "--namespace="+o.Namespace).Output()
			if err != nil {
				t.Fatalf("helm template: %v", err)
			}
			more := ""
			if tc.bound != "" {
				more = strings.ReplaceAll(binding, "ROLE", tc.bound)
			}
			preview := command("kubectl-operator_status", "preview", "-f", "-", "--namespace="+o.Namespace)
			preview.Stdin = strings.NewReader(string(manifests) + more)
			out, err := preview.CombinedOutput()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != tc.code || string(out) != tc.want {
				t.Errorf("%s\npreview exits with %d and prints\n%s\nwant %d and\n%s", tc.reason, code, out, tc.code, tc.want)
			}
		})
	}
}
