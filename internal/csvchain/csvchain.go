// Package csvchain determines which ClusterServiceVersion of a namespace is running, and which replaces which. It is
// pure.
package csvchain

import (
	"maps"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Newest returns the ClusterServiceVersions that no other one replaces, sorted by name.
func Newest(csvs map[string]*v1alpha1.ClusterServiceVersion) []*v1alpha1.ClusterServiceVersion {
	replaced := map[string]bool{}
	for _, csv := range csvs {
		if csv.Spec.Replaces != csv.Name {
			replaced[csv.Spec.Replaces] = true
		}
	}
	var out []*v1alpha1.ClusterServiceVersion
	for _, csv := range csvs {
		if !replaced[csv.Name] {
			out = append(out, csv)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.ClusterServiceVersion) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// From returns the ClusterServiceVersions of the given names, and those that replace one of them, directly or not, sorted by name.
func From(csvs map[string]*v1alpha1.ClusterServiceVersion, names []string) []*v1alpha1.ClusterServiceVersion {
	in := map[string]bool{}
	for _, name := range names {
		in[name] = true
	}
	for grows := true; grows; {
		grows = false
		for name, csv := range csvs {
			if !in[name] && in[csv.Spec.Replaces] {
				in[name], grows = true, true
			}
		}
	}
	var out []*v1alpha1.ClusterServiceVersion
	for _, name := range slices.Sorted(maps.Keys(csvs)) {
		if in[name] {
			out = append(out, csvs[name])
		}
	}
	return out
}

// Running follows `replaces` back from the ClusterServiceVersion from, and returns the one that is running: the first
// that has ever Succeeded, or else the oldest that exists. It is nil if from does not exist, as for a first install.
func Running(csvs map[string]*v1alpha1.ClusterServiceVersion, from string) *v1alpha1.ClusterServiceVersion {
	var out *v1alpha1.ClusterServiceVersion
	for seen := map[string]bool{}; csvs[from] != nil && !seen[from]; from = csvs[from].Spec.Replaces {
		seen[from] = true
		out = csvs[from]
		if Ran(out) {
			return out
		}
	}
	return out
}

// Ran reports whether a ClusterServiceVersion has ever Succeeded. With OLM, its conditions contain its past phases.
func Ran(csv *v1alpha1.ClusterServiceVersion) bool { return hasBeen(csv, olm.CSVPhaseSucceeded) }

// Inherited reports whether OLM, or a user, installed a ClusterServiceVersion that has run. The built-in loops cannot grant it its webhooks:
// the InstallPlan of its next version does.
func Inherited(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.Annotations[v1alpha1.AnnotationInstallPlan] == "" && Ran(csv)
}

// InstallStarted reports whether the installation of a ClusterServiceVersion has ever started. If so, its predecessor may no
// longer be running.
func InstallStarted(csv *v1alpha1.ClusterServiceVersion) bool {
	return hasBeen(csv, olm.CSVPhaseInstallReady, olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded)
}

// LastFailure returns the condition of OLM with which a ClusterServiceVersion that has not Succeeded was Failed last, or nil.
func LastFailure(csv *v1alpha1.ClusterServiceVersion) *v1alpha1.ClusterServiceVersionCondition {
	for i := len(csv.Status.Conditions) - 1; i >= 0; i-- {
		switch c := &csv.Status.Conditions[i]; {
		case c.Type != "":
		case c.Phase == olm.CSVPhaseFailed:
			return c
		case c.Phase == olm.CSVPhaseSucceeded:
			return nil
		}
	}
	return nil
}

func hasBeen(csv *v1alpha1.ClusterServiceVersion, phases ...olm.ClusterServiceVersionPhase) bool {
	passed := func(t v1alpha1.ClusterServiceVersionTransition) bool { return slices.Contains(phases, t.Phase) }
	was := func(c v1alpha1.ClusterServiceVersionCondition) bool {
		return c.Type == "" && slices.Contains(phases, c.Phase)
	}
	return slices.Contains(phases, csv.Status.Phase) || slices.ContainsFunc(csv.Status.LastTransitions, passed) ||
		slices.ContainsFunc(csv.Status.Conditions, was)
}
