package installplan

import (
	"encoding/json"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
)

func object(text string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(text), &out.Object); err != nil {
		panic(err)
	}
	return out
}

func csv(name string) *unstructured.Unstructured {
	return object(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"` + name + `"},
		"spec":{"displayName":"Foo","replaces":"foo.v0"}}`)
}

func crd() *unstructured.Unstructured {
	return object(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"kind":"Foo","plural":"foos"}}}`)
}

func configMap(name string) *unstructured.Unstructured {
	return object(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"},"data":{"a":"b"}}`)
}

// bundle returns a bundle of the catalog olm/community.
func bundle(name, replaces string, objects ...*unstructured.Unstructured) record.Bundle {
	out, err := newBundle(runtime.NewScheme(), choice(name, replaces), &store.Manifests{}, objects)
	if err != nil {
		panic(err)
	}
	out.Subscription = "foo"
	return out
}

func choice(name, replaces string) resolve.Choice {
	return resolve.Choice{
		Bundle: &catalog.Bundle{Name: name, Properties: []property.Property{
			{Type: property.TypePackage, Value: json.RawMessage(`{"packageName":"foo","version":"1.0.0"}`)},
		}},
		Package: "foo", Channel: "stable", Replaces: replaces,
		Catalog: types.NamespacedName{Namespace: "olm", Name: "community"},
	}
}

func plan() *olm.InstallPlan {
	return &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "install-1"}}
}

func group() *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}}
}

func scope(targets ...string) Scope { return Scope{Group: group(), Targets: targets} }

func tasks(t *testing.T, bundles ...record.Bundle) []task {
	t.Helper()
	out, err := tasksOf(&record.Content{Bundles: bundles}, plan().Name, scope("default"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func shown(t *testing.T, objects ...*unstructured.Unstructured) []*olm.Step {
	t.Helper()
	out, problem := stepsOf(tasks(t, bundle("foo.v1", "", objects...)))
	if problem != nil {
		t.Fatal(problem.Message)
	}
	return out
}

// kinds returns a mapper with the kinds of the tests.
func kinds() meta.RESTMapper {
	out := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		{Version: "v1", Kind: "ConfigMap"}:                                                          meta.RESTScopeNamespace,
		{Version: "v1", Kind: "Namespace"}:                                                          meta.RESTScopeRoot,
		{Version: "v1", Kind: "Secret"}:                                                             meta.RESTScopeNamespace,
		{Group: rbacv1.GroupName, Version: "v1", Kind: "ClusterRole"}:                               meta.RESTScopeRoot,
		{Group: rbacv1.GroupName, Version: "v1", Kind: "RoleBinding"}:                               meta.RESTScopeNamespace,
		{Group: apiextensions.GroupName, Version: "v1", Kind: "CustomResourceDefinition"}:           meta.RESTScopeRoot,
		{Version: "v1", Kind: "ServiceAccount"}:                                                     meta.RESTScopeNamespace,
		{Group: rbacv1.GroupName, Version: "v1", Kind: "Role"}:                                      meta.RESTScopeNamespace,
		{Group: "apps", Version: "v1", Kind: "Deployment"}:                                          meta.RESTScopeNamespace,
		v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind):                          meta.RESTScopeNamespace,
		v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind):                                   meta.RESTScopeNamespace,
		v1alpha1.GroupVersion.WithKind("Probe"):                                                     meta.RESTScopeNamespace,
		v1alpha1.GroupVersion.WithKind(olm.InstallPlanKind):                                         meta.RESTScopeNamespace,
		{Group: operatorsv2.GroupVersion.Group, Version: "v2", Kind: "OperatorCondition"}:           meta.RESTScopeNamespace,
		{Group: operatorsv1.GroupVersion.Group, Version: "v1", Kind: operatorsv1.OperatorGroupKind}: meta.RESTScopeNamespace,
	} {
		out.Add(kind, scope)
	}
	return out
}

// cluster returns a client for these objects.
func cluster(t *testing.T, intercepted interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, rbacv1.AddToScheme, operatorsv1.AddToScheme, operatorsv2.AddToScheme, holdv1alpha1.AddToScheme, v1alpha1.AddToScheme,
		apiextensions.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &olm.InstallPlan{}, &olm.InstallPlanList{})
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(kinds()).WithObjects(objects...).
		WithStatusSubresource(&olm.InstallPlan{}).WithInterceptorFuncs(intercepted).Build()
}

var nothing interceptor.Funcs
