// Package policy tests the ValidatingAdmissionPolicies with the code of the API server.
package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
)

// requests is how many random ones each policy decides.
const requests = 4000

// subject is an object that a policy decides about.
type subject struct {
	policy, resource string
	manifest         string // with all fields that the policy reads
	user             string

	// parameter returns a parameter of the policy that may be about the object. It may be nil.
	parameter func(*rand.Rand, *unstructured.Unstructured) map[string]any

	// update reports whether a request is an update that is to be denied. It is nil if that is not to be verified.
	update func(before, after, parameter *unstructured.Unstructured) bool
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: foo
  namespace: foo
  labels: {app: foo}
  annotations: {operatorstatus.io/allow-upgrade: "foo:3,foo:4", other: x}
spec:
  replicas: 1
  template:
    metadata: {labels: {app: foo}}
    spec:
      serviceAccountName: foo
      initContainers: [{name: init, image: "init:1"}]
      containers: [{name: manager, image: "foo:1", env: [{name: a, value: b}]}, {name: proxy, image: "proxy:1"}]
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com, labels: {a: b}}
spec:
  group: example.com
  conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: YQ==}}}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: foo}}}]
`

const record = `
apiVersion: v1
kind: Secret
metadata: {name: sh.helm.release.v1.foo.v2, namespace: foo, labels: {owner: helm, name: foo, status: pending-upgrade, version: "2"}}
data: {release: YQ==}
`

const plan = `
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-a, namespace: foo}
spec: {approval: Automatic, approved: true, clusterServiceVersionNames: [foo.v2, bar.v1]}
`

const subscription = `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: foo, namespace: foo}
spec: {name: foo}
status:
  conditions:
  - {type: CatalogSourcesUnhealthy, status: "False", message: fine}
  - {type: BundleUnpackFailed, status: "True", reason: a, message: "ValidatingAdmissionPolicy 'hold-installplans' denied request: The update"}
`

const extension = `
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: foo, labels: {a: b}, annotations: {a: b, operatorstatus.io/resolve-anew: c}, finalizers: [a/b]}
spec: {namespace: foo, source: {sourceType: Catalog}}
status:
  install: {bundle: {name: foo, version: 1.0.0}}
  conditions: [{type: Installed, status: "True"}, {type: Running, status: "True"}]
