package olmv1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

func TestFind(t *testing.T) {
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerOLMv1, Namespace: "foo", Name: "extension"}
	workload := func(namespace, kind, owner string) installer.Workload {
		return installer.Workload{
			Ref: operator.Ref{Kind: "Deployment", Namespace: namespace, Name: "foo"}, ServiceAccount: "foo",
			Labels: map[string]string{LabelKind: kind, LabelName: owner},
		}
	}
	extension := &metav1.ObjectMeta{Name: "extension"}
	cases := map[string]struct {
		reason    string
		extension *metav1.ObjectMeta
		workloads []installer.Workload
		allowed   string
		want      *holdv1alpha1.DeniedRevisions // nil if there is no such operator
	}{
		"Installed": {
			reason: "Each revision is an update, wherever operator-controller keeps its records.", extension: extension,
			workloads: []installer.Workload{workload("foo", "ClusterExtension", "extension")},
			want:      &holdv1alpha1.DeniedRevisions{Owner: "operator-controller", Release: "extension", Statuses: []string{"pending-upgrade"}},
		},
		"Allowed": {
			reason: "A user may allow one.", extension: extension, allowed: "2",
			workloads: []installer.Workload{workload("foo", "ClusterExtension", "extension")},
			want: &holdv1alpha1.DeniedRevisions{
				Owner: "operator-controller", Release: "extension", Statuses: []string{"pending-upgrade"}, Except: []string{"2"},
			},
		},
		"AllowedOtherwise": {
			reason: "It has no zeros before it, of which a user could write any number.", extension: extension, allowed: strings.Repeat("0", 1<<18) + "2",
			workloads: []installer.Workload{workload("foo", "ClusterExtension", "extension")},
			want:      &holdv1alpha1.DeniedRevisions{Owner: "operator-controller", Release: "extension", Statuses: []string{"pending-upgrade"}},
		},
		"Installing":     {reason: "A first installation is not held.", extension: extension},
		"OtherNamespace": {reason: "A ClusterExtension installs in one namespace.", extension: extension, workloads: []installer.Workload{workload("bar", "ClusterExtension", "extension")}},
		"OtherExtension": {reason: "Others do not count.", extension: extension, workloads: []installer.Workload{workload("foo", "ClusterExtension", "other")}},
		"OtherOwner":     {reason: "Nor do other owners.", extension: extension, workloads: []installer.Workload{workload("foo", "ConfigMap", "extension")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Find(of, tc.extension, tc.workloads)
			if got == nil || tc.want == nil {
				if (got == nil) != (tc.want == nil) {
					t.Errorf("%s\ngot %+v", tc.reason, got)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got.Denied(tc.allowed, nil).Revisions); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
