// Package resolve decides which bundles a Subscription needs: the one that installs or updates its package, and those
// that this one depends on. It reads nothing but its inputs and changes nothing, and equal inputs give equal answers
// whatever the order of their lists.
package resolve

import (
	"fmt"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Inputs is everything that the bundles of one Subscription depend on.
type Inputs struct {
	Subscription
	Surroundings
}

// Subscription is what a Subscription asks for, and what of it is there already.
type Subscription struct {
	Namespace, Name string

	// Catalog is the CatalogSource that the spec names.
	Catalog types.NamespacedName

	Package string
	// Channel is the package's default channel where empty.
	Channel string
	// StartingCSV is what a first install begins with; empty for the newest of the channel.
	StartingCSV string

	// Installed is the ClusterServiceVersion to update: the newest of this Subscription, installed or planned. Nil means
	// a first install.
	Installed *Installed
}

// Surroundings are what all Subscriptions of a namespace have in common at one moment.
type Surroundings struct {
	// Catalogs are all that are visible from the namespace, read or not.
	Catalogs []catalog.Catalog

	// Present are the ClusterServiceVersions of the namespace that do not belong to the Subscription, installed or
	// planned by an older one: they stay as they are. Of those that replace each other, the newest.
	Present []Installed

	// OnCluster are the kinds that are served on the cluster, whoever brought them.
	OnCluster []property.GVK
}

// Installed is a ClusterServiceVersion that is there, or is going to be.
type Installed struct {
	Name string
	// Package is empty where it is not known.
	Package  string
	Version  semver.Version
	Provides []property.GVK

	// Properties tell what it requires, as those of a bundle do. An update must not take that away.
	Properties []property.Property

	// Planned is true where it is not installed yet.
	Planned bool
}

// Choice is a bundle to install.
type Choice struct {
	Bundle  *catalog.Bundle
	Package string
	Channel string
	Catalog types.NamespacedName

	// Replaces is the ClusterServiceVersion that it really replaces, whatever the catalog says; empty for a new one.
	Replaces string
}

// Solution is what a Subscription needs.
type Solution struct {
	// Choices are the bundles to install: first what was asked for, then what that depends on. There are none where
	// nothing is to be done.
	Choices []Choice

	// Newest is the newest ClusterServiceVersion that the installed one can become, be it in several steps; empty where
	// that is none. It is told also where the next step has a Problem.
	Newest string

	// Note is what an admin should know although there is no Problem: that the newest of the channel cannot be reached,
	// or cannot be installed and why.
	Note string

	// Deprecations are what is deprecated of the package, its channel, and the bundle that is installed or comes next.
	Deprecations Deprecations
}

// Deprecations are what a catalog says of what is deprecated; empty where that is nothing.
type Deprecations struct {
	Package, Channel, Bundle string
}

// Problem is why there is no solution: a reason of ResolutionFailed, and a sentence for an admin.
type Problem = condition.Problem

// Resolve says which bundles a Subscription needs. With a Problem, only what is known without a solution is told.
//
// A first install takes startingCSV, or else the newest entry of the channel that can be installed. An update takes one
// step: the newest entry that replaces or skips what is installed or whose skipRange holds its version, never an older
// version. A dependency is met by what is present, else by a bundle of the same catalog, else of another one by
// priority, default channels and newer bundles first; a kind that can be had from no bundle, but is on the cluster
// already, is met too.
func Resolve(in Inputs) (Solution, *Problem) {
	offer, problem := find(in)
	if problem != nil {
		return Solution{}, problem
	}
	line, cycle := order(offer.channel)
	out := Solution{Deprecations: deprecations(offer.pkg, offer.channel, nil)}
	if cycle != "" {
		return out, &Problem{Reason: v1alpha1.ReasonReplacesCycle, Message: clip(fmt.Sprintf(
			"Channel %s of package %s goes in a circle, so that none is the newest: %s", offer.channel.Name, offer.name, cycle))}
	}
	candidates, problem := offer.candidates(in, line)
	if problem != nil {
		return out, problem
	}
	if in.Installed != nil {
		out.Newest = newest(line, *in.Installed)
	}
	if len(candidates) == 0 {
		out.Note = unreachable(offer, line, in.Installed)
		if e := offer.channel.Entries[in.Installed.Name]; e != nil {
			out.Deprecations = deprecations(offer.pkg, offer.channel, e.Bundle)
		}
		return out, nil
	}
	return choose(in, offer, candidates, out)
}

// choose takes the first of the candidates that can be installed, with what it depends on.
func choose(in Inputs, from channelOffer, candidates []*entry, out Solution) (Solution, *Problem) {
	var replaced []Installed
	if in.Installed != nil {
		replaced = append(replaced, *in.Installed)
	}
	m := newMarket(in.Catalogs, in.Namespace)
	var wanted []*offer
	for _, c := range candidates {
		wanted = append(wanted, m.include(from, c))
	}
	s := newSearch(m, in.Surroundings, replaced)
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
			out.Note = clip(fmt.Sprintf("%s, the newest choice in %s, cannot be installed: %s", wanted[0].name, from, s.explain(scene{}, wanted[0])))
		}
		return out, nil
	}
	return out, s.problem(wanted, in.Installed)
}

// installedBundle is that of the channel which is installed; next, where none is.
func installedBundle(in Inputs, from channelOffer, next *catalog.Bundle) *catalog.Bundle {
	if in.Installed == nil {
		return next
	}
	if e := from.channel.Entries[in.Installed.Name]; e != nil {
		return e.Bundle
	}
	return nil
}

// problem says why none of those that were wanted can be installed: it tells the story of the first.
func (s *search) problem(wanted []*offer, installed *Installed) *Problem {
	if s.gaveUp {
		return tooHard(wanted[0].name)
	}
	story := s.explain(scene{}, wanted[0])
	if s.gaveUp {
		return tooHard(wanted[0].name)
	}
	message := story.String()
	if installed != nil {
		message = fmt.Sprintf("%s cannot be updated to %s: %s", installed.Name, wanted[0].name, story)
	}
	if n := len(wanted) - 1; n > 0 {
		message = messages.Clip(message, maxMessage-60) + fmt.Sprintf("; neither can %s", counted(n, "older choice"))
	}
	return &Problem{Reason: story.reason, Message: clip(message)}
}

func tooHard(name string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable, Message: clip(fmt.Sprintf(
		"What %s needs is so entangled that no answer was found within %s", name, patience))}
}
