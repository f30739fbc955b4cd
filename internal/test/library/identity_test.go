package library_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/pkg/probe"
)

// ownerRights are the documented rights for finding the name by the owner of the pod.
var ownerRights = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
	{APIGroups: []string{"apps"}, Resources: []string{"replicasets", "deployments"}, Verbs: []string{"get"}},
}

// TestKey verifies where the name and the namespace of the Probe are found.
func TestKey(t *testing.T) {
	cluster.InstallOLM(t)
	namespace := cluster.Namespace(t, "key")
	account := newAccount(t, namespace, "operator", ownerRights...)
	reader := newAccount(t, namespace, "reader", append(slices.Clone(ownerRights), rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"clusterserviceversions"}, Verbs: []string{"get"},
	})...)
	pod := func(name string, owner client.Object, labels map[string]string) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
		p.Spec.Containers = []corev1.Container{{Name: "operator", Image: "example.com/operator"}}
		if owner != nil {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		}
		cluster.Create(t, p)
	}
	// chain creates the objects of a Deployment as its controllers do: this cluster has none.
	chain := func(name string, owners []metav1.OwnerReference, labels map[string]string, annotations ...string) {
		selector := map[string]string{"app": name}
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}}
		template.Spec.Containers = []corev1.Container{{Name: "operator", Image: "example.com/operator"}}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners, Labels: labels}}
		d.Spec.Selector, d.Spec.Template = &metav1.LabelSelector{MatchLabels: selector}, template
		for i := 0; i < len(annotations); i += 2 {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, annotations[i], annotations[i+1])
		}
		cluster.Create(t, d)
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		rs.Spec.Selector, rs.Spec.Template = d.Spec.Selector, template
		cluster.Create(t, rs)
		pod(name, rs, selector)
	}
	csv := metav1.OwnerReference{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "owner.v1", UID: "1"}
	other := csv
	other.APIVersion, other.Name = "example.com/v1", "other"
	chain("referenced", []metav1.OwnerReference{other, csv}, nil)
	chain("labelled", nil, map[string]string{"olm.owner": "label.v1", "olm.owner.kind": "ClusterServiceVersion"})
	chain("subscribed", nil, map[string]string{"olm.owner": "sub", "olm.owner.kind": "Subscription"})
	release := []string{"meta.helm.sh/release-name", "rel", "meta.helm.sh/release-namespace", "releases"}
	chain("released", nil, nil, release...)
	chain("extension", nil, map[string]string{"olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "ext"}, release...)
	cluster.Create(t, newCSV(types.NamespacedName{Namespace: namespace, Name: "described.v1"}))
	pod("alone", nil, nil)
	pod("bare", nil, map[string]string{"olm.owner": "bare.v1"})

	file := filepath.Join(t.TempDir(), "namespace")
	must(t, os.WriteFile(file, []byte(namespace+"\n"), 0o600))
	absent := filepath.Join(t.TempDir(), "absent")
	cases := map[string]struct {
		reason string
		opts   []probe.Option
		env    map[string]string
		file   string
		want   string // name
		in     string // namespace
		err    string
		reads  bool // may read ClusterServiceVersions
	}{
		"Options": {reason: "Options take precedence over the environment and the file.", opts: []probe.Option{probe.WithName("a.v1"), probe.WithNamespace("a")},
			env: map[string]string{"OPERATOR_CONDITION_NAME": "b", "POD_NAMESPACE": "b"}, file: file, want: "a.v1", in: "a"},
		"OLM": {reason: "The name is taken from OLM's variable and the namespace from the service account.", env: map[string]string{"OPERATOR_CONDITION_NAME": "b.v1"},
			file: file, want: "b.v1", in: namespace},
		"Pod": {reason: "POD_NAMESPACE takes precedence over OPERATOR_NAMESPACE and the file.",
			env: map[string]string{"OPERATOR_CONDITION_NAME": "b.v1", "POD_NAMESPACE": "p", "OPERATOR_NAMESPACE": "o"}, file: file, want: "b.v1", in: "p"},
		"Operator": {reason: "OPERATOR_NAMESPACE is used without POD_NAMESPACE.", env: map[string]string{"OPERATOR_CONDITION_NAME": "b.v1", "OPERATOR_NAMESPACE": "o"}, file: file,
			want: "b.v1", in: "o"},
		"Nowhere": {reason: "Without a namespace the error contains the variable to set.", env: map[string]string{"OPERATOR_CONDITION_NAME": "b.v1"}, file: absent,
			err: "POD_NAMESPACE"},
		"Referenced": {reason: "The name is taken from the owner of the pod's Deployment.", env: map[string]string{"POD_NAME": "referenced"}, file: file,
			want: "owner.v1", in: namespace},
		"Labelled": {reason: "The name is taken from OLM's labels of the pod's Deployment.", opts: []probe.Option{probe.WithPodName("labelled")}, file: file, want: "label.v1", in: namespace},
		"Bare":     {reason: "The name is taken from OLM's labels of a pod without a Deployment.", opts: []probe.Option{probe.WithPodName("bare")}, file: file, want: "bare.v1", in: namespace},
		"Subscribed": {reason: "The owner label is ignored if its kind is not ClusterServiceVersion.", opts: []probe.Option{probe.WithPodName("subscribed")}, file: file,
			want: "reported.workload.subscribed", in: namespace},
		"Released": {reason: "The Probe of a Helm release is in its namespace.", opts: []probe.Option{probe.WithPodName("released")}, file: file,
			want: "reported.helm.rel", in: "releases"},
		"Extension": {reason: "OLM v1 marks objects as Helm does.", opts: []probe.Option{probe.WithPodName("extension")}, file: file,
			want: "reported.olmv1.ext", in: namespace},
		"Named": {reason: "The variable that operator-status sets beside OLM v1 names no ClusterServiceVersion.", opts: []probe.Option{probe.WithPodName("extension")},
			env: map[string]string{"OPERATOR_CONDITION_NAME": "ext"}, file: file, want: "reported.olmv1.ext", in: namespace, reads: true},
		"Unreadable": {reason: "An operator that no ClusterServiceVersion describes needs no rights to read them.", opts: []probe.Option{probe.WithPodName("extension")},
			env: map[string]string{"OPERATOR_CONDITION_NAME": "ext"}, file: file, want: "reported.olmv1.ext", in: namespace},
		"Described": {reason: "Nothing else is read if the ClusterServiceVersion exists.", opts: []probe.Option{probe.WithPodName("extension")},
			env: map[string]string{"OPERATOR_CONDITION_NAME": "described.v1"}, file: file, want: "described.v1", in: namespace, reads: true},
		"Alone":     {reason: "A pod that nothing updates is no operator.", opts: []probe.Option{probe.WithPodName("alone")}, file: file, err: "belongs to no"},
		"NoPod":     {reason: "A pod that does not exist is an error.", opts: []probe.Option{probe.WithPodName("none")}, file: file, err: "not found"},
		"Forbidden": {reason: "A missing permission to read the pod is an error.", opts: []probe.Option{probe.WithPodName("bare"), probe.WithNamespace("default")}, err: "forbidden"},
		"HostName":  {reason: "The host name is used as the name of the pod.", file: file, err: hostname(t)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			user := account
			if tc.reads {
				user = reader
			}
			o := startWith(t, as(t, user), types.NamespacedName{}, append([]probe.Option{
				probe.WithEnvironment(func(key string) string { return tc.env[key] }), probe.WithNamespaceFile(tc.file),
			}, tc.opts...)...)
			got, err := o.Key(t.Context())
			if tc.err != "" {
				if !errors.Is(err, probe.ErrUnknownOperator) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			if want := (types.NamespacedName{Namespace: tc.in, Name: tc.want}); err != nil || got != want {
				t.Errorf("%s: got %s, %v, want %s", tc.reason, got, err, want)
			}
			since := time.Now()
			if again, err := o.Key(t.Context()); err != nil || again != got || len(o.requests(t, since)) > 0 {
				t.Errorf("the second call: %s %v %v", again, err, o.requests(t, since))
			}
		})
	}
}

func hostname(t *testing.T) string {
	t.Helper()
	out, err := os.Hostname()
	must(t, err)
	return out
}

// TestOwnerChanges verifies that an operator whose pod keeps running while a newer ClusterServiceVersion adopts its
// Deployment, writes the Probe of that one.
func TestOwnerChanges(t *testing.T) {
	former := csv(t)
	owned := func(name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: name, UID: types.UID(name)}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: former.Namespace, Name: "operator", OwnerReferences: owned(former.Name)}}
	pod.Spec.Containers = []corev1.Container{{Name: "operator", Image: "example.com/operator"}}
	pod.Spec.AutomountServiceAccountToken = new(false)
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: former.Namespace, Name: "default"}}, pod)
	o := start(t, cluster, types.NamespacedName{Namespace: former.Namespace}, probe.WithPodName(pod.Name))
	must(t, o.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", ""))

	latter := types.NamespacedName{Namespace: former.Namespace, Name: "foo-operator.v1.1.0"}
	cluster.Create(t, newCSV(latter))
	pod.OwnerReferences = owned(latter.Name)
	must(t, cluster.Client.Update(t.Context(), pod))
	for _, o := range []client.Object{ownerOf(t, former), actual(t, former)} { // the garbage collector's part
		must(t, cluster.Client.Delete(t.Context(), o))
	}
	if err := o.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", ""); !errors.Is(err, probe.ErrNoCSV) {
		t.Errorf("want ErrNoCSV after the previous ClusterServiceVersion was deleted, got %v", err)
	}
	must(t, o.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", ""))
	if c := upgradeable(actual(t, latter)); c.Status != metav1.ConditionFalse {
		t.Errorf("%+v", c)
	}
	if err := cluster.Client.Get(t.Context(), former, &v1alpha1.Probe{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the previous Probe: %v", err)
	}
}
