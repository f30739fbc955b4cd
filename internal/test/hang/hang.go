// Package hang makes installations and updates of operators hang, in the ways that users meet.
package hang

import (
	"context"
	"fmt"
	"strings"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// Way is a way in which an operator hangs. NAME in manifests is the name of its package, NAMESPACE its namespace.
type Way struct {
	// Reason is the cause, in a sentence.
	Reason string

	// Updates is true if version 1.0.0 runs, and the update to 1.1.0 hangs. Otherwise the installation of 1.1.0 does.
	Updates bool

	// Change modifies version 1.1.0. It may be nil.
	Change func(csv, crd *unstructured.Unstructured)

	// Requires and More are those of version 1.1.0 (see testcatalog.Foo).
	Requires []string
	More     []string

	// Manifests are created before the Subscription.
	Manifests string

	// Subscribe modifies the Subscription. It may be nil.
	Subscribe func(*v1alpha1.Subscription)

	// Prepare prepares an update before it is offered. It is called until it returns "". It may be nil.
	Prepare Step

	// Then makes the version hang. It is called until it returns "". It may be nil.
	Then Step

	// Again is true if OLM may undo Then, which is repeated before each look. OLM carries out an InstallPlan once more while its cache is
	// old, and each time removes the finalizer of a CustomResourceDefinition that is being deleted.
	Again bool

	// Heading is a regular expression for the first blocker that `why` prints, with its cause.
	Heading string

	// OLM is the same if OLM installs, if that differs.
	OLM string

	// Code is the exit code of `why` and `check`, OLMCode if OLM installs and that differs.
	Code, OLMCode int
}

// Step is something that a user, a controller or a kubelet does to an operator. It returns why it has to be repeated, or "".
type Step func(ctx context.Context, c client.Client, namespace, name string) string

// Old and New are the versions of the operator called name.
func (w Way) Old(name string) testcatalog.Foo { return testcatalog.Foo{Name: name, Version: "1.0.0"} }

// New is the version that hangs.
func (w Way) New(name string) testcatalog.Foo {
	return testcatalog.Foo{Name: name, Version: "1.1.0", Requires: w.Requires, More: w.More, Change: w.Change}
}

// Node is the name of a node without a kubelet, which some ways need.
const Node = "without-kubelet"

// Ways are all ways by name.
var Ways = map[string]Way{
	"unschedulable": {Reason: "No node has what the pod selects.", Change: testcatalog.Unschedulable, Heading: `Broken by Pod .* \(Unschedulable\)`, Code: 3},
	"volume": {
		Reason:  "The pod mounts a claim that does not exist.",
		Change:  pod("volumes", []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data"}}}),
		Heading: `Broken by Pod .* \(Unschedulable\)`, Code: 3,
	},
	"gated": {
		Reason:  "Another controller gates the scheduling of pods.",
		Change:  pod("schedulingGates", []any{map[string]any{"name": "example.com/queue"}}),
		Heading: `Held by Pod .* \(SchedulingGated\)`, Code: 2,
	},
	"image": {
		Reason: "The registry does not have the image.", Change: absent,
		Then: kubelet(`{phase: Pending, containerStatuses: [{name: operator, image: x, imageID: "", ready: false, restartCount: 0,
			state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "x"'}}}]}`),
		Heading: `Broken by Pod .* \(ImagePullBackOff\)`, Code: 3,
	},
	"crash": {
		Reason: "The operator exits at each start.", Change: absent,
		Then: kubelet(`{phase: Running, containerStatuses: [{name: operator, image: x, imageID: "", ready: false, restartCount: 4,
			state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}`),
		Heading: `Broken by Pod .* \(CrashLoopBackOff\)`, Code: 3,
	},
	"memory": {
		Reason: "The operator needs more memory than its limit, and is restarted again and again.", Change: absent,
		Then: kubelet(`{phase: Running, containerStatuses: [{name: operator, image: x, imageID: "", ready: false, restartCount: 4,
			state: {running: {}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`),
		Heading: `Broken by Pod .* \(OOMKilled\)`, Code: 3,
	},
	"secret": {
		Reason: "The pod takes a variable from a Secret that does not exist.", Change: absent,
		Then: kubelet(`{phase: Pending, containerStatuses: [{name: operator, image: x, imageID: "", ready: false, restartCount: 0,
			state: {waiting: {reason: CreateContainerConfigError, message: 'secret "settings" not found'}}}]}`),
		Heading: `Broken by Pod .* \(CreateContainerConfigError\)`, Code: 3,
	},
	"node": {
		Reason: "The kubelet of the pod's node does not run.", Change: absent,
		Heading: `Waiting by Pod .* \(NotReady\)(?s:.*)kubelet of node without-kubelet`, Code: 2,
	},
	"quota": {
		Reason:    "A ResourceQuota allows no further pod.",
		Manifests: "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: '0'}}}",
		Heading:   `Broken by Deployment .* \(FailedCreate\)`, Code: 3,
	},
	"replicasetquota": {
		Reason:    "A ResourceQuota allows no ReplicaSet.",
		Manifests: "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {count/replicasets.apps: '0'}}}",
		Heading:   `Broken by Deployment .* \(ReplicaSetCreateError\)`, Code: 3,
	},
	"account": {
		Reason: "The service account of the pod does not exist.", Change: pod("serviceAccountName", "nobody"),
		Heading: `Broken by Deployment .* \(FailedCreate\)`, Code: 3,
	},
	"podsecurity": {
		Reason: "The namespace enforces a Pod Security Standard that the pod violates.",
		Then: func(ctx context.Context, c client.Client, namespace, name string) string {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`))
			if err := c.Patch(ctx, ns, patch); err != nil {
				return err.Error()
			}
			return deletePods(ctx, c, namespace, name)
		},
		Heading: `Broken by Deployment .* \(FailedCreate\)`, Code: 3,
	},
	"podwebhook": {
		Reason:    "A webhook for pods does not answer.",
		Manifests: webhook("", "pods"),
		Heading:   `Broken by Deployment .* \(FailedCreate\)`, Code: 3,
	},
	"deploymentwebhook": {
		Reason:    "A webhook for Deployments does not answer.",
		Manifests: webhook("apps", "deployments"),
		Heading:   `Broken by InstallPlan (?s:.*)absent`, OLM: `Broken by ClusterServiceVersion (?s:.*)absent`, Code: 3,
	},
	"deploymentquota": {
		Reason:    "A ResourceQuota allows no Deployment.",
		Manifests: "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {count/deployments.apps: '0'}}}",
		Heading:   `Broken by InstallPlan (?s:.*)exceeded quota`, OLM: `Broken by ClusterServiceVersion (?s:.*)exceeded quota`, Code: 3,
	},
	"deadline": {
		Reason: "The Deployment exceeds its progress deadline, since its pod cannot be scheduled.", Change: testcatalog.NeverStarts,
		Heading: `Broken by Pod .* \(Unschedulable\)`, Code: 3,
	},
	"requirement": {
		Reason: "No package provides a kind that the operator requires.", Requires: []string{"nobody"},
		Heading: `Broken by .* \(ConstraintsNotSatisfiable\)`, Code: 3,
	},
	"kubernetes": {
		Reason:  "The operator requires a later version of Kubernetes.",
		Change:  spec("minKubeVersion", "9.0.0"),
		Heading: `Waiting by ClusterServiceVersion .* \(Pending\)(?s:.*)9.0.0`, Code: 2,
	},
	"native": {
		Reason:  "The operator requires a native API that the cluster does not serve.",
		Change:  spec("nativeAPIs", []any{map[string]any{"group": "route.openshift.io", "version": "v1", "kind": "Route"}}),
		Heading: `Waiting by ClusterServiceVersion .* \(Pending\)(?s:.*)Route`, Code: 2,
	},
	"modes": {
		Reason:  "The operator does not support the OperatorGroup.",
		Change:  spec("installModes", []any{map[string]any{"type": "AllNamespaces", "supported": true}}),
		Heading: `Broken by .*(?s:.*)UnsupportedOperatorGroup`, Code: 3,
	},
	"groups": {
		Reason:    "The namespace has two OperatorGroups.",
		Manifests: "{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: second}}",
		Heading:   `Broken by .*(?s:.*)TooManyOperatorGroups`, Code: 3,
	},
	"source": {
		Reason:    "The Subscription names a CatalogSource that does not exist.",
		Subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.CatalogSource = "misspelt" },
		Heading:   `Broken by CatalogSource .*/misspelt\b`, Code: 3,
	},
	"unreachable": {
		Reason: "The catalog cannot be reached.",
		Manifests: "{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: away}, " +
			"spec: {sourceType: grpc, address: '127.0.0.1:1'}}",
		Subscribe: func(sub *v1alpha1.Subscription) {
			sub.Spec.CatalogSource, sub.Spec.CatalogSourceNamespace = "away", sub.Namespace
		},
		Heading: `Broken by CatalogSource .*/away\b`, Code: 3,
	},
	"package": {
		Reason:    "The Subscription names a package that does not exist.",
		Subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.Package = "misspelt" },
		Heading:   `Broken by Subscription .* \(PackageNotFound\)`, Code: 3,
	},
	"channel": {
		Reason:    "The Subscription names a channel that does not exist.",
		Subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.Channel = "misspelt" },
		Heading:   `Broken by Subscription .* \(ChannelNotFound\)`, Code: 3,
	},
	"start": {
		Reason:    "The Subscription names a first version that does not exist.",
		Subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.StartingCSV = "misspelt.v1.0.0" },
		Heading:   `Broken by Subscription (?s:.*)misspelt\.v1\.0\.0`, Code: 3,
	},
	"manual": {
		Reason:    "Nobody has approved the InstallPlan.",
		Subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.InstallPlanApproval = "Manual" },
		Heading:   `Held by InstallPlan .* \(RequiresApproval\)`, Code: 2,
	},
	"object": {
		Reason:  "The bundle contains a kind that the cluster does not serve.",
		More:    []string{"{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: NAME}}"},
		Heading: `Broken by InstallPlan`, Code: 3,
	},
	"condition": {
		Reason: "The operator says in its OperatorCondition that it must not be updated.", Updates: true,
		Prepare: func(ctx context.Context, c client.Client, namespace, name string) string {
			condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Way{}.Old(name).CSV()}}
			return patch(ctx, c, condition, `{"spec": {"conditions": [{"type": "Upgradeable", "status": "False", "reason": "Busy", "message": "it is busy",
				"lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`)
		},
		Heading: `Held by .*OperatorCondition`, Code: 2,
	},
	"invalid": {
		Reason: "A custom resource is invalid in the schema of the update.", Updates: true,
		Change:  func(_, crd *unstructured.Unstructured) { testcatalog.SetLeastSize(crd, 3) },
		Prepare: create("{apiVersion: NAME.example.com/v1, kind: KIND, metadata: {name: small}, spec: {size: 1}}"),
		Heading: `Broken by InstallPlan (?s:.*)spec\.size`, Code: 3,
	},
	"finalizer": {
		Reason: "The replaced version has a finalizer that nobody removes.", Updates: true,
		Prepare: func(ctx context.Context, c client.Client, namespace, name string) string {
			csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Way{}.Old(name).CSV()}}
			return patch(ctx, c, csv, `{"metadata": {"finalizers": ["example.com/nobody"]}}`)
		},
		Heading: `(Waiting|Broken) by ClusterServiceVersion .* \(Terminating\)(?s:.*)example.com/nobody`, Code: 2, OLMCode: 3,
	},
	"definition": {
		Reason: "The CustomResourceDefinition was deleted.",
		Then:   deleteCRD, Again: true,
		Heading: `Broken by ClusterServiceVersion (?s:.*)CustomResourceDefinition definitions\.definition\.example\.com`, Code: 3,
	},
	"terminating": {
		Reason: "The CustomResourceDefinition was deleted, and a custom resource has a finalizer that nobody removes.",
		Then:   keepTerminating, Again: true,
		Heading: `Broken by CustomResourceDefinition .* \(Terminating\)`, Code: 3,
	},
}

// spec returns a change that sets a field of the ClusterServiceVersion's spec.
func spec(field string, value any) func(csv, _ *unstructured.Unstructured) {
	return func(csv, _ *unstructured.Unstructured) { csv.Object["spec"].(map[string]any)[field] = value }
}

// pod returns a change that sets a field of the pod template's spec.
func pod(field string, value any) func(csv, _ *unstructured.Unstructured) {
	return func(csv, _ *unstructured.Unstructured) {
		testcatalog.ChangeDeployment(csv, func(spec map[string]any) {
			spec["template"].(map[string]any)["spec"].(map[string]any)[field] = value
		})
	}
}

// absent is a change that binds the pod to a node without a kubelet, from which it is never evicted.
func absent(csv, crd *unstructured.Unstructured) {
	pod("nodeName", Node)(csv, crd)
	pod("tolerations", []any{map[string]any{"operator": "Exists"}})(csv, crd)
}

// webhook returns a webhook for a resource in the namespace that nothing serves.
func webhook(group, resource string) string {
	return fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: NAMESPACE}, webhooks: [{
		name: absent.example.com, admissionReviewVersions: [v1], sideEffects: None, timeoutSeconds: 1,
		clientConfig: {service: {namespace: NAMESPACE, name: absent}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}},
		rules: [{apiGroups: ["%s"], apiVersions: ["*"], resources: ["%s"], operations: ["*"]}]}]}`, group, resource)
}

// kubelet returns a step that writes the status of the operator's pods.
func kubelet(status string) Step {
	return func(ctx context.Context, c client.Client, namespace, name string) string {
		pods := &corev1.PodList{}
		if err := c.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"app": name + "-operator"}); err != nil {
			return err.Error()
		}
		if len(pods.Items) == 0 {
			return "the operator has no pod"
		}
		patch, err := yaml.YAMLToJSON([]byte("{status: " + status + "}"))
		if err != nil {
			return err.Error()
		}
		for i := range pods.Items {
			if err := c.Status().Patch(ctx, &pods.Items[i], client.RawPatch(types.MergePatchType, patch)); err != nil {
				return err.Error()
			}
		}
		return ""
	}
}

func deletePods(ctx context.Context, c client.Client, namespace, name string) string {
	deployment := &appsv1.Deployment{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name + "-operator"}, deployment); err != nil {
		return err.Error()
	}
	if err := c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	if deployment.Status.ReadyReplicas > 0 {
		return "the operator's pod is still ready"
	}
	return ""
}

// ran returns why a version of an operator has never Succeeded, or "".
func ran(ctx context.Context, c client.Client, namespace string, version testcatalog.Foo) string {
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: version.CSV()}, csv); err != nil {
		return err.Error()
	}
	if !csvchain.Ran(csv) {
		return fmt.Sprintf("%s is %s: %s", csv.Name, csv.Status.Phase, csv.Status.Message)
	}
	return ""
}

// deleteCRD deletes the CustomResourceDefinition of an operator that has run.
func deleteCRD(ctx context.Context, c client.Client, namespace, name string) string {
	if missing := ran(ctx, c, namespace, Way{}.New(name)); missing != "" {
		return missing
	}
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: Way{}.New(name).CRD()}}
	if err := c.Delete(ctx, crd); client.IgnoreNotFound(err) != nil {
		return err.Error()
	}
	return ""
}

// keepTerminating deletes the CustomResourceDefinition of an operator that has run, after creating a custom resource with a finalizer.
func keepTerminating(ctx context.Context, c client.Client, namespace, name string) string {
	if missing := ran(ctx, c, namespace, Way{}.New(name)); missing != "" {
		return missing
	}
	crd := &apiextensions.CustomResourceDefinition{}
	switch err := c.Get(ctx, types.NamespacedName{Name: Way{}.New(name).CRD()}, crd); {
	case apierrors.IsNotFound(err):
		return applyCRD(ctx, c, name)
	case err != nil:
		return err.Error()
	case crd.DeletionTimestamp != nil:
		return ""
	}
	kept := create("{apiVersion: NAME.example.com/v1, kind: KIND, metadata: {name: kept, finalizers: [example.com/nobody]}}")
	if failure := kept(ctx, c, namespace, name); failure != "" {
		return failure
	}
	return deleteCRD(ctx, c, namespace, name)
}

// applyCRD creates the CustomResourceDefinition of an operator again.
func applyCRD(ctx context.Context, c client.Client, name string) string {
	published, err := testcatalog.Publish(Way{}.New(name))
	if err != nil {
		return err.Error()
	}
	if err := c.Create(ctx, published.Newest().Objects[0]); err != nil {
		return err.Error()
	}
	return "its CustomResourceDefinition was deleted, and has been created again"
}

func patch(ctx context.Context, c client.Client, o client.Object, merge string) string {
	if err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(merge))); err != nil {
		return err.Error()
	}
	return ""
}

// create returns a step that creates the objects of a manifest.
func create(manifest string) Step {
	return func(ctx context.Context, c client.Client, namespace, name string) string {
		for _, o := range fill(manifest, namespace, name) {
			if err := c.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
				return err.Error()
			}
		}
		return ""
	}
}

// fill returns the objects of a manifest with NAME, NAMESPACE and KIND filled in.
func fill(manifest, namespace, name string) []*unstructured.Unstructured {
	text := strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "KIND", Way{}.Old(name).Kind()).Replace(manifest)
	out, err := testcluster.Decode([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("%v in the manifest %s", err, manifest)) // it is a literal
	}
	for _, o := range out {
		if o.GetKind() != "ValidatingWebhookConfiguration" {
			o.SetNamespace(namespace)
		}
	}
	return out
}
