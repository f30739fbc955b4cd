package controllers

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Reported describes those operators on which an UpgradeHold or a Probe has something to report: that an update is held, that the Probe cannot be
// relied on, or a notice. It is for a process that does not watch the workloads and roles of the cluster: whether they run is Unknown.
type Reported struct{}

var _ installer.Installer = Reported{}

// Name implements installer.Installer.
func (Reported) Name() string { return Installer{}.Name() }

// Kinds implements installer.Installer.
func (Reported) Kinds() []installer.Kind { return []installer.Kind{holdKind(), probeKind()} }

// Operators implements installer.Installer.
func (Reported) Operators(c installer.Cluster) []operator.Operator {
	found := map[holdv1alpha1.OperatorReference]operator.Operator{}
	for _, h := range installer.Values[holdv1alpha1.UpgradeHold](c) {
		of := h.Spec.Operator
		if of.Installer == holdv1alpha1.InstallerOLM || !meta.IsStatusConditionTrue(h.Status.Conditions, holdv1alpha1.ConditionHeld) {
			continue
		}
		op := reported(found, of)
		op.Upgradeable = metav1.ConditionFalse
		op.Blockers = append(op.Blockers, installer.HeldWith(h)...)
		found[of] = op
	}
	for _, probe := range installer.Values[v1alpha1.Probe](c) {
		of, ok := holdv1alpha1.ProbedOperator(&probe)
		unreliable, notices := installer.Unreliable(&probe), installer.NoticesOf(&probe)
		if !ok || of.Installer == holdv1alpha1.InstallerOLM || unreliable == nil && len(notices) == 0 {
			continue
		}
		op := reported(found, of)
		op.Notices = append(op.Notices, notices...)
		if unreliable != nil {
			op.Blockers = slices.Insert(op.Blockers, 0, *unreliable)
		}
		found[of] = op
	}
	return operator.Sorted(slices.Collect(maps.Values(found)))
}

// reported returns an operator that was found before, or else a new one.
func reported(found map[holdv1alpha1.OperatorReference]operator.Operator, of holdv1alpha1.OperatorReference) operator.Operator {
	if op, ok := found[of]; ok {
		return op
	}
	return operator.Operator{
		Installer: cmp.Or(names[of.Installer], string(of.Installer)), Namespace: of.Namespace, Name: of.Name, Reference: of,
		State: operator.Unknown, UpToDate: metav1.ConditionUnknown, Upgradeable: metav1.ConditionTrue,
	}
}

func holdKind() installer.Kind {
	return installer.Kind{
		GroupVersionKind: holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldKind), Plural: upgradeHolds,
		AddToScheme: holdv1alpha1.AddToScheme, List: func() installer.List { return &holdv1alpha1.UpgradeHoldList{} }, ClusterScoped: true,
	}
}

func probeKind() installer.Kind {
	return installer.Kind{
		GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.ProbeKind), Plural: "Probes",
		AddToScheme: v1alpha1.AddToScheme, List: func() installer.List { return &v1alpha1.ProbeList{} }, Trim: trim,
	}
}
