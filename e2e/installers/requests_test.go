package installers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// requestRow is a request for the objects of a held operator, or for its neighbours.
type requestRow struct {
	reason  string
	request func(t *testing.T) error
	denied  string // part of the error, or empty
}

// held is an operator that is held in all ways, with neighbours.
type held struct{ story.Op }

// TestRequests verifies which requests the policies deny while an operator is held: those that update it, and no others, also with 500
// UpgradeHolds of other operators.
func TestRequests(t *testing.T) {
	h := newHeld(t)
	for _, others := range []int{0, 500} {
		t.Run(fmt.Sprintf("%dOthers", others), func(t *testing.T) {
			holdOthers(t, others)
			h.awaitDenied(t)
			rows := map[string]requestRow{}
			for _, some := range []map[string]requestRow{h.ordinary(), h.definitions(), h.records(), h.neighbours(), h.updates()} {
				maps.Copy(rows, some)
			}
			t.Logf("%d requests", len(rows))
			for _, name := range slices.Sorted(maps.Keys(rows)) {
				tc := rows[name]
				t.Run(name, func(t *testing.T) {
					err := tc.request(t)
					if tc.denied == "" && err != nil || tc.denied != "" && (err == nil || !strings.Contains(err.Error(), tc.denied)) {
						t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.denied)
					}
				})
			}
		})
	}
}

// newHeld creates a held operator: a Deployment and the record of a release.
func newHeld(t *testing.T) held {
	t.Helper()
	h := held{story.New(t, cluster, kubeconfig, "requested")}
	cluster.Apply(t, h.Namespace, h.Manifests(story.First))
	cluster.AwaitCRD(t, "widgets."+h.Name+".example.com")
	for _, kind := range []string{"StatefulSet", "DaemonSet", "Deployment"} {
		cluster.Create(t, workloadOf(kind, h.Namespace, "neighbour"))
	}
	cluster.Create(t, h.record("1", "deployed"))
	createHolds(t, map[holdv1alpha1.OperatorReference]*holdv1alpha1.DeniedUpdates{
		{Installer: holdv1alpha1.InstallerWorkload, Namespace: h.Namespace, Name: h.Name}: {
			Workloads:                 []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: h.Namespace, Name: h.Name, Except: []string{h.image("0.9.0")}}},
			CustomResourceDefinitions: []string{"widgets." + h.Name + ".example.com"},
		},
		{Installer: holdv1alpha1.InstallerHelm, Namespace: h.Namespace, Name: h.Name}: {Revisions: &holdv1alpha1.DeniedRevisions{
			Namespace: h.Namespace, Release: h.Name, Statuses: []string{"pending-upgrade", "pending-install", "pending-rollback"}, Except: []string{"7"},
		}},
	})
	return h
}

// createHolds creates UpgradeHolds with their statuses and index, as the manager writes them.
func createHolds(t testing.TB, holds map[holdv1alpha1.OperatorReference]*holdv1alpha1.DeniedUpdates) {
	t.Helper()
	var created []client.Object
	t.Cleanup(func() {
		for _, o := range created {
			if err := cluster.Client.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		}
		cluster.IndexUpgradeHolds(t)
	})
	for of, denied := range holds {
		o := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldName()}, Spec: holdv1alpha1.UpgradeHoldSpec{Operator: of}}
		o.Labels = map[string]string{holdv1alpha1.LabelReported: "true"}
		if err := cluster.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		created = append(created, o)
		o.Status.Message, o.Status.Denied = "it is busy. To update anyway: annotate it with <version>", denied
		if err := cluster.Client.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.IndexUpgradeHolds(t)
}

// holdOthers holds that many other operators, half of them Helm's.
func holdOthers(t testing.TB, n int) {
	t.Helper()
	holds := map[holdv1alpha1.OperatorReference]*holdv1alpha1.DeniedUpdates{}
	for i := range n {
		name := fmt.Sprintf("other-%d", i)
		if i%2 == 1 {
			holds[holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: "others", Name: name}] = &holdv1alpha1.DeniedUpdates{
				Revisions: &holdv1alpha1.DeniedRevisions{Namespace: "others", Release: name, Statuses: []string{"pending-upgrade"}},
			}
			continue
		}
		holds[holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: "others", Name: name}] = &holdv1alpha1.DeniedUpdates{
			Workloads:                 []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "others", Name: name, Except: []string{"other:1"}}},
			CustomResourceDefinitions: []string{name + ".example.com"},
		}
	}
	createHolds(t, holds)
}

