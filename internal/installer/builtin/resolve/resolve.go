// Package resolve determines which bundles a Subscription needs: the one that installs or updates its package, and the
// dependencies of that. It is pure: it depends only on its inputs, and the order of their lists does not affect the
// result.
package resolve

import (
	"cmp"
	"fmt"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/versionrange"
)

// Inputs holds everything that the bundles of one Subscription depend on.
type Inputs struct {
	Subscription
	NamespaceState
}

// Subscription is the desired state of a Subscription, and its installed version.
type Subscription struct {
	Namespace, Name string

	// Catalog is the CatalogSource in the spec.
	Catalog types.NamespacedName

	Package string
	// Channel is the channel in the spec. Empty means the package's default channel.
	Channel string
	// StartingCSV is the bundle of the first installation. Empty means the newest of the channel.
	StartingCSV string

	// Versions are those that the user allows. Anyway is the name of a bundle that may be installed although it is not among them.
	Versions *versionrange.Range
	Anyway   string

	// Installed is the ClusterServiceVersion to update: the newest of this Subscription, installed or planned. Nil
	// means that this is the first installation.
	Installed *Installed
}

// NamespaceState is the state that the Subscriptions of a namespace share, as read at one moment.
type NamespaceState struct {
	// Catalogs are all catalogs visible from the namespace, read or not.
	Catalogs []catalog.Catalog

	// Present are the ClusterServiceVersions of the namespace that do not belong to the Subscription, installed or
	// planned by an older one. They are not changed. Of several that replace each other, it contains only the newest.
	Present []Installed

	// OnCluster are the kinds that the cluster serves, regardless of their provider.
	OnCluster []property.GVK
}

// Installed is an installed or planned ClusterServiceVersion.
type Installed struct {
	Name string
	// Package is empty if unknown.
	Package  string
	Version  semver.Version
	Provides []property.GVK

	// Properties contain its requirements, as those of a bundle do. An update must not break them.
	Properties []property.Property

	// Planned is true if it is not installed yet.
	Planned bool

	// Running is the ClusterServiceVersion that runs in its place, if its installation has never started. A newer version
	// may be installed instead if it can replace Running, and Resolve then chooses only among such versions.
	Running *Installed
}

// Choice is a bundle to install.
type Choice struct {
	Bundle  *catalog.Bundle
	Package string
	Channel string
	Catalog types.NamespacedName

	// Replaces is the ClusterServiceVersion that it replaces in this namespace, regardless of the catalog. It is empty for a
	// new operator.
	Replaces string
}

// Solution is the result for a Subscription.
type Solution struct {
	// Choices are the bundles to install: first the requested one, then its dependencies. It may be empty.
	Choices []Choice

	// Newest is the newest ClusterServiceVersion that the installed one can be updated to, possibly in several steps, or
	// empty. It is also set if the next step has a Problem.
	Newest string

	// Beyond is the newest one if all versions were allowed, unless that is Newest.
	Beyond string

	// Note informs an admin, unless a Problem is returned, that the newest bundle of the channel is unreachable, or why it
	// cannot be installed.
	Note string

	// Deprecations are those of the package, its channel, and the bundle that is installed or would be installed next.
	Deprecations Deprecations
}

// Deprecations are the deprecation messages of a catalog, or empty.
type Deprecations struct {
	Package, Channel, Bundle string
}

// Problem explains why no solution was found: a reason of ResolutionFailed, and a message for an admin.
type Problem = condition.Problem

