package bridge

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
)

// Holds returns the holds of any update of a Subscription's operator, and the version that runs, or nil if none has run.
// besideOLM is false if the built-in loops update it.
func (n Namespace) Holds(sub *v1alpha1.Subscription, besideOLM bool) ([]gate.Hold, *v1alpha1.ClusterServiceVersion) {
	in := n.Update(sub)
	if in.Running == nil {
		return nil, nil
	}
	in.Target, in.BesideOLM = gate.AnyVersion, besideOLM
	out := gate.Evaluate(in.AsReported())
	if !out.Held {
		return nil, n.CSVs[in.Running.Name]
	}
	return out.Holds, n.CSVs[in.Running.Name]
}

// Denied returns the InstallPlans that update a Subscription's operator. Those that update only other operators of the namespace,
// or install new ones, are not among them, nor is the version that an administrator allows, which may be empty. A catalog can give a version
// a name that is too long for a ClusterServiceVersion, and for the index: then all InstallPlans of the namespace with other versions are denied.
func Denied(sub *v1alpha1.Subscription, running *v1alpha1.ClusterServiceVersion, allowed string) *holdv1alpha1.DeniedUpdates {
	out := &holdv1alpha1.DeniedInstallPlans{Namespace: sub.Namespace, Pattern: csvchain.NamesLike(running), Except: []string{running.Name}}
	for _, name := range []string{sub.Status.InstalledCSV, sub.Status.CurrentCSV} {
		switch {
		case len(name) > validation.DNS1123SubdomainMaxLength:
			out.Pattern = ".*"
		case name != "" && name != running.Name && !slices.Contains(out.Versions, name):
			out.Versions = append(out.Versions, name)
		}
	}
	if allowed != "" && allowed != running.Name && len(allowed) <= validation.DNS1123SubdomainMaxLength {
		out.Except = append(out.Except, allowed)
	}
	return &holdv1alpha1.DeniedUpdates{InstallPlans: out}
}

// heldByPolicy returns the decision about all updates of the namespace, which OLM puts into one InstallPlan.
func (n Namespace) heldByPolicy() gate.Decision {
	var updates []gate.Inputs
	for i := range n.Subscriptions {
		updates = append(updates, n.Update(&n.Subscriptions[i]))
	}
	return gate.EvaluatePlan(updates)
}

// Denies reports whether an UpgradeHold still denies the InstallPlan that OLM could not create last for a Subscription.
func Denies(h *holdv1alpha1.UpgradeHold, sub *v1alpha1.Subscription) bool {
	return denies(h, sub.Namespace, csvchain.DeniedVersions(sub))
}

// denies reports whether an UpgradeHold denies an InstallPlan that installs versions.
func denies(h *holdv1alpha1.UpgradeHold, namespace string, versions []string) bool {
	if h.Status.Denied == nil || h.Status.Denied.InstallPlans == nil || h.Status.Denied.InstallPlans.Namespace != namespace {
		return false
	}
	denied := h.Status.Denied.InstallPlans
	like, err := regexp.Compile(denied.Pattern)
	return slices.ContainsFunc(versions, func(name string) bool {
		matches := slices.Contains(denied.Versions, name) || err != nil || like.MatchString(name)
		return matches && !slices.Contains(denied.Except, name)
	})
}
