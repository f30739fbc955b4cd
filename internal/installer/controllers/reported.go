package controllers

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Held describes those operators whose updates are held, for a process that does not watch the workloads and roles of the cluster: whether
// they run is Unknown.
type Held struct{}

var _ installer.Installer = Held{}

// Name implements installer.Installer.
func (Held) Name() string { return Installer{}.Name() }

// Kinds implements installer.Installer.
func (Held) Kinds() []installer.Kind { return []installer.Kind{holdKind()} }

// Operators implements installer.Installer.
func (Held) Operators(c installer.Cluster) []operator.Operator {
	held := map[holdv1alpha1.OperatorReference]operator.Operator{}
	for _, h := range installer.Values[holdv1alpha1.UpgradeHold](c) {
		of := h.Spec.Operator
		if of.Installer == holdv1alpha1.InstallerOLM || !meta.IsStatusConditionTrue(h.Status.Conditions, holdv1alpha1.ConditionHeld) {
			continue
		}
		op := held[of]
		op.Installer, op.Namespace, op.Name, op.Reference = cmp.Or(names[of.Installer], string(of.Installer)), of.Namespace, of.Name, of
		op.State, op.UpToDate, op.Upgradeable = operator.Unknown, metav1.ConditionUnknown, metav1.ConditionFalse
		op.Blockers = append(op.Blockers, installer.HeldWith(h)...)
		held[of] = op
	}
	return operator.Sorted(slices.Collect(maps.Values(held)))
}

func holdKind() installer.Kind {
	return installer.Kind{
		GroupVersionKind: holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldKind), Plural: upgradeHolds,
		AddToScheme: holdv1alpha1.AddToScheme, List: func() installer.List { return &holdv1alpha1.UpgradeHoldList{} }, ClusterScoped: true,
	}
}