// awaitDenied waits until the API server denies updates. It reads the parameters of policies a moment after they were written.
func (h held) awaitDenied(t *testing.T) {
	t.Helper()
	for _, row := range h.updates() {
		if row.denied != "" {
			hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{
				Name: holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: h.Namespace, Name: h.Name}.HoldName(),
			}}
			cluster.Await(t, hold, func() string {
				if row.request(t) == nil {
					return "it is not enforced yet"
				}
				return ""
			})
		}
	}
}

func (h held) image(version string) string { return "example.com/" + h.Name + ":" + version }

// deployment returns the held Deployment without its content.
func (h held) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Name}}
}

func (h held) crd() *apiextensions.CustomResourceDefinition {
	return &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets." + h.Name + ".example.com"}}
}

// record returns the record of a revision of the release.
func (h held) record(revision, status string, change ...func(*corev1.Secret)) *corev1.Secret {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.Namespace, Name: "sh.helm.release.v1." + h.Name + ".v" + revision,
			Labels: map[string]string{"owner": "helm", "name": h.Name, "status": status, "version": revision},
		},
		Type: "helm.sh/release.v1",
	}
	for _, c := range change {
		c(out)
	}
	return out
}

// workloadOf returns a workload of a kind.
func workloadOf(kind, namespace, name string) client.Object {
	metadata := metav1.ObjectMeta{Namespace: namespace, Name: name}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "example.com/neighbour:1"}}},
	}
	switch kind {
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: pod}}
	case "DaemonSet":
		return &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pod}}
	default:
		return &appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{Selector: selector, Template: pod}}
	}
}

// Requests, all of them dry runs.

func as(user string) client.Client {
	config := rest.CopyConfig(cluster.Config)
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters", "system:authenticated"}}
	}
	out, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme(), Mapper: cluster.Client.RESTMapper()})
	if err != nil {
		panic(err)
	}
	return client.NewDryRunClient(out)
}

var plain = sync.OnceValue(func() client.Client { return as("") })

func patched(o client.Object, kind types.PatchType, patch string) func(*testing.T) error {
	return func(t *testing.T) error {
		return plain().Patch(t.Context(), o.DeepCopyObject().(client.Object), client.RawPatch(kind, []byte(patch)))
	}
}

func merged(o client.Object, patch string) func(*testing.T) error {
	return patched(o, types.StrategicMergePatchType, patch)
}

func mergedAs(user string, o client.Object, patch string) func(*testing.T) error {
	return func(t *testing.T) error {
		return as(user).Patch(t.Context(), o.DeepCopyObject().(client.Object), client.RawPatch(types.StrategicMergePatchType, []byte(patch)))
	}
}

func created(o client.Object) func(*testing.T) error {
	return func(t *testing.T) error { return plain().Create(t.Context(), o.DeepCopyObject().(client.Object)) }
}

// createdCRD creates another CustomResourceDefinition of the operator's group.
func (h held) createdCRD(plural string) func(*testing.T) error {
	return func(t *testing.T) error {
		objects, err := testcluster.Decode([]byte(builder.CRD(plural, h.Name+".example.com")))
		if err != nil {
			t.Fatal(err)
		}
		return plain().Create(t.Context(), objects[0])
	}
}

func deleted(o client.Object) func(*testing.T) error {
	return func(t *testing.T) error { return plain().Delete(t.Context(), o.DeepCopyObject().(client.Object)) }
}

// changed reads an object, changes it and writes it, as controllers do.
func changed[O client.Object](o O, change func(O)) func(*testing.T) error {
	return func(t *testing.T) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			now := o.DeepCopyObject().(O)
			if err := plain().Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
				t.Fatal(err)
			}
			change(now)
			return plain().Update(t.Context(), now)
		})
	}
}

