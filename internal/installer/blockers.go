package installer

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/operator"
)

// ToUpdateAnyway is the purpose of the step that overrides a hold.
const ToUpdateAnyway = "To update anyway"

// toRelease is that of the step that ends a hold of an administrator.
const toRelease = "To release it"

// HeldBy returns the blocker of a hold, with the steps that show its cause. probe is that of the operator, or nil.
func HeldBy(h gate.Hold, probe *v1alpha1.Probe) operator.Blocker {
	return operator.Blocker{
		Impact: operator.Held, By: h.By.String(), Reason: h.Reason, Since: h.Since, Cause: h.Message(), Steps: append(StepsTo(h.By, probe), stepsReleasing(h)...),
	}
}

// stepsReleasing returns the step that ends a hold of an administrator, or none.
func stepsReleasing(h gate.Hold) []operator.Step {
	switch {
	case h.By.Kind == "OperatorCondition" && h.Override == (gate.Override{}):
		return []operator.Step{{To: toRelease, Command: operator.Command("kubectl operator-status release -n %s %s", h.By.Namespace, h.By.Name)}}
	case h.By.Kind == holdv1alpha1.UpgradeHoldKind:
		return []operator.Step{deletingHold(h.By.Name)}
	}
	return nil
}

// deletingHold returns the step that deletes the UpgradeHold of a user.
func deletingHold(name string) operator.Step {
	return operator.Step{To: toRelease, Command: operator.Command("kubectl delete upgradehold.operatorstatus.io %s", name)}
}

// HeldWith returns the blockers that an UpgradeHold reports. A cause that states no time is as old as the hold.
func HeldWith(h holdv1alpha1.UpgradeHold) []operator.Blocker {
	var out []operator.Blocker
	var since metav1.Time
	if held := meta.FindStatusCondition(h.Status.Conditions, holdv1alpha1.ConditionHeld); held != nil {
		since = held.LastTransitionTime
	}
	for _, cause := range h.Status.Holds {
		b := operator.Blocker{
			Impact: operator.Held, By: cause.By, Reason: cause.Reason, Cause: cause.Message,
			Since: since,
			Steps: []operator.Step{{To: "To see why, and how to update anyway (" + gate.AnyVersion + " is " + VersionOfUpdate(h.Spec.Operator.Installer) + ")", Command: operator.Command("kubectl get upgradehold.operatorstatus.io %s -o jsonpath='{.status.message}'", h.Name)}},
		}
		if cause.Since != nil {
			b.Since = *cause.Since
		}
		if !h.IsReported() && h.Policy() == "" {
			b.Steps = []operator.Step{deletingHold(h.Name)}
		}
		out = append(out, b)
	}
	return out
}

// VersionOfUpdate describes the text with which users allow an update in the annotation.
func VersionOfUpdate(i holdv1alpha1.Installer) string {
	switch i {
	case holdv1alpha1.InstallerHelm, holdv1alpha1.InstallerOLMv1:
		return "the number of the next revision"
	case holdv1alpha1.InstallerWorkload:
		return "the new image"
	case holdv1alpha1.InstallerOLM:
	}
	return "the new ClusterServiceVersion"
}

// StepsTo returns the steps that show why an object holds an update.
func StepsTo(by operator.Ref, probe *v1alpha1.Probe) []operator.Step {
	switch by.Kind {
	case v1alpha1.ProbeKind:
		return stepsToBlocking(probe)
	case "OperatorCondition":
		return []operator.Step{operator.Describe("To see why", "operatorcondition.operators.coreos.com", by.Namespace, by.Name)}
	}
	return nil
}

// StepsOverriding returns the step that overrides a hold, or none if an administrator holds the update.
func StepsOverriding(h gate.Hold) []operator.Step {
	command := h.Override.Command()
	if command == "" {
		return nil
	}
	return []operator.Step{{To: ToUpdateAnyway, Command: command}}
}

