package csv

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// The checks decide about a CSV from its situation alone.

func fails(reason, message string) *Verdict {
	return &Verdict{Phase: olm.CSVPhaseFailed, Reason: reason, Message: message}
}

// replaced decides about a CSV that another one replaces: it stays until one of its successors has ever Succeeded.
func replaced(s *situation) (*Verdict, error) {
	successor := s.successor(s.csv.Name)
	if successor == nil {
		return nil, nil
	}
	if s.inReplacementCycle() {
		return fails(v1alpha1.ReasonReplacesCycle, fmt.Sprintf(
			"ClusterServiceVersions %s and %s replace each other: fix spec.replaces in one of them", s.csv.Name, successor.Name)), nil
	}
	if newest := s.newestSuccessor(); newest != nil {
		return &Verdict{Phase: olm.CSVPhaseDeleting, Reason: v1alpha1.CSVReasonReplaced, Message: fmt.Sprintf(
			"Replaced by ClusterServiceVersion %s", newest.Name)}, nil
	}
	return &Verdict{Phase: olm.CSVPhaseReplacing, Reason: v1alpha1.CSVReasonBeingReplaced, Message: fmt.Sprintf(
		"Being replaced by ClusterServiceVersion %s", successor.Name)}, nil
}

// oneGroup rejects a CSV in a namespace that does not have exactly one OperatorGroup.
func oneGroup(s *situation) (*Verdict, error) {
	if s.groupProblem == nil {
		return nil, nil
	}
	reason := v1alpha1.CSVReasonNoOperatorGroup
	if s.groupProblem.Reason == v1alpha1.ReasonTooManyOperatorGroups {
		reason = v1alpha1.CSVReasonTooManyOperatorGroups
	}
	return fails(reason, s.groupProblem.Message), nil
}

// granted keeps a CSV that never ran Pending until its InstallPlan has been applied completely: half a bundle must not run.
func granted(s *situation) (*Verdict, error) {
	if !s.awaitsPlan() {
		return nil, nil
	}
	out := &Verdict{Phase: olm.CSVPhasePending, Reason: v1alpha1.CSVReasonInstallPlanIncomplete}
	switch name := s.csv.Annotations[v1alpha1.AnnotationInstallPlan]; {
	case s.plan == nil:
		out.Message = fmt.Sprintf("InstallPlan %s was deleted before it completed; its Subscription will create a new one", name)
	case s.plan.Status.Message != "":
		out.Message = fmt.Sprintf("Waiting for InstallPlan %s, which is %s: %s", name, s.plan.Status.Phase, s.plan.Status.Message)
	default:
		out.Message = fmt.Sprintf("Waiting for InstallPlan %s, which is %s", name, s.plan.Status.Phase)
	}
	return out, nil
}

// awaitsPlan reports whether a CSV has never run, and no InstallPlan that wrote it was applied completely.
func (s *situation) awaitsPlan() bool {
	return s.grant() == nil && s.csv.Annotations[v1alpha1.AnnotationInstallPlan] != "" && !csvchain.Ran(s.csv)
}

// installModes rejects an OperatorGroup that the operator does not support.
func installModes(s *situation) (*Verdict, error) {
	if len(s.targets) == 0 {
		return fails(v1alpha1.CSVReasonNoTargetNamespaces, fmt.Sprintf(
			"OperatorGroup %s selects no namespace: add labels that match its selector to a namespace", s.group.Name)), nil
	}
	if err := install.SupportsGroup(s.csv, s.group, s.targets); err != nil {
		return s.installErrorVerdict(err)
	}
	return nil, nil
}

// strategy rejects a CSV that cannot be installed as it is written.
func strategy(s *situation) (*Verdict, error) {
	if err := install.Validate(s.csv); err != nil {
		return s.installErrorVerdict(err)
	}
	if err := install.SupportsKubernetes(s.csv, s.kubernetes); err != nil {
		return s.installErrorVerdict(err)
	}
	return nil, nil
}

// installErrorVerdict returns the verdict on an error of the install package: Pending if the cluster may come to meet the
// requirements, Failed if the CSV is at fault, otherwise the error.
func (s *situation) installErrorVerdict(err error) (*Verdict, error) {
	if at, ok := errors.AsType[*install.Error](err); ok {
		if at.Reason == v1alpha1.CSVReasonRequirementsNotMet {
			return &Verdict{Phase: olm.CSVPhasePending, Reason: string(at.Reason), Message: at.Message, Again: s.retry}, nil
		}
		return fails(string(at.Reason), at.Message), nil
	}
	return nil, err
}

// groupConflict rejects a CSV if an operator of another OperatorGroup watches one of its kinds in one of its target
// namespaces.
func groupConflict(s *situation) (*Verdict, error) {
	if verdict := staticConflict(s.csv, s.group, s.static); verdict != nil {
		return verdict, nil
	}
	for _, rival := range s.rivals {
		if staticConflict(rival.csv, rival.group, rival.static) == nil { // otherwise the rival may not run
			return fails(v1alpha1.CSVReasonInterOperatorGroupOwnerConflict, fmt.Sprintf(
				"ClusterServiceVersion %s/%s already owns CustomResourceDefinition %s in the same namespaces", rival.csv.Namespace, rival.csv.Name, rival.crd)), nil
		}
	}
	return nil, nil
}