// applied applies the Deployment with an image as a field manager.
func (h held) applied(manager, image, more string) func(*testing.T) error {
	return func(t *testing.T) error {
		text := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"namespace":%q},"spec":{"template":{"spec":{"containers":[{"name":"manager","image":%q%s}]}}}}`,
			h.Name, h.Namespace, image, more)
		return plain().Patch(t.Context(), h.deployment(), client.RawPatch(types.ApplyPatchType, []byte(text)), client.FieldOwner(manager), client.ForceOwnership)
	}
}

// container returns a patch of the container.
func container(fields string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"manager",` + fields + `}]}}}}`
}

// ordinary are requests for the held workload that are no update.
func (h held) ordinary() map[string]requestRow {
	d := h.deployment()
	account := "system:serviceaccount:" + h.Namespace + ":" + h.Name
	scale := func(user string) func(*testing.T) error {
		return func(t *testing.T) error {
			return as(user).SubResource("scale").Update(t.Context(), h.deployment(), client.WithSubResourceBody(&autoscalingv1.Scale{
				ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
			}))
		}
	}
	out := map[string]requestRow{
		"Scale":           {"kubectl scale changes the number of pods.", scale(""), ""},
		"Autoscale":       {"So does the autoscaler.", scale("system:serviceaccount:kube-system:horizontal-pod-autoscaler"), ""},
		"Replicas":        {"So may an installer.", merged(d, `{"spec":{"replicas":2}}`), ""},
		"Restart":         {"kubectl rollout restart annotates the pods.", merged(d, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`), ""},
		"Pause":           {"kubectl rollout pause starts nothing.", merged(d, `{"spec":{"paused":true}}`), ""},
		"Label":           {"Labels are no update.", merged(d, `{"metadata":{"labels":{"a":"b"}}}`), ""},
		"Annotation":      {"Nor are annotations, such as those of an injector.", merged(d, `{"metadata":{"annotations":{"cert-manager.io/inject":"true"}}}`), ""},
		"PodLabel":        {"Nor are labels of pods.", merged(d, `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`), ""},
		"Environment":     {"Settings are no update.", merged(d, container(`"env":[{"name":"A","value":"b"}]`)), ""},
		"Arguments":       {"An operator may change its own arguments.", mergedAs(account, d, container(`"args":["--verbose"]`)), ""},
		"Resources":       {"Requests are changed by autoscalers.", merged(d, container(`"resources":{"requests":{"cpu":"1"}}`)), ""},
		"PullPolicy":      {"How an image is pulled is no update.", merged(d, container(`"imagePullPolicy":"Always"`)), ""},
		"Strategy":        {"Nor is how pods are replaced.", merged(d, `{"spec":{"minReadySeconds":5}}`), ""},
		"Placement":       {"Nor is where they run.", merged(d, `{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}`), ""},
		"ServiceAccount":  {"Nor is as whom.", merged(d, `{"spec":{"template":{"spec":{"serviceAccountName":"other"}}}}`), ""},
		"Volume":          {"Nor is a volume.", merged(d, `{"spec":{"template":{"spec":{"volumes":[{"name":"a","emptyDir":{}}]}}}}`), ""},
		"Finalizer":       {"A finalizer may be set.", merged(d, `{"metadata":{"finalizers":["example.com/a"]}}`), ""},
		"Owner":           {"So may an owner.", merged(d, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"1"}]}}`), ""},
		"Unchanged":       {"An update that changes nothing passes.", changed(d, func(*appsv1.Deployment) {}), ""},
		"SameImage":       {"So does one to the same image.", merged(d, container(`"image":"`+h.image(story.First)+`"`)), ""},
		"SidecarAgain":    {"A second container may run the same image.", merged(d, `{"spec":{"template":{"spec":{"containers":[{"name":"second","image":"`+h.image(story.First)+`"}]}}}}`), ""},
		"Repair":          {"The image that is recorded as running may be restored.", merged(d, container(`"image":"`+h.image("0.9.0")+`"`)), ""},
		"Delete":          {"A workload may be deleted.", deleted(d), ""},
		"DeleteNamespace": {"So may its namespace.", deleted(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.Namespace}}), ""},
		"Status": {"The controller reports its status.", func(t *testing.T) error {
			return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				now := h.deployment()
				if err := plain().Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil {
					t.Fatal(err)
				}
				now.Status.ObservedGeneration = now.Generation
				return as("system:serviceaccount:kube-system:deployment-controller").Status().Update(t.Context(), now)
			})
		}, ""},
		"DeleteAll": {"All may be deleted at once.", func(t *testing.T) error {
			return plain().DeleteAllOf(t.Context(), &appsv1.Deployment{}, client.InNamespace(h.Namespace))
		}, ""},
		"Undo": {"kubectl rollout undo to a revision with the same image is no update.", changed(d, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Env = nil
		}), ""},
		"Override": {"Whoever may update the workload may allow an image there that the operator does not allow, also at once.",
			merged(d, `{"metadata":{"annotations":{"operatorstatus.io/allow-upgrade":"`+h.image(story.Second)+`"}},`+strings.TrimPrefix(container(`"image":"`+h.image(story.Second)+`"`), "{")), ""},
	}
	for _, manager := range []string{"argocd-controller", "kustomize-controller", "helm", "kubectl", "terraform"} {
		out["Apply/"+manager] = requestRow{"A field manager applies what runs, with a setting.", h.applied(manager, h.image(story.First), `,"env":[{"name":"A","value":"b"}]`), ""}
	}
	return out
}

