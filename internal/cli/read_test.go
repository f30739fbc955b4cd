package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/internal/inventory"
)

// TestWarnings verifies that a user learns of the operators that may be missing.
func TestWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		forbidden []string
		want      string
	}{
		"All":        {"Nothing is missing.", nil, ""},
		"Shown":      {"It tells more of operators that are listed.", []string{"InstallPlan"}, "Warning: you may not list InstallPlans; output is incomplete\n"},
		"Extensions": {"Few clusters have it.", []string{"ClusterExtension", "HelmRelease"}, ""},
		"Operators": {
			"Without rights, nobody knows whether a Deployment is an operator.", []string{"CustomResourceDefinition", "ClusterRoleBinding"},
			"Warning: you may not list CustomResourceDefinitions, ClusterRoleBindings, which identify the operators that OLM did not install; output is incomplete\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var errOut bytes.Buffer
			o := &options{IOStreams: genericiooptions.IOStreams{Out: &bytes.Buffer{}, ErrOut: &errOut}, installers: inventory.Installers}
			s, err := scheme(o.kinds())
			if err != nil {
				t.Fatal(err)
			}
			o.connected = interceptor.NewClient(fake.NewClientBuilder().WithScheme(s).Build(), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					gvk, err := c.GroupVersionKindFor(list)
					if err != nil {
						return err
					}
					for _, kind := range tc.forbidden {
						if gvk.Kind == kind+"List" {
							return apierrors.NewForbidden(schema.GroupResource{Group: gvk.Group, Resource: kind}, "", nil)
						}
					}
					return c.List(ctx, list, options...)
				},
			})
			if _, err := o.read(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, errOut.String()); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