// stepsToBlocking returns the step that shows the first custom resource that blocks a Probe.
func stepsToBlocking(probe *v1alpha1.Probe) []operator.Step {
	if probe == nil {
		return nil
	}
	for _, r := range probe.Status.ProbeResources {
		if !r.Blocking || !IsName(r.Name) || !IsName(r.Resource) {
			continue
		}
		command := "kubectl get " + r.Resource
		if IsName(r.Namespace) {
			command += " -n " + r.Namespace
		}
		return []operator.Step{{To: "To see the blocking resource", Command: command + " " + r.Name + " -o yaml"}}
	}
	return nil
}

// ReasonTerminating is the reason of a blocker that is being deleted.
const ReasonTerminating = "Terminating"

// IsName reports whether a text may be the name of an object of a kind that operators have. A status can contain any other
// text, which does not belong in a command for a shell.
func IsName(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// Unreliable returns the blocker of a Probe that cannot read its custom resources, or nil. No hold can be relied on then.
func Unreliable(probe *v1alpha1.Probe) *operator.Blocker {
	if probe == nil {
		return nil
	}
	c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	switch c.Reason {
	case v1alpha1.ReasonForbidden, v1alpha1.ReasonNoIdentity, v1alpha1.ReasonReadFailed, v1alpha1.ReasonStale, v1alpha1.ReasonInvalidExpression,
		v1alpha1.ReasonFieldNotFound, v1alpha1.ReasonTooManyWatches, v1alpha1.ReasonTooManyConditions:
		out := blockedBy(probe, *c)
		return &out
	}
	return nil
}

// NoticesOf returns the notices of a Probe, which may be nil: that its custom resources have an important condition, and that it does not use
// the annotations that their CustomResourceDefinitions have now.
func NoticesOf(probe *v1alpha1.Probe) []operator.Blocker {
	if probe == nil {
		return nil
	}
	var out []operator.Blocker
	for _, kind := range []string{v1alpha1.ConditionImportant, v1alpha1.ConditionAnnotationsDiffer} {
		if c := meta.FindStatusCondition(probe.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
			notice := blockedBy(probe, *c)
			notice.Impact = operator.Notice
			out = append(out, notice)
		}
	}
	return out
}

// ByProbe returns the name of a Probe in operator.Blocker.
func ByProbe(probe *v1alpha1.Probe) string { return "Probe " + probe.Namespace + "/" + probe.Name }

// blockedBy returns the blocker of a Probe that is unreliable because of its condition.
func blockedBy(probe *v1alpha1.Probe, c metav1.Condition) operator.Blocker {
	return operator.Blocker{
		Impact: operator.Broken, By: ByProbe(probe), Reason: c.Reason, Since: c.LastTransitionTime, Cause: c.Message,
		Steps: []operator.Step{operator.Describe("To see why", "probe.operators.coreos.com", probe.Namespace, probe.Name)},
	}
}

// Orphans returns an operator that is not installed for each Probe that reports OperatorNotFound: the creator of the Probe
// expects it to hold an update, and it holds none.
func (Installers) Orphans(c Cluster) []operator.Operator {
	var out []operator.Operator
	for _, probe := range Values[v1alpha1.Probe](c) {
		synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
		if synced == nil || synced.Reason != v1alpha1.ReasonOperatorNotFound {
			continue
		}
		b := blockedBy(&probe, *synced)
		remove := operator.Command("kubectl delete probe.operators.coreos.com -n %s %s", probe.Namespace, probe.Name)
		b.Steps = append(b.Steps, operator.Step{To: "To remove it", Command: remove})
		out = append(out, operator.Operator{
			Namespace: probe.Namespace, Name: probe.Name, State: operator.NotInstalled,
			UpToDate: metav1.ConditionUnknown, Upgradeable: metav1.ConditionUnknown, Blockers: []operator.Blocker{b},
		})
	}
	return operator.Sorted(out)
}
