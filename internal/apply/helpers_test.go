package apply

import (
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func object(text string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(text), &out.Object); err != nil {
		panic(err)
	}
	return out
}

// cluster returns a client for these objects.
func cluster(t *testing.T, intercepted interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	for _, version := range []string{"v1", "v2"} {
		kinds.Add(schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Foo"}, meta.RESTScopeNamespace)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(kinds).WithObjects(objects...).WithInterceptorFuncs(intercepted).Build()
}
