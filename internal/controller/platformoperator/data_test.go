package platformoperator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// partial returns the metadata of an object.
func partial(apiVersion, kind, namespace, name string, change ...func(*metav1.ObjectMeta)) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
	out.Namespace, out.Name = namespace, name
	for _, c := range change {
		c(&out.ObjectMeta)
	}
	return out
}

func labelled(key, value string) func(*metav1.ObjectMeta) {
	return func(m *metav1.ObjectMeta) { m.Labels = map[string]string{key: value} }
}

func annotated(key, value string) func(*metav1.ObjectMeta) {
	return func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{key: value} }
}

func TestIsUsers(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		object *metav1.PartialObjectMetadata
		want   bool
	}{
		"ConfigMap":   {"A user put it there.", partial("v1", "ConfigMap", "foo", "notes"), true},
		"Deployment":  {"So did he a workload.", partial("apps/v1", "Deployment", "foo", "web", labelled("app", "web")), true},
		"Owned":       {"It goes with its owner, which is looked at itself.", partial("v1", "Pod", "foo", "web-1", func(m *metav1.ObjectMeta) { m.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment"}} }), false},
		"OLM's":       {"An OLM marks what it makes.", partial("v1", "Secret", "foo", "cert", labelled("olm.managed", "true")), false},
		"CSV's":       {"So it does what a ClusterServiceVersion owns.", partial("apps/v1", "Deployment", "foo", "op", labelled("olm.owner", "foo.v1")), false},
		"Bundle's":    {"It came with the bundle.", partial("v1", "ConfigMap", "foo", "dashboard", annotated("operatorstatus.io/bundled-by", "foo.v1")), false},
		"Token":       {"The cluster makes it for a service account.", partial("v1", "Secret", "foo", "default-token", annotated("kubernetes.io/service-account.name", "default")), false},
		"Pull secret": {"OpenShift makes it for a service account.", partial("v1", "Secret", "foo", "default-dockercfg", annotated("openshift.io/internal-registry-auth-token.service-account", "default")), false},
		"Leader":      {"The operator itself elects a leader by it.", partial("v1", "ConfigMap", "foo", "lock", annotated("control-plane.alpha.kubernetes.io/leader", "{}")), false},
		"Root CA":     {"The cluster puts it into each namespace.", partial("v1", "ConfigMap", "foo", "kube-root-ca.crt"), false},
		"Its name":    {"A Secret of that name is somebody's.", partial("v1", "Secret", "foo", "kube-root-ca.crt"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isUsers(tc.object); got != tc.want {
				t.Errorf("%s got %v", tc.reason, got)
			}
		})
	}
}

func TestDataMessage(t *testing.T) {
	const anyway = ". To uninstall the operator anyway, and leave that: kubectl annotate platformoperator foo operatorstatus.io/delete-anyway=true"
	const waiting = "Waiting for users to delete what would go with the operator, or be left without it: "
	var many []found
	for i := range maxFound {
		many = append(many, found{PartialObjectMetadata: partial("v1", "ConfigMap", "foo", fmt.Sprintf("c%02d", i))})
	}
	for name, tc := range map[string]struct {
		reason string
		data   data
		want   string
	}{
		"Kinds": {
			"Each kind is named once, and one that belongs to no namespace by its name.",
			data{found: []found{
				{PartialObjectMetadata: partial("foo.example.com/v1", "Foo", "b", "two")}, {PartialObjectMetadata: partial("foo.example.com/v1", "Foo", "a", "one")},
				{PartialObjectMetadata: partial("foo.example.com/v1", "World", "", "all")},
			}},
			"Foo.foo.example.com a/one, b/two; World.foo.example.com all",
		},
		"Many": {
			"There may be more than was looked for.", data{found: many},
			"ConfigMap foo/c00, foo/c01, foo/c02, foo/c03, foo/c04 and more",
		},
		"More": {
			"Those that are not named are counted.", data{found: many[:7]},
			"ConfigMap foo/c00, foo/c01, foo/c02, foo/c03, foo/c04 and 2 more",
		},
		"Unread": {
			"What cannot be read may be there.", data{unread: "Foo.foo.example.com cannot be listed: forbidden"},
			"Foo.foo.example.com cannot be listed: forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(waiting+tc.want+anyway, tc.data.message(asking())); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
			if tc.data.none() {
				t.Error("nothing is in the way")
			}
		})
	}
	if !(data{}).none() {
		t.Error("nothing is something")
	}
}

func TestOnDeletion(t *testing.T) {
	owning := func(in *Inputs) {
		csv := in.CSVs["foo.v1"]
		csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: "foos.example.com"}, {Name: "bars.example.com"}}
	}
	unowned := func(in *Inputs) { in.Objects = in.Objects[len(in.Objects)-1:] }
	for name, tc := range map[string]struct {
		reason string
		in     Inputs
		want   string
	}{
		"Not yet": {
			"An operator that has not run has no custom resources.", beginning(),
			"Uninstalls the operator and deletes namespace foo, once there are no volume claims, workloads, Secrets or ConfigMaps of users' in namespace foo",
		},
		"Runs": {
			"Its custom resources are waited for.", runs(owning),
			"Uninstalls foo.v1 and deletes namespace foo, once there are no custom resources of bars.example.com, foos.example.com, " +
				"or volume claims, workloads, Secrets or ConfigMaps of users' in namespace foo",
		},
		"Namespace stays": {
			"A namespace that it did not make stays, with what is in it.", runs(owning, unowned),
			"Uninstalls foo.v1, once there are no custom resources of bars.example.com, foos.example.com",
		},
		"Orphan": {
			"The policy leaves all.", runs(asked(func(op *v1alpha1.PlatformOperator) { op.Spec.DeletionPolicy = v1alpha1.DeletionOrphan })),
			"Nothing is deleted, since deletionPolicy is Orphan: the operator keeps running and is no longer managed",
		},
		"Observe": {
			"Who only observes has made nothing.", runs(asked(func(op *v1alpha1.PlatformOperator) { op.Spec.ManagementPolicy = v1alpha1.ManagementObserve })),
			"Nothing is deleted, since managementPolicy is Observe",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := Status(tc.in)
			if diff := cmp.Diff(tc.want, got.OnDeletion); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWaitingForUsers verifies that a PlatformOperator is not failing while its deletion waits for users' data, and
// that its composed objects stay in the status.
func TestWaitingForUsers(t *testing.T) {
	in := runs()
	in.Operator.Status, _ = Status(in)
	got := WaitingForUsers(in.Operator, "Waiting for Foo a/one", in.Now)
	said := map[string]string{}
	for _, c := range got.Conditions {
		said[c.Type] = fmt.Sprintf("%s/%s", c.Status, c.Reason)
	}
	if diff := cmp.Diff(how("Synced=False/UsersData", "Ready=False/UsersData"), said); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(got.Resources) != len(in.Operator.Status.Resources) || got.FailingSince != nil {
		t.Errorf("got %+v", got)
	}
}
