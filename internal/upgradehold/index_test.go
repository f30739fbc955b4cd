package upgradehold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// TestWrite verifies which parts the index has after one could not be written.
func TestWrite(t *testing.T) {
	const namespace = "operator-status-system"
	part := func(denies, number string) string { return "upgradeholds-" + denies + "-" + number }
	former := func(denies, number string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: part(denies, number), Labels: map[string]string{holdv1alpha1.LabelDenies: denies},
		}}
	}
	const workloads, definitions, revisions = holdv1alpha1.DeniesWorkloads, holdv1alpha1.DeniesDefinitions, holdv1alpha1.DeniesRevisions
	denying := func(crds int) client.Object {
		return hold("foo", func(h *holdv1alpha1.UpgradeHold) {
			h.Status.Denied = &holdv1alpha1.DeniedUpdates{Workloads: []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo"}}}
			for i := range crds {
				h.Status.Denied.CustomResourceDefinitions = append(h.Status.Denied.CustomResourceDefinitions, fmt.Sprint("foos.example.com-", i))
			}
		})
	}
	cases := map[string]struct {
		reason  string
		objects []client.Object
		fails   string
		want    []string
	}{
		"Written": {
			reason:  "Parts of another number, and of ended holds, are deleted.",
			objects: []client.Object{denying(1), former(workloads, "1-of-2"), former(definitions, "1-of-2"), former(revisions, "1-of-1")},
			want:    []string{part(definitions, "1-of-1"), part(workloads, "1-of-1")},
		},
		"FirstFails": {
			reason:  "The others are written, and their former parts deleted.",
			objects: []client.Object{denying(1), former(workloads, "1-of-2"), former(definitions, "1-of-2"), former(revisions, "1-of-1")},
			fails:   part(definitions, "1-of-1"),
			want:    []string{part(definitions, "1-of-2"), part(workloads, "1-of-1")},
		},
		"LastFails": {
			reason:  "Its former part stays, so that no update may begin.",
			objects: []client.Object{denying(1), former(workloads, "1-of-2"), former(definitions, "1-of-2"), former(revisions, "1-of-1")},
			fails:   part(workloads, "1-of-1"),
			want:    []string{part(definitions, "1-of-1"), part(workloads, "1-of-2")},
		},
		"OneOfSeveralFails": {
			reason:  "The former part may have entries of any new one.",
			objects: []client.Object{denying(1100), former(definitions, "1-of-1")},
			fails:   part(definitions, "1-of-2"),
			want:    []string{part(definitions, "1-of-1"), part(definitions, "2-of-2"), part(workloads, "1-of-1")},
		},
		"UpdateFails": {
			reason:  "A part that cannot be changed keeps no other.",
			objects: []client.Object{denying(1), former(definitions, "1-of-1"), former(revisions, "1-of-1")},
			fails:   part(definitions, "1-of-1"),
			want:    []string{part(definitions, "1-of-1"), part(workloads, "1-of-1")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := clientWith(t, tc.objects...)
			failure := errors.New("it fails")
			failing := interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
					if o.GetName() == tc.fails {
						return failure
					}
					return c.Create(ctx, o, options...)
				},
				Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
					if o.GetName() == tc.fails {
						return failure
					}
					return c.Update(ctx, o, options...)
				},
			})
			index := &Index{Client: failing, Reader: c, Namespace: namespace}
			if err := index.Write(t.Context()); errors.Is(err, failure) != (tc.fails != "") || err != nil && tc.fails == "" {
				t.Errorf("%s\nit returned %v", tc.reason, err)
			}
			list := &corev1.ConfigMapList{}
			if err := c.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range list.Items {
				got = append(got, list.Items[i].Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
