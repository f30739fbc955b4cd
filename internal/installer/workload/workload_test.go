package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// many returns a list of that many images.
func many(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, ",many:%d", i)
	}
	return out.String()
}

func TestFind(t *testing.T) {
	foo := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: "foo", Name: "foo"}
	workload := func(kind, namespace, name string, ofCSV bool) installer.Workload {
		return installer.Workload{
			Ref: operator.Ref{Kind: kind, Namespace: namespace, Name: name}, ServiceAccount: "runs-" + name, Images: []string{"foo:1"}, OfCSV: ofCSV,
		}
	}
	one := workload("Deployment", "foo", "foo", false)
	running := func(images ...string) installer.Workload {
		out := one
		out.Images = images
		return out
	}
	fifty := strings.Split(many(50), ",")[1:]
	crds := []string{"foos.example.com"}
	cases := map[string]struct {
		reason    string
		workloads []installer.Workload
		allowed   string
		want      []holdv1alpha1.DeniedWorkload // none if there is no such operator
		wantCRDs  []string
	}{
		"Running": {
			reason: "Only the images that run may run, and its CustomResourceDefinitions stay.", workloads: []installer.Workload{one},
			want: []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: []string{"foo:1"}}}, wantCRDs: crds,
		},
		"Allowed": {
			reason: "An image that a user allows comes with its CustomResourceDefinitions.", workloads: []installer.Workload{one}, allowed: "foo:2, proxy:2",
			want: []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: []string{"foo:1", "foo:2", "proxy:2"}}},
		},
		"ManyAllowed": {
			reason: "However much a user writes, the API server has to store it.", workloads: []installer.Workload{one},
			allowed: strings.Repeat("a", 600) + many(60),
			want:    []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: append([]string{"foo:1"}, strings.Split(many(49), ",")[1:]...)}},
		},
		"LongImage": {
			reason:    "Nor may the API server be unable to store what a tenant runs. A workload may keep its images anyway.",
			workloads: []installer.Workload{running(strings.Repeat("a", 1<<20), "foo:1")}, allowed: strings.Repeat("a", 1<<20),
			want: []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: []string{"foo:1"}}}, wantCRDs: crds,
		},
		"ManyRunning": {
			reason: "Nor if there are many.", workloads: []installer.Workload{running(append(slices.Repeat([]string{strings.Repeat("a", 513)}, 60), fifty...)...)},
			want: []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: fifty}}, wantCRDs: crds,
		},
		"AllowedBefore": {
			reason: "What runs already allows nothing else.", workloads: []installer.Workload{one}, allowed: "foo:1",
			want: []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: []string{"foo:1"}}}, wantCRDs: crds,
		},
		"SeveralKinds": {
			reason: "Of several kinds, each may be the operator.", workloads: []installer.Workload{workload("DaemonSet", "foo", "foo", false), one},
			want: []holdv1alpha1.DeniedWorkload{
				{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: []string{"foo:1"}}, {Kind: "DaemonSet", Namespace: "foo", Name: "foo", Except: []string{"foo:1"}},
			}, wantCRDs: crds,
		},
		"StatefulSet": {
			reason: "An operator may run in a StatefulSet.", workloads: []installer.Workload{workload("StatefulSet", "foo", "foo", false)},
			want: []holdv1alpha1.DeniedWorkload{{Kind: "StatefulSet", Namespace: "foo", Name: "foo", Except: []string{"foo:1"}}}, wantCRDs: crds,
		},
		"OfOLM":      {reason: "An operator of OLM is identified by its Subscription.", workloads: []installer.Workload{workload("Deployment", "foo", "foo", true)}},
		"Neighbours": {reason: "Others do not count.", workloads: []installer.Workload{workload("Deployment", "bar", "foo", false), workload("Deployment", "foo", "bar", false)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Find(foo, tc.workloads)
			if got == nil || tc.want == nil {
				if (got == nil) != (tc.want == nil) {
					t.Errorf("%s\ngot %+v", tc.reason, got)
				}
				return
			}
			if diff := cmp.Diff(&holdv1alpha1.DeniedUpdates{Workloads: tc.want, CustomResourceDefinitions: tc.wantCRDs}, got.Denied(tc.allowed, crds)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]string{"runs-foo"}, got.Accounts); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
