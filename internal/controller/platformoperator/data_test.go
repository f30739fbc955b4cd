package platformoperator

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/builder"
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
		"ConfigMap":  {"A ConfigMap without an owner is a user's.", partial("v1", "ConfigMap", "foo", "notes"), true},
		"Deployment": {"A Deployment without an owner is a user's.", partial("apps/v1", "Deployment", "foo", "web", labelled("app", "web")), true},
		"Owned": {"An object with an owner is not counted, since its owner is.",
			partial("v1", "Pod", "foo", "web-1", func(m *metav1.ObjectMeta) { m.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment"}} }), false},
		"OLM's":    {"An object with OLM's label is not a user's.", partial("v1", "Secret", "foo", "cert", labelled("olm.managed", "true")), false},
		"CSV's":    {"An object that a ClusterServiceVersion owns is not a user's.", partial("apps/v1", "Deployment", "foo", "op", labelled("olm.owner", "foo.v1")), false},
		"Bundle's": {"An object of the bundle is not a user's.", partial("v1", "ConfigMap", "foo", "dashboard", annotated("operatorstatus.io/bundled-by", "foo.v1")), false},
		"Token": {"A token Secret of a service account is not a user's.",
			partial("v1", "Secret", "foo", "default-token", annotated("kubernetes.io/service-account.name", "default")), false},
		"Pull secret": {"A pull secret that OpenShift creates for a service account is not a user's.",
			partial("v1", "Secret", "foo", "default-dockercfg", annotated("openshift.io/internal-registry-auth-token.service-account", "default")), false},
		"Leader": {"A leader election lock is not a user's.",
			partial("v1", "ConfigMap", "foo", "lock", annotated("control-plane.alpha.kubernetes.io/leader", "{}")), false},
		"Root CA":  {"The root CA that Kubernetes creates in each namespace is not a user's.", partial("v1", "ConfigMap", "foo", "kube-root-ca.crt"), false},
		"Its name": {"A Secret with the name of the root CA's ConfigMap is a user's.", partial("v1", "Secret", "foo", "kube-root-ca.crt"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isUsers(tc.object); got != tc.want {
				t.Errorf("%s got %v", tc.reason, got)
			}
		})
	}
}

// twoPages lists an object of the operator on one page, and one of a user on the next. It decodes into the list that it is
// given, as a client does.
type twoPages struct{ client.WithWatch }

func (twoPages) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	text := `{"metadata":{"continue":"next"},"items":[{"metadata":{"name":"operators","labels":{"olm.owner":"foo.v1"}}}]}`
	if (&client.ListOptions{}).ApplyOptions(options).Continue == "next" {
		text = `{"metadata":{},"items":[{"metadata":{"name":"users"}}]}`
	}
	return json.Unmarshal([]byte(text), list)
}

// TestPages verifies that an object on a later page has nothing of one on a page before, by which it would not be a user's.
func TestPages(t *testing.T) {
	c := composer{op: builder.PlatformOperator()}
	var out data
	if err := c.pages(t.Context(), twoPages{}, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "foo", &out, isUsers); err != nil {
		t.Fatal(err)
	}
	if len(out.found) != 1 || out.found[0].Name != "users" || len(out.found[0].Labels) > 0 {
		t.Errorf("found %+v; want the user's object alone", out.found)
	}
}

func TestDataMessage(t *testing.T) {
	const anyway = ". To uninstall the operator anyway: kubectl annotate platformoperator.platform.openshift.io foo operatorstatus.io/delete-anyway=true"
	const waiting = "Waiting for users to delete objects that would be deleted with the operator, or left without it: "
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
			"Each kind is listed once, and cluster-scoped objects are listed by name.",
			data{found: []found{
				{PartialObjectMetadata: partial("foo.example.com/v1", "Foo", "b", "two")}, {PartialObjectMetadata: partial("foo.example.com/v1", "Foo", "a", "one")},
				{PartialObjectMetadata: partial("foo.example.com/v1", "World", "", "all")},
			}},
			"Foo.foo.example.com a/one, b/two; World.foo.example.com all",
		},
		"Many": {
			"If the limit of objects was reached, the message does not contain their number.", data{found: many},
			"ConfigMap foo/c00, foo/c01, foo/c02, foo/c03, foo/c04, and more",
		},
		"More": {
			"Objects beyond the first five are counted.", data{found: many[:7]},
			"ConfigMap foo/c00, foo/c01, foo/c02, foo/c03, foo/c04, and 2 more",
		},
		"Secrets": {
			"Secrets are not listed by name, since a reader of the message may not list them.", data{found: []found{
				{PartialObjectMetadata: partial("v1", "ConfigMap", "foo", "c")}, {PartialObjectMetadata: partial("v1", "Secret", "foo", "s")},
			}},
			"ConfigMap foo/c; Secrets of namespace foo",
		},
		"Unread": {
			"A kind that cannot be listed is reported, since objects of it may exist.", data{unread: "Foo.foo.example.com cannot be listed: forbidden"},
			"Foo.foo.example.com cannot be listed: forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(waiting+tc.want+anyway, tc.data.message(builder.PlatformOperator())); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
			if tc.data.none() {
				t.Error("none returns true with data")
			}
		})
	}
	if !(data{}).none() {
		t.Error("none returns false without data")
	}
}
