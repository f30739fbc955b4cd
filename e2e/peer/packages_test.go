package peer

import (
	"os"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// packages returns the packages in the folder that BUNDLES names, or made-up ones.
func packages(t testing.TB) []testcatalog.Package {
	t.Helper()
	folder := os.Getenv("BUNDLES")
	if folder == "" {
		t.Log("BUNDLES is not set to a folder of packages: generated packages are used")
		return generatedPackages(t)
	}
	out, err := testcatalog.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// subscribed returns the packages that get a Subscription. The others are installed as dependencies.
func subscribed(packages []testcatalog.Package) []testcatalog.Package {
	var out []testcatalog.Package
	for _, p := range packages {
		if p.Name != needed {
			out = append(out, p)
		}
	}
	return out
}

// oldest returns the packages with only their oldest version.
func oldest(packages []testcatalog.Package) []testcatalog.Package {
	var out []testcatalog.Package
	for _, p := range packages {
		p.Bundles = p.Bundles[:1]
		out = append(out, p)
	}
	return out
}

// updatable returns the packages with more than one version.
func updatable(packages []testcatalog.Package) []testcatalog.Package {
	var out []testcatalog.Package
	for _, p := range packages {
		if len(p.Bundles) > 1 {
			out = append(out, p)
		}
	}
	return out
}

// needed is a made-up package that another one requires.
const needed = "needed"

// generatedPackages returns packages that together cover everything a bundle may contain.
func generatedPackages(t testing.TB) []testcatalog.Package {
	t.Helper()
	var out []testcatalog.Package
	for name, foo := range map[string]testcatalog.Foo{
		"plain":      {Upgradeable: "!Migrating"},
		"needy":      {Requires: []string{needed}},
		needed:       {},
		"own":        {Change: ownNamespace},
		"hooked":     {Change: webhooks},
		"loaded":     {More: []string{more}},
		"configured": {},
	} {
		older, newer := foo, foo
		older.Name, older.Version = name, "1.0.0"
		newer.Name, newer.Version = name, "1.1.0"
		out = append(out, testcatalog.Published(t, older, newer))
	}
	return out
}

// ownNamespace is a Change: the operator supports only OwnNamespace.
func ownNamespace(csv, _ *unstructured.Unstructured) {
	set(csv, []any{map[string]any{"type": "OwnNamespace", "supported": true}}, "spec", "installModes")
	unstructured.RemoveNestedField(csv.Object, "spec", "install", "spec", "clusterPermissions")
}

// webhooks is a Change: the operator serves one webhook of each type.
func webhooks(csv, crd *unstructured.Unstructured) {
	set(csv, []any{map[string]any{"type": "AllNamespaces", "supported": true}}, "spec", "installModes") // conversion requires it
	rules := []any{map[string]any{
		"apiGroups": []any{"hooked.example.com"}, "apiVersions": []any{"v1"}, "resources": []any{"hookeds"}, "operations": []any{"CREATE"},
	}}
	hook := func(kind, path string) map[string]any {
		return map[string]any{
			"type": kind, "generateName": "v" + path + ".hooked.example.com", "deploymentName": "hooked-operator",
			"admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "containerPort": int64(9443), "targetPort": int64(9443),
			"webhookPath": "/" + path, "failurePolicy": "Ignore", "rules": rules,
		}
	}
	convert := map[string]any{
		"type": "ConversionWebhook", "generateName": "convert.hooked.example.com", "deploymentName": "hooked-operator",
		"admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "containerPort": int64(9443), "targetPort": int64(9443),
		"webhookPath": "/convert", "conversionCRDs": []any{"hookeds.hooked.example.com"},
	}
	set(csv, []any{hook("ValidatingAdmissionWebhook", "validate"), hook("MutatingAdmissionWebhook", "mutate"), convert}, "spec", "webhookdefinitions")
	set(crd, false, "spec", "preserveUnknownFields")
}

func set(o *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		panic(err) // the paths are constants of this file
	}
}

// more holds the manifests of further objects in a bundle.
const more = `
apiVersion: v1
kind: ConfigMap
metadata: {name: loaded-settings}
data: {greeting: hello}
---
apiVersion: v1
kind: Service
metadata: {name: loaded-metrics}
spec: {ports: [{name: metrics, port: 8443}], selector: {app: loaded-operator}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: loaded-priority}
value: 1000
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: loaded-budget}
spec: {minAvailable: 1, selector: {matchLabels: {app: loaded-operator}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: loaded-metrics}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: loaded-metrics-reader}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: loaded-metrics}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: loaded-metrics}
subjects: [{kind: ServiceAccount, name: loaded-metrics}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: loaded-metrics}
rules: [{apiGroups: [""], resources: [services], verbs: [get]}]
`

// configs holds the spec.config of Subscriptions, by package.
var configs = map[string]*olm.SubscriptionConfig{
	"configured": {
		Env:          []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "http://proxy.example.com"}, {Name: "OPERATOR_CONDITION_NAME", Value: "mine"}},
		EnvFrom:      []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		NodeSelector: map[string]string{"kubernetes.io/os": "linux"},
		Tolerations:  []corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
		Volumes:      []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}},
		Annotations:  map[string]string{"example.com/asked-for": "by the Subscription"},
	},
}
