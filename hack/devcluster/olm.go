package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/operator-framework/api/crds"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// olm and olmCatalog are the two operators of Operator Lifecycle Manager, with the names in its image, from which their
// user agents and field managers derive. Both serve metrics on port 8080 of every interface, which cannot be changed.
// If it is taken, they log an error and continue; these metrics are not needed here.
var olm = component{
	name:    "olm",
	prepare: installOLM,
	args:    func(*cluster) []string { return []string{"--namespace=olm"} },
	env:     func(c *cluster) []string { return []string{"KUBECONFIG=" + c.dir.path("olm.kubeconfig")} },
	ready:   atStart(olmReady),
}

var olmCatalog = component{
	name:    "catalog",
	prepare: createTrial,
	args: func(c *cluster) []string {
		return []string{"--kubeconfig=" + c.dir.path("olm.kubeconfig"), "--namespace=olm"}
	},
	ready: atStart(trialAnswered),
}

// olmInNode and olmCatalogInNode are the same as processes of a real node.
var olmInNode = component{
	name:    olm.name,
	start:   inside,
	prepare: olm.prepare,
	args:    olm.args,
	env: func(c *cluster) []string {
		return append(nodeEnvironment(c), "KUBECONFIG="+c.dir.path("olm-in-node.kubeconfig"))
	},
	ready: olm.ready,
}

var olmCatalogInNode = component{
	name:  olmCatalog.name,
	start: inside,
	env:   nodeEnvironment,
	prepare: func(ctx context.Context, c *cluster) error {
		return errors.Join(
			pushPrograms(ctx, c, opmImage(c.registry()), "/bin", opm, "grpc_health_probe"),
			pushPrograms(ctx, c, utilImage(c.registry()), "/bin", "cp", "cpb", "copy-content"),
			olmCatalog.prepare(ctx, c))
	},
	args: func(c *cluster) []string {
		return []string{
			"--kubeconfig=" + c.dir.path("olm-in-node.kubeconfig"), "--namespace=olm",
			"--opmImage=" + opmImage(c.registry()), "--util-image=" + utilImage(c.registry()), "--set-workload-user-id",
		}
	},
	ready: olmCatalog.ready,
}

// olmPrograms are the recipes of the programs in opmImage and utilImage.
var olmPrograms = []string{opm, "grpc_health_probe", "cp", "cpb", "copy-content"}

// opmImage and utilImage return the images with which OLM runs the pods of catalogs and unpacks bundles.
func opmImage(registry string) string  { return registry + "/opm:latest" }
func utilImage(registry string) string { return registry + "/olm-util:latest" }

// atStart runs a readiness check only while the cluster starts. Later users may change the objects that it reads, and a
// running process counts as healthy.
func atStart(proof func(context.Context, *cluster) error) func(context.Context, *cluster) error {
	return func(ctx context.Context, c *cluster) error {
		if c.state.Ready {
			return nil
		}
		return proof(ctx, c)
	}
}

// installOLM applies the objects of OLM's release except its deployments.
func installOLM(ctx context.Context, c *cluster) error {
	var names []string
	for _, file := range crds.AssetNames() {
		if path.Ext(file) != ".yaml" {
			continue
		}
		applied, err := c.apply(ctx, crds.MustAsset(file))
		if err != nil {
			return err
		}
		names = append(names, applied...)
	}
	return eventually(ctx, func() error {
		for _, name := range names {
			if err := c.has(ctx, crdResource, "", name, condition("Established")); err != nil {
				return err
			}
		}
		_, err := c.apply(ctx, []byte(olmObjects))
		return err
	})
}

// olmReady returns nil once olm has updated the status of the OperatorGroups and of the configuration. Before it has
// read the configuration, it would copy ClusterServiceVersions into every namespace.
func olmReady(ctx context.Context, c *cluster) error {
	for namespace, name := range map[string]string{"olm": "olm-operators", "operators": "global-operators"} {
		if err := c.has(ctx, operatorsResource("v1", "operatorgroups"), namespace, name, field("lastUpdated")); err != nil {
			return err
		}
	}
	return c.has(ctx, operatorsResource("v1", "olmconfigs"), "", "cluster", condition("DisabledCopiedCSVs"))
}

// The catalog operator writes nothing until a CatalogSource exists. An invalid one is created, whose status shows
// that the operator works, and then deleted.
const trialNamespace, trialName = "operators", "devcluster-trial"

func createTrial(ctx context.Context, c *cluster) error {
	_, err := c.apply(ctx, fmt.Appendf(nil, `apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {namespace: %s, name: %s}
spec: {sourceType: trial}
`, trialNamespace, trialName))
	return err
}

func trialAnswered(ctx context.Context, c *cluster) error {
	catalogs := operatorsResource("v1alpha1", "catalogsources")
	err := c.has(ctx, catalogs, trialNamespace, trialName, field("reason"))
	if apierrors.IsNotFound(err) {
		return nil // the trial was checked and deleted before
	}
	if err != nil {
		return err
	}
	return c.dynamic.Resource(catalogs).Namespace(trialNamespace).Delete(ctx, trialName, metav1.DeleteOptions{})
}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func operatorsResource(version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "operators.coreos.com", Version: version, Resource: resource}
}

// apply applies the objects of a manifest in order, like kubectl apply --server-side, and returns their names.
func (c *cluster) apply(ctx context.Context, manifest []byte) ([]string, error) {
	var names []string
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return names, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the objects to apply: %w", err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind()) // all kinds that are applied have a regular plural
		_, err := c.dynamic.Resource(resource).Namespace(object.GetNamespace()).
			Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "devcluster", Force: true})
		if err != nil {
			return nil, fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		names = append(names, object.GetName())
	}
}

// statusCheck is a part of a status that shows that its controller has finished.
type statusCheck struct {
	text string
	done func(status map[string]any) bool
}

func field(name string) statusCheck {
	return statusCheck{text: "status." + name, done: func(status map[string]any) bool { return status[name] != nil }}
}

func condition(kind string) statusCheck {
	return statusCheck{text: "condition " + kind, done: func(status map[string]any) bool {
		conditions, _, _ := unstructured.NestedSlice(status, "conditions")
		for _, condition := range conditions {
			if c, ok := condition.(map[string]any); ok && c["type"] == kind && c["status"] == "True" {
				return true
			}
		}
		return false
	}}
}

// has returns nil if the status of an object passes the check.
func (c *cluster) has(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, s statusCheck) error {
	object, err := c.dynamic.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if status, _, _ := unstructured.NestedMap(object.Object, "status"); !s.done(status) {
		return fmt.Errorf("%s %s has no %s yet", resource.Resource, name, s.text)
	}
	return nil
}

// eventually retries do until it succeeds, for at most startLimit.
func eventually(ctx context.Context, do func() error) error {
	limit, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := do()
		if err == nil {
			return nil
		}
		if pause(limit, 50*time.Millisecond) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("not done after %s: %w", startLimit, err)
		}
	}
}
