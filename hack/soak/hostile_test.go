package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// hostile writes random objects. The API server rejects some of them.
type hostile struct {
	*rand.Rand
	namespaces []string
	catalog    string // a valid catalog, to be corrupted
	silent     string // the address of a registry that never responds

	tried, accepted int
}

func newHostile(t *testing.T, r *rand.Rand) *hostile {
	t.Helper()
	out := &hostile{Rand: r}
	for range 4 {
		namespace := cluster.Namespace(t, "hostile")
		out.namespaces = append(out.namespaces, namespace)
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "installer"}}
		cluster.Create(t, account, &operatorsv1.OperatorGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"},
			Spec:       operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{namespace}, ServiceAccountName: account.Name},
		})
	}
	var packages []testcatalog.Package
	for i := range 3 {
		name := fmt.Sprintf("hostile%d", i)
		packages = append(packages, testcatalog.Published(t, testcatalog.Holding(name, "1.0.0", "1.1.0")...))
	}
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	if out.catalog, err = testcatalog.YAML(config); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts the connections, and no code does
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	out.silent = listener.Addr().String()
	return out
}

// run writes until ctx is done.
func (h *hostile) run(ctx context.Context) {
	moves := []func() *unstructured.Unstructured{
		h.configMap, h.configMap, h.catalogSource, h.subscription, h.subscription, h.csv, h.probe, h.custom, h.custom, h.operatorGroup, h.operatorCondition,
	}
	for ctx.Err() == nil {
		o := moves[h.IntN(len(moves))]()
		if o == nil {
			continue
		}
		h.tried++
		if h.write(ctx, o) == nil {
			h.accepted++
		}
	}
}

// write creates, replaces or deletes an object.
func (h *hostile) write(ctx context.Context, o *unstructured.Unstructured) error {
	const oneOf = 8
	if h.IntN(oneOf) == 0 {
		return cluster.Client.Delete(ctx, o)
	}
	return put(ctx, "hostile", o)
}

// put applies an object and its status, if it has one.
func put(ctx context.Context, owner client.FieldOwner, o *unstructured.Unstructured) error {
	if err := cluster.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), owner, client.ForceOwnership); err != nil ||
		o.Object["status"] == nil {
		return err
	}
	out := o.DeepCopy()
	delete(out.Object, "spec")
	return client.IgnoreNotFound(cluster.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(out),
		owner, client.ForceOwnership)) // no status subresource
}

func (h *hostile) namespace() string { return h.namespaces[h.IntN(len(h.namespaces))] }

func (h *hostile) name() string { return fmt.Sprintf("h%d", h.IntN(6)) }

func (h *hostile) object(apiVersion, kind, rest string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {namespace: %s, name: %s}\n%s", apiVersion, kind, h.namespace(), h.name(), rest)
	if yaml.Unmarshal([]byte(text), &out.Object) != nil {
		return nil
	}
	return out
}

const coreos = "operators.coreos.com/v1alpha1"

// configMap returns a ConfigMap with a corrupted catalog.
func (h *hostile) configMap() *unstructured.Unstructured {
	out := h.object("v1", "ConfigMap", "")
	_ = unstructured.SetNestedField(out.Object, h.corruptedCatalog(), "data", "catalog.yaml") // it is a valid map
	return out
}

// corruptedCatalog returns the valid catalog with random parts changed, repeated, removed or appended.
func (h *hostile) corruptedCatalog() string {
	const largest = 900 << 10
	text := h.catalog
	for range h.IntN(4) {
		at := h.IntN(len(text))
		to := at + h.IntN(min(len(text)-at, 200)+1)
		switch h.IntN(7) {
		case 0:
			text = text[:at] + text[to:]
		case 1:
			text = text[:at] + strings.Repeat(text[at:to], h.IntN(50)) + text[to:]
		case 2:
			text = text[:at] + h.text(to-at) + text[to:]
		case 3:
			text = text[:at]
		case 4:
			text += "---\nschema: olm.channel\npackage: hostile0\nname: many\nentries: [" + strings.Repeat("{name: a},", h.IntN(60000)) + "]\n"
		case 5:
			text += "---\nschema: olm.package\nname: aliases\na: &a " + strings.Repeat("x", 1<<14) + "\nb: [" + strings.Repeat("*a,", h.IntN(20000)) + "]\n"
		case 6:
			text += "---\nschema: olm.package\nname: deep\na: " + strings.Repeat("[", h.IntN(20000)) + "\n"
		}
		if len(text) == 0 || len(text) > largest {
			return h.catalog
		}
	}
	return strings.ToValidUTF8(text, "?")
}

// text returns random characters.
func (h *hostile) text(length int) string {
	letters := []rune("abc{}[]:,-&*#|>'\"\n\t 0123456789äñ☃.!/\\")
	out := make([]rune, length)
	for i := range out {
		out[i] = letters[h.IntN(len(letters))]
	}
	return string(out)
}