// definitions are requests for the held CustomResourceDefinition that are no update.
func (h held) definitions() map[string]requestRow {
	crd := h.crd()
	merge := func(patch string) func(*testing.T) error { return patched(crd, types.MergePatchType, patch) }
	return map[string]requestRow{
		"Definition/Label":      {"Labels are no update.", merge(`{"metadata":{"labels":{"a":"b"}}}`), ""},
		"Definition/Annotation": {"Nor are annotations.", merge(`{"metadata":{"annotations":{"cert-manager.io/inject-ca-from":"a/b"}}}`), ""},
		"Definition/Finalizer":  {"Nor are finalizers.", merge(`{"metadata":{"finalizers":["example.com/a"]}}`), ""},
		"Definition/Bundle": {"An injector sets the certificate of a conversion webhook.",
			merge(`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}}}}`), ""},
		"Definition/Unchanged": {"An update that changes nothing passes.", changed(crd, func(*apiextensions.CustomResourceDefinition) {}), ""},
		"Definition/Stored": {"A migration of the storage version changes the status.", func(t *testing.T) error {
			now := h.crd()
			if err := plain().Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil {
				t.Fatal(err)
			}
			now.Status.StoredVersions = []string{"v1"}
			return plain().Status().Update(t.Context(), now)
		}, ""},
		"Definition/Delete": {"It may be deleted.", deleted(crd), ""},
		"Definition/Other":  {"Another one of the group may be created.", h.createdCRD("gadgets"), ""},
	}
}

// records are requests for records of Helm that are no update of the held release.
func (h held) records() map[string]requestRow {
	labelled := func(key, value string) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.Labels[key] = value
			if value == "" {
				delete(s.Labels, key)
			}
		}
	}
	one := h.record("1", "deployed")
	return map[string]requestRow{
		"Record/Install":      {"A first installation is not held.", created(h.record("2", "pending-install", labelled("name", "other"))), ""},
		"Record/Deployed":     {"Nor is a record that is complete.", created(h.record("2", "deployed")), ""},
		"Record/Uninstalling": {"A release may be uninstalled.", merged(one, `{"metadata":{"labels":{"status":"uninstalling"}}}`), ""},
		"Record/Superseded":   {"Helm changes the status of earlier revisions.", merged(one, `{"metadata":{"labels":{"status":"superseded"}}}`), ""},
		"Record/Delete":       {"Helm deletes old records.", deleted(one), ""},
		"Record/Allowed":      {"A revision that a user allows passes.", created(h.record("7", "pending-upgrade")), ""},
		"Record/OtherRelease": {"Another release of the namespace may be upgraded.", created(h.record("2", "pending-upgrade", labelled("name", "other"))), ""},
		"Record/OtherNamespace": {"So may a release of that name in another namespace.",
			created(h.record("2", "pending-upgrade", func(s *corev1.Secret) { s.Namespace = "default" })), ""},
		"Record/OtherOwner": {"A Secret that is not Helm's may have such labels.", created(h.record("2", "pending-upgrade", labelled("owner", "other"))), ""},
		"Record/NoName":     {"So may one without a name of a release.", created(h.record("2", "pending-upgrade", labelled("name", ""))), ""},
		"Record/NoRevision": {"Or without a revision.", created(h.record("2", "pending-upgrade", labelled("version", ""))), ""},
		"Secret":            {"A Secret without labels passes.", created(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "plain"}}), ""},
		"ConfigMap":         {"So does a ConfigMap.", created(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "plain"}}), ""},
	}
}

