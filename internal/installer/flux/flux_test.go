package flux

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/installer"
)

func TestUnfinished(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason, message string) applier {
		out := applier{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "foo"}}
		out.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: message}}
		return out
	}
	labels := func(group string) map[string]string {
		return map[string]string{group + "/namespace": "flux-system", group + "/name": "foo"}
	}
	releases, kustomizations := labels("helm.toolkit.fluxcd.io"), labels("kustomize.toolkit.fluxcd.io")
	other := ready("False", "UpgradeFailed", "no")
	other.Name = "other"
	changed := ready("True", "UpgradeSucceeded", "")
	changed.Generation, changed.Status.Conditions[0].ObservedGeneration = 3, 2
	changed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: &metav1.Time{Time: time.Unix(100, 0)}}}
	failed := ready("False", "UpgradeFailed", "no such value")
	failed.Generation, failed.Status.Conditions[0].ObservedGeneration = 3, 2
	suspended := changed.deepCopy()
	suspended.Spec.Suspend = true
	for name, tc := range map[string]struct {
		reason string
		labels map[string]string
		object installer.Object
		want   string
	}{
		"Ready":  {"It is applied.", releases, &HelmRelease{ready("True", "UpgradeSucceeded", "")}, ""},
		"Failed": {"It is not tried again before it changes.", releases, &HelmRelease{ready("False", "UpgradeFailed", "no such value")}, "HelmRelease flux-system/foo UpgradeFailed true: no such value"},
		"Denied": {"The UpgradeHold reports it.", releases, &HelmRelease{ready("False", "UpgradeFailed", "denied request: The update to x is held")}, ""},
		"Kustomization": {"A manifest is invalid.", kustomizations, &Kustomization{ready("False", "BuildFailed", "invalid")},
			"Kustomization flux-system/foo BuildFailed true: invalid, whatever its workloads do"},
		"Progressing": {"It takes some time.", kustomizations, &Kustomization{ready("Unknown", "Progressing", "")}, "Kustomization flux-system/foo Progressing false: Progressing"},
		"Dependency":  {"It is applied once another one is.", releases, &HelmRelease{ready("False", "DependencyNotReady", "bar")}, "HelmRelease flux-system/foo DependencyNotReady false: bar"},
		"Changed": {"Its last change is not applied.", releases, &HelmRelease{changed},
			"HelmRelease flux-system/foo NotReconciled false: Flux has not processed its last change: check that its controllers run"},
		"FailedBefore": {"It has failed before its last change.", releases, &HelmRelease{failed}, "HelmRelease flux-system/foo UpgradeFailed true: no such value"},
		"Suspended":    {"A user wants it to stay as it is.", releases, &HelmRelease{suspended}, ""},
		"Other":        {"It applies another operator.", releases, &HelmRelease{other}, ""},
		"OtherKind":    {"Names of other kinds do not count.", releases, &Kustomization{ready("False", "BuildFailed", "invalid")}, ""},
		"ByOther":      {"Flux does not apply it.", nil, &HelmRelease{ready("False", "UpgradeFailed", "no")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			objects := In(installer.Cluster{Objects: []installer.Object{tc.object}})
			if u := objects.Unfinished([]installer.Workload{{Labels: tc.labels}}); u != nil {
				got = fmt.Sprintf("%s %s %t: %s", u, u.Reason, u.Broken, u.Message)
				if u.Invalid {
					got += ", whatever its workloads do"
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