func (h *hostile) catalogSource() *unstructured.Unstructured {
	specs := []string{
		"{sourceType: internal, configMap: " + h.name() + "}",
		"{sourceType: internal, configMap: " + h.name() + ", priority: " + fmt.Sprint(h.IntN(200)-100) + "}",
		"{sourceType: grpc, address: '" + h.silent + "'}",
		"{sourceType: grpc, address: '127.0.0.1:1', updateStrategy: {registryPoll: {interval: 1s}}}",
		"{sourceType: grpc, image: '" + h.silent + "/x:y', updateStrategy: {registryPoll: {interval: 1s}}}",
		"{sourceType: grpc, image: 'no such image'}",
		"{sourceType: grpc, address: '10.0.0.1:443', secrets: [" + h.name() + "]}",
		"{sourceType: other}",
		"{sourceType: grpc, image: a, updateStrategy: {}}",
	}
	return h.object(coreos, "CatalogSource", "spec: "+specs[h.IntN(len(specs))])
}

func (h *hostile) subscription() *unstructured.Unstructured {
	out := h.object(coreos, "Subscription", fmt.Sprintf("spec: {name: hostile%d, source: %s, sourceNamespace: %s, channel: %s, installPlanApproval: %s}",
		h.IntN(4), h.name(), h.namespace(), []string{"stable", "many", "''"}[h.IntN(3)], []string{"Automatic", "Manual"}[h.IntN(2)]))
	if h.IntN(3) > 0 {
		_ = unstructured.SetNestedField(out.Object, out.GetNamespace(), "spec", "sourceNamespace") // it is a valid map
	}
	return out
}

func (h *hostile) csv() *unstructured.Unstructured {
	specs := []string{
		"{displayName: x, version: latest, install: {strategy: deployment, spec: {deployments: []}}, installModes: []}",
		"{displayName: x, version: 1.0.0, replaces: " + h.name() +
			", install: {strategy: deployment, spec: {deployments: []}}, installModes: [{type: OwnNamespace, supported: true}]}",
		"{displayName: x, version: 1.0.0, install: {strategy: other}}",
		"{displayName: x, customresourcedefinitions: {owned: [{name: neighbours.neighbour.example.com, version: v1, kind: Neighbour}]}, install: {strategy: deployment, spec: {deployments: []}}, " +
			"installModes: [{type: OwnNamespace, supported: true}]}",
	}
	return h.object(coreos, "ClusterServiceVersion", "spec: "+specs[h.IntN(len(specs))])
}

func (h *hostile) probe() *unstructured.Unstructured {
	var resources []string
	for range h.IntN(12) {
		name := []string{"neighbours.neighbour.example.com", "neighbour.example.com", "configmaps", "nothing.example.com", "deployments.apps"}[h.IntN(5)]
		resources = append(resources, fmt.Sprintf("{name: %s, upgradeable: %q, important: %q}", name, h.expression(), h.expression()))
	}
	var namespaces []string
	for range h.IntN(30) {
		namespaces = append(namespaces, []string{h.namespace(), fmt.Sprintf("none%d", h.IntN(100))}[h.IntN(2)])
	}
	return h.object(coreos, "Probe", fmt.Sprintf("spec: {serviceAccountName: %s, namespaces: [%s], probeResources: [%s]}",
		[]string{"installer", "default", "none"}[h.IntN(3)], strings.Join(namespaces, ","), strings.Join(resources, ",")))
}

// expression returns a random expression, which may be valid.
func (h *hostile) expression() string {
	parts := []string{"Migrating", "!Migrating", "&&", "||", "(", ")", "!", "Ready", h.text(h.IntN(10))}
	var out []string
	for range h.IntN(12) {
		out = append(out, parts[h.IntN(len(parts))])
	}
	return strings.Join(out, " ")
}

// custom returns a custom resource of the neighbour's kind in one of the hostile namespaces.
func (h *hostile) custom() *unstructured.Unstructured {
	var conditions []string
	for range h.IntN(60) {
		conditions = append(conditions, fmt.Sprintf("{type: %q, status: %q, reason: %q, message: %q}", h.text(1+h.IntN(20)),
			[]string{"True", "False", "Unknown", "x"}[h.IntN(4)],
			h.text(h.IntN(20)), h.text(h.IntN(200))))
	}
	status := "{conditions: [" + strings.Join(conditions, ",") + "]}"
	if h.IntN(4) == 0 {
		status = []string{"{conditions: {a: b}}", "{conditions: x}", "{conditions: [1, 2]}", "[]", "{conditions: [{type: Migrating}]}"}[h.IntN(5)]
	}
	return h.object("neighbour.example.com/v1", "Neighbour", "status: "+status)
}

func (h *hostile) operatorGroup() *unstructured.Unstructured {
	out := h.object("operators.coreos.com/v1", "OperatorGroup", fmt.Sprintf("spec: {targetNamespaces: [%s], serviceAccountName: %s}", h.namespace(), h.name()))
	if h.IntN(4) > 0 {
		out.SetName("group")
		_ = unstructured.SetNestedField(out.Object, "installer", "spec", "serviceAccountName") // it is a valid map
	}
	return out
}

func (h *hostile) operatorCondition() *unstructured.Unstructured {
	return h.object("operators.coreos.com/v2", "OperatorCondition",
		fmt.Sprintf("spec: {conditions: [{type: Upgradeable, status: %q, reason: A, message: %q, lastTransitionTime: '2026-01-01T00:00:00Z'}]}",
			[]string{"True", "False"}[h.IntN(2)], h.text(h.IntN(50))))
}