`

const manager = "system:serviceaccount:operator-status-system:operator-status-controller-manager"

func subjects() map[string]subject {
	out := map[string]subject{
		"Definition":  {policy: "hold-definitions", resource: "customresourcedefinitions", manifest: definition, parameter: index, update: updatesDefinition},
		"Record":      {policy: "hold-revisions", resource: "secrets", manifest: record, parameter: index, update: updatesRelease},
		"InstallPlan": {policy: "hold-installplans", resource: "installplans", manifest: plan, parameter: hold},
		"Subscription": {
			policy: "hold-repetition", resource: "subscriptions", manifest: subscription,
		},
		"Retry":            {policy: "retry", resource: "clusterextensions", manifest: extension, user: manager},
		"ClusterExtension": {policy: "clusterextension-status", resource: "clusterextensions", manifest: extension, user: manager},
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		out[kind] = subject{
			policy: "hold-images", resource: strings.ToLower(kind) + "s", manifest: strings.Replace(deployment, "Deployment", kind, 1), parameter: index,
			update: updatesWorkload,
		}
	}
	return out
}

// TestTotal verifies that the policies decide about whatever objects there are: an expression that fails would deny requests that have
// nothing to do with an update. Updates of a held operator are denied, with a message for its installer, and nothing else.
func TestTotal(t *testing.T) {
	policies := read(t)
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			r, validator := rand.New(rand.NewPCG(seed, 0)), compile(t, policies[s.policy])
			selected, err := metav1.LabelSelectorAsSelector(cmp.Or(policies[s.policy].Spec.MatchConstraints.ObjectSelector, &metav1.LabelSelector{}))
			if err != nil {
				t.Fatal(err)
			}
			numbers := map[string]int{}
			for range requests {
				before := &unstructured.Unstructured{Object: change(r, manifest(t, s.manifest), 0.05).(map[string]any)}
				after := &unstructured.Unstructured{Object: change(r, before.Object, 0.1).(map[string]any)}
				if !selected.Matches(labels.Set(after.GetLabels())) {
					continue
				}
				var parameter *unstructured.Unstructured
				if s.parameter != nil {
					parameter = &unstructured.Unstructured{Object: s.parameter(r, after)}
				}
				if s.resource == "secrets" || s.resource == "installplans" && r.IntN(2) == 0 {
					before = nil
				}
				action, message := decide(t, validator, s, before, after, parameter)
				numbers[action]++
				wrong := action == "error" || s.parameter != nil && action == "deny" && !strings.Contains(message, " is held:")
				if s.update != nil && action != "error" {
					wrong = wrong || (action == "deny") != s.update(before, after, parameter)
				}
				if wrong {
					t.Fatalf("seed %d: %s (%s)\nbefore: %v\nafter: %v\nparameter: %v", seed, action, message, before, after, parameter)
				}
			}
			t.Logf("seed %d: %v", seed, numbers)
			if numbers["deny"] == 0 || numbers["admit"] == 0 {
				t.Error("it does not both admit and deny")
			}
		})
	}
}

// index returns a random part of the index of UpgradeHolds.
func index(r *rand.Rand, o *unstructured.Unstructured) map[string]any {
	entry := func() any {
		return change(r, map[string]any{"message": "busy", "except": texts(r), "statuses": texts(r)}, 0.1)
	}
	spec := map[string]any{}
	for _, field := range []string{"workloads", "definitions", "releases"} {
		if r.IntN(4) == 0 {
			continue
		}
		entries := map[string]any{"other": entry()}
		if r.IntN(3) > 0 {
			entries[keyOf(field, o)] = entry()
		}
		spec[field] = entries
	}
	return map[string]any{"apiVersion": "operatorstatus.io/v1alpha1", "kind": "UpgradeHoldIndex", "metadata": map[string]any{"name": "part"}, "spec": spec}
}

// hold returns a random UpgradeHold.
func hold(r *rand.Rand, _ *unstructured.Unstructured) map[string]any {
	status := map[string]any{
		"message": "busy",
		"denied": map[string]any{"installPlans": map[string]any{
			"namespace": "foo", "pattern": `^foo\.`, "versions": texts(r), "except": texts(r),
		}},
	}
	return map[string]any{
		"apiVersion": "operatorstatus.io/v1alpha1", "kind": "UpgradeHold", "metadata": map[string]any{"name": "audit"}, "status": change(r, status, 0.05),
	}
}

func texts(r *rand.Rand) []any {
	out := []any{}
	for range r.IntN(4) {
		out = append(out, pool[r.IntN(len(pool))])
	}
	return out
}

// pool are texts that an object may have in any field.
var pool = []string{"again: ValidatingAdmissionPolicy 'hold-installplans' denied request: The update", "", "foo:1", "foo:2", "foo:3", "proxy:1", "2", "foo.v2", "pending-upgrade", "pending-rollback", "foo", "Running", "ü, 'quoted'", "a/b:c@d"}

func keyOf(field string, o *unstructured.Unstructured) string {
	switch field {
	case "workloads":
		return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
	case "definitions":
		return o.GetName()
	default:
		namespace := o.GetNamespace()
		if o.GetLabels()["owner"] != "helm" {
			namespace = ""
		}
		return o.GetLabels()["owner"] + "/" + namespace + "/" + o.GetLabels()["name"]
	}
}

// entryOf returns the entry of an object in the index, or nil.
func entryOf(field string, o, parameter *unstructured.Unstructured) map[string]any {
	entries, _, _ := unstructured.NestedMap(parameter.Object, "spec", field) // none if there is none
	out, _ := entries[keyOf(field, o)].(map[string]any)
	return out
}

func except(entry map[string]any, field string) []string {
	out, _, _ := unstructured.NestedStringSlice(entry, field) // none if there is none
	return out
}

func updatesWorkload(before, after, parameter *unstructured.Unstructured) bool {
	entry := entryOf("workloads", after, parameter)
	if entry == nil {
		return false
	}
	allowed := slices.Concat(images(before), except(entry, "except"), strings.Split(after.GetAnnotations()["operatorstatus.io/allow-upgrade"], ","))
	return slices.ContainsFunc(images(after), func(image string) bool { return !slices.Contains(allowed, image) })
}

func images(o *unstructured.Unstructured) (out []string) {
	for _, field := range []string{"containers", "initContainers"} {
		all, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", field) // none if there are none
		for _, c := range all {
			image, _ := c.(map[string]any)["image"].(string)
			out = append(out, image)
		}
	}
	return out
}

func updatesDefinition(before, after, parameter *unstructured.Unstructured) bool {
	versions := func(o *unstructured.Unstructured) []any {
		out, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions") // none if there are none
		return append([]any{}, out...)
	}
	return entryOf("definitions", after, parameter) != nil && !reflect.DeepEqual(versions(before), versions(after))
}

func updatesRelease(_, after, parameter *unstructured.Unstructured) bool {
	labels := after.GetLabels()
	entry := entryOf("releases", after, parameter)
	return entry != nil && slices.Contains(except(entry, "statuses"), labels["status"]) && !slices.Contains(except(entry, "except"), labels["version"])
}

// change returns a copy of a value in which fields and elements are removed, repeated or replaced with a probability.
func change(r *rand.Rand, value any, probability float64) any {
	hit := func() bool { return r.Float64() < probability }
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch fixed := key == "name" || key == "namespace" || key == "metadata" || key == "kind" || key == "apiVersion"; {
			case fixed && (key != "metadata" || v["kind"] == nil):
				out[key] = v[key]
			case fixed, !hit():
				out[key] = change(r, v[key], probability)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			for range 1 + r.IntN(2)*r.IntN(2)*r.IntN(2) {
				if !hit() {
					out = append(out, change(r, element, probability))
				}
			}
		}
		return out
	case string:
		if hit() {
			return pool[r.IntN(len(pool))]
		}
	}
	return value
}

func manifest(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// read returns the policies, by name.
func read(t *testing.T) map[string]*admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	data, err := os.ReadFile("upgradehold.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*admissionregistrationv1.ValidatingAdmissionPolicy{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		if err := decoder.Decode(policy); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if policy.Kind == "ValidatingAdmissionPolicy" {
			out[policy.Name] = policy
		}
	}
}

// compile compiles a policy as the API server does.
func compile(t *testing.T, policy *admissionregistrationv1.ValidatingAdmissionPolicy) validating.Validator {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	declared := cel.OptionalVariableDeclarations{HasParams: policy.Spec.ParamKind != nil, HasAuthorizer: true}
	var variables []cel.NamedExpressionAccessor
	for _, v := range policy.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)
	var conditions, validations, messages []cel.ExpressionAccessor
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	for _, v := range policy.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		var message cel.ExpressionAccessor
		if v.MessageExpression != "" {
			message = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
		messages = append(messages, message)
	}
	var matcher matchconditions.Matcher
	if len(conditions) > 0 {
		matcher = matchconditions.NewMatcher(compiler.CompileCondition(conditions, declared, environment.StoredExpressions), policy.Spec.FailurePolicy, "policy",
			"validate", policy.Name)
	}
	return validating.NewValidator(compiler.CompileCondition(validations, declared, environment.StoredExpressions), matcher,
		compiler.CompileCondition(nil, declared, environment.StoredExpressions), compiler.CompileCondition(messages, declared, environment.StoredExpressions),
		policy.Spec.FailurePolicy, nil)
}

// decide returns the decision about a request: admit, deny or error, with its message.
func decide(t *testing.T, v validating.Validator, s subject, before, after, parameter *unstructured.Unstructured) (action, message string) {
	t.Helper()
	kind := after.GroupVersionKind()
	operation, old, options := admission.Create, runtime.Object(nil), runtime.Object(nil)
	if before != nil {
		operation, old = admission.Update, before
	}
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: s.resource}
	attributes := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(after, old, kind, after.GetNamespace(), after.GetName(), resource, "", operation, options, false,
			&user.DefaultInfo{Name: s.user}),
		VersionedObject: admission.NewLazyObject(after), VersionedOldObject: admission.NewLazyObject(old), VersionedKind: kind,
	}
	var bound runtime.Object
	if parameter != nil {
		bound = parameter
	}
	for _, d := range v.Validate(t.Context(), resource, attributes, bound, nil, celconfig.RuntimeCELCostBudget, nil).Decisions {
		if d.Evaluation != validating.EvalAdmit {
			return string(d.Evaluation), fmt.Sprint(d.Message)
		}
	}
	return "admit", ""
}
