package cli

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/internal/installer"
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

// denying is a lister that denies everything, and knows which kinds exist.
type denying struct {
	served []string
	known  bool
}

func (denying) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
}

func (d denying) serves(kind schema.GroupVersionKind) (served, known bool) {
	return slices.Contains(d.served, kind.Kind), d.known
}

// TestServed verifies that a kind that does not exist is not one that the user may not read.
func TestServed(t *testing.T) {
	required := installer.Kind{GroupVersionKind: schema.GroupVersionKind{Kind: "Subscription"}, Plural: "Subscriptions", Required: true}
	other := installer.Kind{GroupVersionKind: schema.GroupVersionKind{Kind: "UpgradeHold"}, Plural: "UpgradeHolds"}
	for _, k := range []*installer.Kind{&required, &other} {
		k.List = func() installer.List { return &metav1.PartialObjectMetadataList{} }
	}
	for name, tc := range map[string]struct {
		reason string
		c      denying
		kind   installer.Kind
		unread []string
		served int
		fails  bool
	}{
		"Absent":          {"There is nothing to read.", denying{known: true}, other, nil, 0, false},
		"Served":          {"The user may not read it.", denying{[]string{"UpgradeHold"}, true}, other, []string{"UpgradeHolds"}, 1, false},
		"Unknown":         {"It may exist.", denying{}, other, []string{"UpgradeHolds"}, 0, false},
		"RequiredAbsent":  {"Without OLM, other operators are shown.", denying{known: true}, required, nil, 0, false},
		"RequiredServed":  {"With OLM, nothing is.", denying{[]string{"Subscription"}, true}, required, nil, 0, true},
		"RequiredUnknown": {"Nothing is concluded.", denying{}, required, nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(t.Context(), tc.c, []installer.Kind{tc.kind}, "")
			if (err != nil) != tc.fails || !slices.Equal(got.Unread, tc.unread) || len(got.Served) != tc.served {
				t.Errorf("%s\ngot %v unread, %v served, and the error %v", tc.reason, got.Unread, got.Served, err)
			}
		})
	}
}
