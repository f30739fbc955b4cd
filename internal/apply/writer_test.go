package apply

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestForbidden verifies which error is reported if the identity must not patch, create or update.
func TestForbidden(t *testing.T) {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "foo", errors.New(why))
	}
	noPatch, noCreate := forbidden(`User "installer" cannot patch resource "configmaps"`), forbidden(`User "installer" cannot create resource "configmaps"`)
	quota, away := forbidden("exceeded quota"), errors.New("away")
	cases := map[string]struct {
		reason        string
		patch, create error
		want          error
	}{
		"Patch":      {"Who may patch needs nothing else.", nil, noCreate, nil},
		"OLMsRights": {"Who may not, but create, as OLM needs it, is served.", noPatch, nil, nil},
		"Neither":    {"Without either right, the error names the one that OLM needs.", noPatch, noCreate, noCreate},
		"Quota":      {"An exceeded quota is reported as such, even if the account may not create.", quota, noCreate, quota},
		"CreateFull": {"A quota that prevents the creation is reported as such, too.", noPatch, quota, quota},
		"Away":       {"What has nothing to do with rights does not hide them.", noPatch, away, noPatch},
		"PatchAway":  {"What has nothing to do with rights is not tried otherwise.", away, nil, away},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return tc.patch
				},
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return tc.create },
			}).Build()
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": "foo"},
			}}
			if got := (Writer{Client: c, Owner: "test"}).DryRun(t.Context(), object); !errors.Is(got, tc.want) || tc.want == nil && got != nil {
				t.Errorf("%s\ngot  %v\nwant %v", tc.reason, got, tc.want)
			}
		})
	}
}