// neighbours are requests for objects that are not the operator's.
func (h held) neighbours() map[string]requestRow {
	image := container(`"image":"example.com/neighbour:2"`)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "alone"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: h.image(story.Second)}}},
	}
	elsewhere := workloadOf("Deployment", "default", h.Name)
	return map[string]requestRow{
		"Neighbour/Deployment":  {"Another Deployment of the namespace may be updated.", merged(workloadOf("Deployment", h.Namespace, "neighbour"), image), ""},
		"Neighbour/StatefulSet": {"So may a StatefulSet.", merged(workloadOf("StatefulSet", h.Namespace, "neighbour"), image), ""},
		"Neighbour/DaemonSet":   {"So may a DaemonSet.", merged(workloadOf("DaemonSet", h.Namespace, "neighbour"), image), ""},
		"Neighbour/Kind":        {"A StatefulSet of the same name is another workload.", created(workloadOf("StatefulSet", h.Namespace, h.Name)), ""},
		"Neighbour/Namespace":   {"A Deployment of the same name in another namespace is another operator.", created(elsewhere), ""},
		"Neighbour/Pod":         {"A pod is no workload of the operator.", created(pod), ""},
		"Neighbour/Node": {"The kubelet reports on its node.", func(t *testing.T) error {
			nodes := &corev1.NodeList{}
			if err := plain().List(t.Context(), nodes, client.Limit(1)); err != nil || len(nodes.Items) == 0 {
				t.Fatalf("no node: %v", err)
			}
			return as("system:node:"+nodes.Items[0].Name).Status().Update(t.Context(), &nodes.Items[0])
		}, ""},
		"Neighbour/Hold": {"Another operator may be held.", created(&holdv1alpha1.UpgradeHold{
			ObjectMeta: metav1.ObjectMeta{Name: "another"},
			Spec: holdv1alpha1.UpgradeHoldSpec{Operator: holdv1alpha1.OperatorReference{
				Installer: holdv1alpha1.InstallerWorkload, Namespace: h.Namespace, Name: "neighbour",
			}},
		}), ""},
		"Neighbour/OfKubernetes": {"The updates of Kubernetes cannot be held.", created(&holdv1alpha1.UpgradeHold{
			ObjectMeta: metav1.ObjectMeta{Name: "another"},
			Spec: holdv1alpha1.UpgradeHoldSpec{Operator: holdv1alpha1.OperatorReference{
				Installer: holdv1alpha1.InstallerWorkload, Namespace: "kube-system", Name: "coredns",
			}},
		}), "cannot be held"},
	}
}

