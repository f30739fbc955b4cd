package subscription

import (
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// csvNames sets the target ClusterServiceVersion, and the last one that Succeeded.
func csvNames(in Inputs, out *v1alpha1.SubscriptionStatus) {
	if resolved := in.resolved(); in.plan(resolved.Next) != nil {
		out.CurrentCSV = resolved.Next
	} else if out.CurrentCSV == "" && in.Current != nil && !in.Current.IsCopied() {
		out.CurrentCSV = in.Current.Name // it existed before
	}
	if succeeded(in.csv(out.CurrentCSV)) {
		out.InstalledCSV = out.CurrentCSV
	} else if out.InstalledCSV == "" && succeeded(in.Current) && !in.Current.IsCopied() {
		out.InstalledCSV = in.Current.Name // it existed before, and was found only now
	}
	if out.CurrentCSV == "" || targetWithdrawn(in, out) {
		out.CurrentCSV = out.InstalledCSV
	}
}

// targetWithdrawn reports whether the target is obsolete: the catalog withdrew it before it was created.
func targetWithdrawn(in Inputs, out *v1alpha1.SubscriptionStatus) bool {
	r := in.resolved()
	return r.Problem == nil && r.Next == "" && r.Newest != "" && r.Newest == out.InstalledCSV &&
		in.plan(out.CurrentCSV) == nil && in.csv(out.CurrentCSV) == nil
}

// installedCSVMissing sets whether the installed ClusterServiceVersion no longer exists.
func installedCSVMissing(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionInstalledCSVMissing, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonCSVPresent, Message: "The installed ClusterServiceVersion exists",
	}
	switch {
	case out.InstalledCSV == "":
		remove(out, c.Type)
		return
	case in.csv(out.InstalledCSV) == nil:
		c.Status, c.Reason = corev1.ConditionTrue, v1alpha1.ReasonCSVMissing
		c.Message = fmt.Sprintf("ClusterServiceVersion %s/%s was installed and no longer exists: the operator is missing until it is installed again",
			in.Subscription.Namespace, out.InstalledCSV)
	}
	set(in, out, c)
}

// installedCSVFailed sets whether the installed ClusterServiceVersion or the target has failed. The target counts
// because nothing of the operator may run after it failed, and no other condition reports that.
func installedCSVFailed(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionInstalledCSVFailed, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonCSVNotFailed, Message: "The ClusterServiceVersion has not failed",
	}
	target, installed := in.csv(out.CurrentCSV), in.csv(out.InstalledCSV)
	switch {
	case target == nil && installed == nil:
		remove(out, c.Type)
		return
	case failed(target):
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, v1alpha1.ReasonCSVFailed, PhaseMessage(target)
	case failed(installed):
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, v1alpha1.ReasonCSVFailed, PhaseMessage(installed)
	}
	set(in, out, c)
}

// replacementAvailable sets whether a replacement for the installed ClusterServiceVersion is available.
func replacementAvailable(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionInstalledCSVReplacementAvailable, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonNoReplacementAvailable, Message: "No newer version replaces the installed one",
	}
	r := in.resolved()
	next := r.Next
	if out.CurrentCSV != out.InstalledCSV {
		next = out.CurrentCSV
	}
	switch {
	case out.InstalledCSV == "":
		remove(out, c.Type)
		return
	case next != "" && next != out.InstalledCSV:
		c.Status, c.Reason = corev1.ConditionTrue, v1alpha1.ReasonReplacementAvailable
		c.Message = fmt.Sprintf("%s will replace %s", next, out.InstalledCSV)
	case in.Resolution == nil, r.Problem != nil && r.Newest != out.InstalledCSV:
		remove(out, c.Type)
		return
	}
	set(in, out, c)
}

// upgradeHeld sets whether an update waits for the running operator. After its approval only OLM can hold it.
func upgradeHeld(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionUpgradeHeld, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonNotHeld, Message: "No update is held",
	}
	waiting := isTrue(out, v1alpha1.SubscriptionInstalledCSVReplacementAvailable)
	plan := in.plan(out.CurrentCSV)
	approved := plan != nil && plan.Spec.Approved && plan.Status.Phase != olm.InstallPlanPhaseRequiresApproval && !targetInstalled(out)
	switch {
	case waiting && in.Gate.Overridden:
		c.Reason, c.Message = in.Gate.Reason, in.Gate.Message
	case waiting && in.Gate.Held && (in.Gate.Approved || !approved):
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, in.Gate.Reason, in.Gate.Message
	}
	set(in, out, c)
}

func succeeded(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv != nil && csv.Status.Phase == olm.CSVPhaseSucceeded
}

func failed(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv != nil && csv.Status.Phase == olm.CSVPhaseFailed
}

// PhaseMessage returns a message with the phase of a ClusterServiceVersion and its own reason and message.
func PhaseMessage(csv *v1alpha1.ClusterServiceVersion) string {
	return title(csv) + " is " + phaseMessage(csv)
}

func title(csv *v1alpha1.ClusterServiceVersion) string { return "ClusterServiceVersion " + nameOf(csv) }

// phaseMessage returns the phase of a ClusterServiceVersion with its own reason and message.
func phaseMessage(csv *v1alpha1.ClusterServiceVersion) string {
	out := phase(csv)
	if csv.Status.Reason != "" {
		out += fmt.Sprintf(" (%s)", csv.Status.Reason)
	}
	return out + messages.Quote(csv.Status.Message)
}

// phase returns the phase of a ClusterServiceVersion for messages.
func phase(csv *v1alpha1.ClusterServiceVersion) string {
	if csv.Status.Phase == olm.CSVPhaseNone {
		return "new"
	}
	return string(csv.Status.Phase)
}

func nameOf(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
