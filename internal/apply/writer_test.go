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
		"Patch":      {"An identity that may patch needs no right to create.", nil, noCreate, nil},
		"OLMsRights": {"An identity that may create but not patch, as OLM requires, is accepted.", noPatch, nil, nil},
		"Neither":    {"Without either right, the error names the one that OLM needs.", noPatch, noCreate, noCreate},
		"Quota":      {"An exceeded quota is reported as such, even if the account may not create.", quota, noCreate, quota},
		"CreateFull": {"An exceeded quota is reported if it prevents the creation after a forbidden patch.", noPatch, quota, quota},
		"Away":       {"If the patch is forbidden and the creation fails for another reason, the missing right to patch is reported.", noPatch, away, noPatch},
		"PatchAway":  {"If the patch fails for another reason than a missing right, the creation is not tried.", away, nil, away},
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