// updates are requests that update the operator.
func (h held) updates() map[string]requestRow {
	d := h.deployment()
	image, denied := h.image(story.Second), "The update to "+h.image(story.Second)+" is held: it is busy. To update anyway: annotate it with "+h.image(story.Second)
	definition := "The update of widgets." + h.Name + ".example.com is held: it is busy"
	another := func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
	newVersion := func(t *testing.T) error {
		return changed(h.crd(), func(crd *apiextensions.CustomResourceDefinition) {
			v := *crd.Spec.Versions[0].DeepCopy()
			v.Name, v.Storage = "v2", false
			crd.Spec.Versions = append(crd.Spec.Versions, v)
		})(t)
	}
	record := "The update of release " + h.Name + " to revision 2 is held: it is busy. To update anyway: annotate it with 2"
	configMap := &corev1.ConfigMap{ObjectMeta: h.record("2", "pending-upgrade").ObjectMeta}
	unstructuredRecord := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1"}}
	unstructuredRecord.SetNamespace(h.Namespace)
	unstructuredRecord.SetGenerateName("record-")
	unstructuredRecord.SetLabels(configMap.Labels)
	return map[string]requestRow{
		"Update/Image":      {"Another image is an update.", merged(d, container(`"image":"`+image+`"`)), denied},
		"Update/JSONPatch":  {"However it is sent.", patched(d, types.JSONPatchType, `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"`+image+`"}]`), denied},
		"Update/Apply":      {"Also if it is applied.", h.applied("argocd-controller", image, ""), denied},
		"Update/Put":        {"Or replaced, as kubectl rollout undo does.", changed(d, another), denied},
		"Update/Operator":   {"A compromised operator may not either.", mergedAs("system:serviceaccount:"+h.Namespace+":"+h.Name, d, container(`"image":"`+image+`"`)), denied},
		"Update/Init":       {"So is that of an init container.", merged(d, `{"spec":{"template":{"spec":{"initContainers":[{"name":"init","image":"`+image+`"}]}}}}`), denied},
		"Update/Second":     {"So is another container.", merged(d, `{"spec":{"template":{"spec":{"containers":[{"name":"second","image":"`+image+`"}]}}}}`), denied},
		"Update/OtherValue": {"An annotation for another image allows nothing.", merged(d, `{"metadata":{"annotations":{"operatorstatus.io/allow-upgrade":"a"}},`+strings.TrimPrefix(container(`"image":"`+image+`"`), "{")), denied},
		"Update/Schema": {"Another schema is an update.", changed(h.crd(), func(crd *apiextensions.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "another"
		}), definition},
		"Update/Version":   {"So is another version.", newVersion, definition},
		"Update/Record":    {"So is the record of another revision.", created(h.record("2", "pending-upgrade")), record},
		"Update/Install":   {"Also if Helm takes what runs over, since its own records are gone.", created(h.record("2", "pending-install")), record},
		"Update/Rollback":  {"Also of an earlier version.", created(h.record("2", "pending-rollback")), record},
		"Update/ConfigMap": {"Helm may keep its records in ConfigMaps.", created(configMap), record},
		"Update/Generated": {"Whatever the name of the record.", created(unstructuredRecord), record},
	}
}

// manager is the user that the manager is for the API server.
const manager = "system:serviceaccount:operator-status-system:operator-status-controller-manager"

// TestRetryPolicy verifies that the manager may have Flux try again, and change nothing else of Flux's objects.
func TestRetryPolicy(t *testing.T) {
	namespace := cluster.Namespace(t, "retry")
	crd := builder.CRD("helmreleases", "helm.toolkit.fluxcd.io")
	cluster.Apply(t, namespace, crd)
	t.Cleanup(func() { cluster.Delete(t, crd, namespace) })
	cluster.AwaitCRD(t, "helmreleases.helm.toolkit.fluxcd.io")
	release := builder.Object("helm.toolkit.fluxcd.io/v1", "Helmrelease", namespace, "foo")
	release.Object["spec"] = map[string]any{"interval": "10m"}
	release.SetAnnotations(map[string]string{"a": "b"})
	if err := cluster.Rediscovered(t).Client.Create(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason, user, patch string
		allowed             bool
	}{
		"Retry":      {"Flux tries again.", manager, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now","reconcile.fluxcd.io/resetAt":"now"}}}`, true},
		"Spec":       {"The spec is the user's.", manager, `{"spec":{"interval":"1s"}}`, false},
		"Label":      {"So are labels.", manager, `{"metadata":{"labels":{"a":"b"}}}`, false},
		"Annotation": {"So are other annotations.", manager, `{"metadata":{"annotations":{"a":"c"}}}`, false},
		"Another":    {"None may be added.", manager, `{"metadata":{"annotations":{"c":"d"}}}`, false},
		"Removed":    {"None may be removed.", manager, `{"metadata":{"annotations":{"a":null}}}`, false},
		"Finalizer":  {"Nor a finalizer added.", manager, `{"metadata":{"finalizers":["example.com/a"]}}`, false},
		"User":       {"Users are not concerned.", "", `{"spec":{"interval":"1s"}}`, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := as(tc.user).Patch(t.Context(), release.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(tc.patch)))
			if denied := err != nil && strings.Contains(err.Error(), "may only have an installer try again"); err != nil && !denied || denied == tc.allowed {
				t.Errorf("%s\ngot %v, want allowed: %t", tc.reason, err, tc.allowed)
			}
		})
	}
}
