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
		"Definition":  {policy: "hold-definitions", resource: "customresourcedefinitions", manifest: definition, parameter: index("definitions"), update: updatesDefinition},
		"Record":      {policy: "hold-revisions", resource: "secrets", manifest: record, parameter: index("revisions"), update: updatesRelease},
		"InstallPlan": {policy: "hold-installplans", resource: "installplans", manifest: plan, parameter: index("installplans"), update: updatesOLM},
		"Subscription": {
			policy: "hold-repetition", resource: "subscriptions", manifest: subscription,
		},
		"Retry":            {policy: "retry", resource: "clusterextensions", manifest: extension, user: manager},
		"ClusterExtension": {policy: "clusterextension-status", resource: "clusterextensions", manifest: extension, user: manager},
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		out[kind] = subject{
			policy: "hold-images", resource: strings.ToLower(kind) + "s", manifest: strings.Replace(deployment, "Deployment", kind, 1), parameter: index("workloads"),
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

// TestParameters verifies that the parameters of all policies are of a kind of Kubernetes. The API server knows another kind up to 30
// seconds after its CustomResourceDefinition, and denies every request that the policy matches meanwhile, or for ever if that is deleted.
func TestParameters(t *testing.T) {
	for name, policy := range read(t) {
		if kind := policy.Spec.ParamKind; kind != nil && (kind.APIVersion != "v1" || kind.Kind != "ConfigMap") {
			t.Errorf("the parameters of policy %s are of kind %s %s", name, kind.APIVersion, kind.Kind)
		}
	}
}

// index returns a function that returns a random part of the index of UpgradeHolds, with the entry of an object or without.
func index(denies string) func(*rand.Rand, *unstructured.Unstructured) map[string]any {
	return func(r *rand.Rand, o *unstructured.Unstructured) map[string]any {
		entry := func() any {
			lines := []string{strings.Join(texts(r), ","), strings.Join(texts(r), ","), `^foo\.`, "busy", "more"}
			return strings.Join(lines[:len(lines)-r.IntN(2)*r.IntN(4)-1], "\n")
		}
		data := map[string]any{"other": entry()}
		if r.IntN(3) > 0 {
			data[keyOf(denies, o)] = entry()
		}
		out := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "part"}, "data": data}
		if r.IntN(8) == 0 {
			delete(out, "data")
		}
		return out
	}
}

func texts(r *rand.Rand) []string {
	out := []string{}
	for range r.IntN(4) {
		out = append(out, pool[r.IntN(len(pool))])
	}
	return out
}

// pool are texts that an object may have in any field.
var pool = []string{"again: ValidatingAdmissionPolicy 'hold-installplans' denied request: The update", "", "foo:1", "foo:2", "foo:3", "proxy:1", "2", "foo.v2", "user", "pending-upgrade", "pending-rollback", "foo", "Running", "ü, 'quoted'", "a/b:c@d"}

func keyOf(denies string, o *unstructured.Unstructured) string {
	switch denies {
	case "workloads":
		return o.GetKind() + "_" + o.GetNamespace() + "_" + o.GetName()
	case "definitions":
		return o.GetName()
	case "installplans":
		return o.GetNamespace() + "_0123"
	default:
		namespace := o.GetNamespace()
		if o.GetLabels()["owner"] != "helm" {
			namespace = ""
		}
		return o.GetLabels()["owner"] + "_" + namespace + "_" + o.GetLabels()["name"]
	}
}

// entryOf returns the lines of the entry of an object in the index, or nil.
func entryOf(denies string, o, parameter *unstructured.Unstructured) []string {
	text, _, _ := unstructured.NestedString(parameter.Object, "data", keyOf(denies, o)) // none if there is none
	if lines := strings.SplitN(text, "\n", 4); len(lines) == 4 {
		return lines
	}
	return nil
}

// listed reports whether a line of an entry has an element.
func listed(line, element string) bool { return slices.Contains(strings.Split(line, ","), element) }

func updatesOLM(before, after, parameter *unstructured.Unstructured) bool {
	entry := entryOf("installplans", after, parameter)
	approved := func(o *unstructured.Unstructured) bool {
		out, _, _ := unstructured.NestedBool(o.Object, "spec", "approved") // false if it is not set
		return out
	}
	if entry == nil || !approved(after) || before != nil && approved(before) {
		return false
	}
	names, _, _ := unstructured.NestedStringSlice(after.Object, "spec", "clusterServiceVersionNames") // none if there are none
	return slices.ContainsFunc(names, func(n string) bool {
		return !listed(entry[0], n) && (listed(entry[1], n) || strings.HasPrefix(n, "foo."))
	})
}

func updatesWorkload(before, after, parameter *unstructured.Unstructured) bool {
	entry := entryOf("workloads", after, parameter)
	if entry == nil {
		return false
	}
	allowed := slices.Concat(images(before), strings.Split(entry[0], ","))
	if entry[1] != "user" {
		allowed = append(allowed, strings.Split(after.GetAnnotations()["operatorstatus.io/allow-upgrade"], ",")...)
	}
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
	entry := entryOf("revisions", after, parameter)
	return entry != nil && listed(entry[1], labels["status"]) && !listed(entry[0], labels["version"])
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
