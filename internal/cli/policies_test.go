package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/config/policies"
)

// someOperators are Strimzi, installed by OLM, Keycloak by Helm, CloudNativePG by kubectl, with an operand that has its service account,
// and a CustomResourceDefinition without an operator.
const someOperators = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: kafka, name: strimzi-cluster-operator.v0.40.0}
spec: {customresourcedefinitions: {owned: [{name: kafkas.kafka.strimzi.io, kind: Kafka, version: v1beta2}]}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kafkas.kafka.strimzi.io}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: keycloaks.k8s.keycloak.org}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.postgresql.cnpg.io}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: jaegers.jaegertracing.io}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: sso
  name: keycloak-operator
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: login, meta.helm.sh/release-namespace: sso}
spec: {template: {spec: {serviceAccountName: keycloak, containers: [{name: a, image: "a:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: cnpg-system, name: cloudnative-pg}
spec: {template: {spec: {serviceAccountName: cnpg, containers: [{name: a, image: "a:1"}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: cnpg-system, name: operand, ownerReferences: [{apiVersion: a/v1, kind: A, name: a, uid: a, controller: true}]}
spec: {template: {spec: {serviceAccountName: cnpg, containers: [{name: a, image: "a:1"}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: both}
rules: [{apiGroups: [k8s.keycloak.org, postgresql.cnpg.io], resources: ["*/status"], verbs: [update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: sso, name: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: keycloak}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: keycloak}
rules: [{apiGroups: [k8s.keycloak.org], resources: [keycloaks/status], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cnpg}
rules: [{apiGroups: [postgresql.cnpg.io], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: keycloak}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: keycloak}
subjects: [{kind: ServiceAccount, namespace: sso, name: keycloak}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cnpg}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cnpg}
subjects: [{kind: ServiceAccount, namespace: cnpg-system, name: cnpg}]
`

// onOperators runs the command line on someOperators and more manifests.
func onOperators(t *testing.T, more string, args ...string) (out, errs string, code int) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "manifests.yaml"), []byte(someOperators+more), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", os.DevNull)
	var stdout, stderr bytes.Buffer
	code = Run(append(args, "--from="+folder), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &stdout, ErrOut: &stderr})
	return stdout.String(), stderr.String(), code
}

func TestPolicies(t *testing.T) {
	table := func(strimzi, keycloak string) string {
		return "POLICY          NAMESPACE    OPERATOR                          INSTALLER  APPLIED\n" +
			"cloudnative-pg  cnpg-system  cloudnative-pg                    Workload   No\n" +
			"jaeger          <none>       <none>                            <none>     No\n" +
			"keycloak        sso          login                             Helm       " + keycloak + "\n" +
			"strimzi         kafka        strimzi-cluster-operator.v0.40.0  OLM        " + strimzi + "\n"
	}
	strimzi := "---\n" + manifestNamed(t, "strimzi")
	const nmstate = `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodenetworkconfigurationpolicies.nmstate.io}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: nmstate, name: kubernetes-nmstate-op.v0.85.0}
spec:
  customresourcedefinitions: {owned: [{name: nmstates.nmstate.io, kind: NMState, version: v1}]}
  install:
    strategy: deployment
    spec: {deployments: [], clusterPermissions: [{serviceAccountName: a, rules: [{apiGroups: [nmstate.io], resources: ["*"], verbs: ["*"]}]}]}
`
	cases := map[string]struct {
		reason, more string
		out, errs    string
	}{
		"NotApplied": {
			reason: "The policies for operators of any installer are listed, with the command that applies them.", out: table("No", "No"),
			errs: "To apply: kubectl operator-status policies cloudnative-pg keycloak strimzi -o yaml | kubectl apply -f -\n",
		},
		"Applied": {
			reason: "A policy with the same spec is applied, and another one is not.", more: strimzi, out: table("Yes", "No"),
			errs: "To apply: kubectl operator-status policies cloudnative-pg keycloak -o yaml | kubectl apply -f -\n",
		},
		"Changed": {
			reason: "A policy with another spec was changed by its user.",
			more:   strings.Replace(strimzi, `"!NotReady"`, `"Ready"`, 1), out: table("Changed", "No"),
			errs: "To apply: kubectl operator-status policies cloudnative-pg keycloak -o yaml | kubectl apply -f -\n",
		},
		"Components": {
			reason: "An operator of OLM serves custom resources whose CustomResourceDefinition it creates itself.", more: nmstate,
			out:  strings.Replace(table("No", "No"), "strimzi ", "nmstate         nmstate      kubernetes-nmstate-op.v0.85.0     OLM        No\nstrimzi ", 1),
			errs: "To apply: kubectl operator-status policies cloudnative-pg keycloak nmstate strimzi -o yaml | kubectl apply -f -\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, errs, code := onOperators(t, tc.more, "policies")
			if diff := cmp.Diff(tc.out, out) + cmp.Diff(tc.errs, lastLine(errs)); diff != "" || code != exitOK {
				t.Errorf("%s\nexit code %d, -want +got:\n%s", tc.reason, code, diff)
			}
		})
	}
}

// lastLine returns the last line of a text: before it are warnings about kinds that the archive lacks.
func lastLine(text string) string {
	lines := strings.SplitAfter(text, "\n")
	return lines[max(len(lines)-2, 0)]
}

func TestPolicyManifests(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		kinds  []string
	}{
		"All":      {"Without names, the manifests of those that are not applied are printed.", nil, []string{"ProbePolicy cloudnative-pg", "ProbePolicy keycloak", "ProbePolicy strimzi"}},
		"One":      {"A policy is printed once, whatever installed its operators.", []string{"keycloak"}, []string{"ProbePolicy keycloak"}},
		"NotThere": {"A policy that matches nothing can be read.", []string{"rook"}, []string{"ProbePolicy rook"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, _, code := onOperators(t, "", append([]string{"policies", "-o", "yaml"}, tc.args...)...)
			var kinds []string
			for manifest := range strings.SplitSeq(out, "---\n") {
				var object struct {
					Kind     string
					Metadata struct{ Name string }
				}
				if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
					t.Fatalf("%v\n%s", err, manifest)
				}
				kinds = append(kinds, object.Kind+" "+object.Metadata.Name)
			}
			if diff := cmp.Diff(tc.kinds, kinds); diff != "" || code != exitOK {
				t.Errorf("%s\nexit code %d, -want +got:\n%s", tc.reason, code, diff)
			}
		})
	}
	if _, errs, code := onOperators(t, "", "policies", "nothing"); code != exitError || !strings.Contains(errs, `no policy is named "nothing"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func manifestNamed(t *testing.T, name string) string {
	t.Helper()
	all, err := policies.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Name == name {
			return p.Manifest
		}
	}
	t.Fatalf("there is no policy %s", name)
	return ""
}

// TestMisspelt verifies that an opt-in that has no effect is reported, whatever installed the operator.
func TestMisspelt(t *testing.T) {
	const crds = `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.postgresql.cnpg.io, annotations: {olm.operatorframework.io/condition.Upgradable: "!Busy"}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com, annotations: {olm.operatorframework.io/condition.important: Bad, olm.operatorframework.io/condition.Upgradeable: "!Busy"}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: apps, name: foo.v1.0.0}
spec: {customresourcedefinitions: {owned: [{name: foos.example.com, kind: Foo, version: v1}]}}
status: {phase: Succeeded}
`
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"OLM":      {"Its ClusterServiceVersion owns the CustomResourceDefinition.", []string{"foo.v1.0.0", "-n", "apps"}, "condition.important of CustomResourceDefinition foos.example.com has no effect"},
		"Workload": {"Its service account reports on the custom resources.", []string{"cloudnative-pg", "-n", "cnpg-system"}, "condition.Upgradable of CustomResourceDefinition backups.postgresql.cnpg.io has no effect"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, _, code := onOperators(t, crds, append([]string{"why"}, tc.args...)...)
			if code != exitOK || !strings.Contains(out, "Notice") || !strings.Contains(strings.Join(strings.Fields(out), " "), tc.want) {
				t.Errorf("%s\nexit code %d\n%s\nlacks %q", tc.reason, code, out, tc.want)
			}
		})
	}
	if out, _, _ := onOperators(t, crds, "why", "login", "-n", "sso"); strings.Contains(out, "has no effect") {
		t.Errorf("an operator is blamed for an annotation of another one:\n%s", out)
	}
}