// Resolve returns the bundles that a Subscription needs. With a Problem, the Solution only has the fields that do not
// depend on a solution.
//
// The first installation uses StartingCSV, or else the newest installable entry of the channel. An update is one step:
// to the newest installable entry that replaces or skips the installed version or whose skipRange contains it. A
// skipRange never leads to an older version. Only versions that the user allows count. A dependency is satisfied by a present operator, else by a bundle of the
// same catalog, else of another one by priority. Default channels and newer bundles are preferred. If no bundle
// provides a required kind, it is sufficient that the cluster serves it.
func Resolve(in Inputs) (Solution, *Problem) {
	offer, problem := find(in)
	if problem != nil {
		return Solution{}, problem
	}
	line, cycle := order(offer.channel)
	out := Solution{Deprecations: deprecations(offer.pkg, offer.channel, nil)}
	if cycle != "" {
		return out, &Problem{Reason: v1alpha1.ReasonReplacesCycle, Message: clip(fmt.Sprintf(
			"Channel %s of package %s has a replacement cycle and therefore no head: %s", offer.channel.Name, offer.name, cycle))}
	}
	allowed, problem := offer.allowed(in.Subscription, line)
	if problem != nil {
		return out, problem
	}
	candidates, problem := offer.candidates(in, allowed)
	if problem != nil {
		return out, problem
	}
	if in.Installed != nil {
		running := *cmp.Or(in.Installed.Running, in.Installed)
		out.Newest = newest(allowed, running)
		if len(allowed) < len(line) {
			if best := newest(line, running); best != out.Newest {
				out.Beyond = best
			}
		}
	}
	if len(candidates) == 0 {
		out.Note = in.kept(offer, allowed)
		if e := offer.channel.Entries[in.Installed.Name]; e != nil {
			out.Deprecations = deprecations(offer.pkg, offer.channel, e.Bundle)
		}
		return out, nil
	}
	return choose(in, offer, candidates, out)
}

// choose returns the first candidate that can be installed, with its dependencies.
func choose(in Inputs, from channelOffer, candidates []*entry, out Solution) (Solution, *Problem) {
	var replaced []Installed
	if in.Installed != nil {
		replaced = append(replaced, *in.Installed)
	}
	m := newCandidates(in.Catalogs, in.Namespace)
	var wanted []*offer
	for _, c := range candidates {
		wanted = append(wanted, m.include(from, c))
	}
	s := newSearch(m, in.NamespaceState, replaced)
	for i, root := range wanted {
		if !s.possible(root) {
			continue
		}
		chosen := s.choose([]*node{s.oneOf([]*offer{root})})
		if s.gaveUp {
			break
		}
		for _, o := range chosen {
			out.Choices = append(out.Choices, o.choice())
		}
		out.Deprecations = deprecations(from.pkg, from.channel, installedBundle(in, from, chosen[0].bundle))
		out.Choices[0].Channel = from.channel.Name
		if in.Installed != nil {
			out.Choices[0].Replaces = in.Installed.Name
		}
		if i > 0 {
			out.Note = clip(fmt.Sprintf("%s, the newest choice in %s, cannot be installed: %s", wanted[0].name, from, s.explain(assumptions{}, wanted[0])))
		}
		return out, nil
	}
	return out, s.problem(wanted, in.Installed)
}

// installedBundle returns the channel's bundle of the installed version, or nil. If nothing is installed, it returns
// next.
func installedBundle(in Inputs, from channelOffer, next *catalog.Bundle) *catalog.Bundle {
	if in.Installed == nil {
		return next
	}
	if e := from.channel.Entries[in.Installed.Name]; e != nil {
		return e.Bundle
	}
	return nil
}

// problem returns why none of the wanted offers can be installed. It explains the first.
func (s *search) problem(wanted []*offer, installed *Installed) *Problem {
	if s.gaveUp {
		return timedOut(wanted[0].name)
	}
	explanation := s.explain(assumptions{}, wanted[0])
	if s.gaveUp {
		return timedOut(wanted[0].name)
	}
	message := explanation.String()
	if installed != nil {
		message = fmt.Sprintf("%s cannot be updated to %s: %s", installed.Name, wanted[0].name, explanation)
	}
	if n := len(wanted) - 1; n > 0 {
		message = messages.Clip(message, maxMessage-60) + fmt.Sprintf("; neither can %s", counted(n, "older choice"))
	}
	return &Problem{Reason: explanation.reason, Message: clip(message)}
}

func timedOut(name string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable, Message: clip(fmt.Sprintf(
		"Resolving the dependencies of %s took longer than %s", name, solverTimeout))}
}