// precedes reports whether, of two CSVs that own the same kind, other stays. The older one stays, unless only one of
// them runs: a running operator is not stopped because another one may now run. A CSV that cannot run stops none
// either, or any user could keep an operator from being installed by claiming its kinds.
func precedes(other, csv *v1alpha1.ClusterServiceVersion) bool {
	switch {
	case operatorgroup.InConflict(other) && operatorgroup.Member(csv):
		return false
	case operatorgroup.InConflict(csv) && operatorgroup.Member(other):
		return true
	case csvchain.InstallStarted(other) != csvchain.InstallStarted(csv):
		return csvchain.InstallStarted(other)
	case isUnmet(other):
		return false
	}
	return olderThan(other, csv)
}

// isUnmet reports whether a CSV has never run, and cannot, since its requirements are not met.
func isUnmet(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.Status.Phase == olm.CSVPhasePending && !csvchain.InstallStarted(csv)
}

// staticConflict compares the APIs of an operator with the provided APIs that administrators listed: those of its own
// group, if that is static, and those of static groups in other namespaces that overlap with it. It uses OLM's reasons.
func staticConflict(csv *v1alpha1.ClusterServiceVersion, own *operatorsv1.OperatorGroup, others []*operatorsv1.OperatorGroup) *Verdict {
	provided := operatorgroup.ProvidedAPIs(csv)
	missing := ""
	if own.Spec.StaticProvidedAPIs {
		listed := operatorgroup.AnnotatedAPIs(own)
		if i := slices.IndexFunc(provided, func(api string) bool { return !slices.Contains(listed, api) }); i >= 0 {
			missing = provided[i]
		}
	}
	for _, other := range others {
		taken := operatorgroup.AnnotatedAPIs(other)
		i := slices.IndexFunc(provided, func(api string) bool { return slices.Contains(taken, api) })
		if i < 0 {
			continue
		}
		reason := v1alpha1.CSVReasonInterOperatorGroupOwnerConflict
		if own.Spec.StaticProvidedAPIs && missing == "" {
			reason = v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs // OLM would have to remove the API from the annotation
		}
		return fails(reason, fmt.Sprintf(
			"OperatorGroup %s/%s lists %s in its static provided APIs and targets some of the same namespaces: change the targets or the provided APIs of one group",
			other.Namespace, other.Name, provided[i]))
	}
	if missing != "" {
		return fails(v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs, fmt.Sprintf(
			"OperatorGroup %s sets spec.staticProvidedAPIs, but %s is not in its annotation %s: add it, or unset spec.staticProvidedAPIs",
			own.Name, missing, operatorsv1.OperatorGroupProvidedAPIsAnnotationKey))
	}
	return nil
}

// ownerConflict rejects a CSV if an older CSV of another operator in its namespace owns one of its kinds.
func ownerConflict(s *situation) (*Verdict, error) {
	for _, owned := range s.csv.Spec.CustomResourceDefinitions.Owned {
		for _, name := range slices.Sorted(maps.Keys(s.csvs)) {
			other := s.csvs[name]
			if csvchain.Owns(other, owned.Name) && olderThan(other, s.csv) && !s.related(other) {
				return fails(v1alpha1.CSVReasonOwnerConflict, fmt.Sprintf(
					"ClusterServiceVersion %s/%s already owns CustomResourceDefinition %s in the same namespaces", other.Namespace, other.Name, owned.Name)), nil
			}
		}
	}
	return nil, nil
}

func olderThan(a, b *v1alpha1.ClusterServiceVersion) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// related reports whether two CSVs of a namespace are versions of the same operator.
func (s *situation) related(other *v1alpha1.ClusterServiceVersion) bool {
	return s.descends(s.csv, other.Name) || s.descends(other, s.csv.Name)
}

// descends reports whether a CSV is the named one, or replaces it directly or in several steps.
func (s *situation) descends(csv *v1alpha1.ClusterServiceVersion, name string) bool {
	for seen := map[string]bool{}; csv != nil && !seen[csv.Name]; csv = s.csvs[csv.Spec.Replaces] {
		seen[csv.Name] = true
		if csv.Name == name || csv.Spec.Replaces == name {
			return true
		}
	}
	return false
}

// requirementsMet keeps a CSV Pending while a kind that the operator owns or needs is not on the cluster.
func requirementsMet(s *situation) (*Verdict, error) {
	if !slices.ContainsFunc(s.explained, isMissing) {
		return nil, nil
	}
	out := pending(s.explained)
	if slices.ContainsFunc(s.explained, func(status olm.RequirementStatus) bool {
		return isMissing(status) && status.Group != apiextensions.GroupName
	}) {
		out.Again = s.retry // of CustomResourceDefinitions alone changes are events
	}
	return out, nil
}

func isMissing(status olm.RequirementStatus) bool {
	return status.Status != olm.RequirementStatusReasonPresent
}

// pending returns the verdict for requirements that are not met. Its message names them.
func pending(statuses []olm.RequirementStatus) *Verdict {
	var missing []string
	for _, status := range statuses {
		if isMissing(status) {
			missing = append(missing, fmt.Sprintf("%s %s: %s", status.Kind, status.Name, status.Message))
		}
	}
	slices.Sort(missing)
	return &Verdict{
		Phase: olm.CSVPhasePending, Reason: v1alpha1.CSVReasonRequirementsNotMet,
		Message: "Requirements not met: " + listed(missing),
	}
}

const maxListed = 5

// listed joins the first few reasons.
func listed(reasons []string) string { return messages.List(reasons, maxListed, "; ") }
