package resolve

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// channelOffer is a channel of a package in a catalog.
type channelOffer struct {
	catalog types.NamespacedName
	name    string
	pkg     *catalog.Package
	channel *catalog.Channel
}

func (c channelOffer) String() string {
	return fmt.Sprintf("channel %s of package %s", c.channel.Name, c.name)
}

// find returns the channel of a Subscription.
func find(in Inputs) (channelOffer, *Problem) {
	out := channelOffer{catalog: in.Catalog, name: in.Package}
	content, problem := contentOf(in.Subscription, in.Catalogs)
	if problem != nil {
		return out, problem
	}
	if why, ok := content.Invalid[in.Package]; ok {
		return out, invalid(in.Subscription, why)
	}
	if out.pkg = content.Packages[in.Package]; out.pkg == nil {
		return out, noPackage(in, content)
	}
	name := in.Channel
	if name == "" {
		if name = defaultChannel(out.pkg); name == "" {
			return out, invalid(in.Subscription, "it has no valid default channel, so spec.channel of the Subscription must be one of "+
				listing(slices.Collect(maps.Keys(out.pkg.Channels)), ""))
		}
	}
	if out.channel = out.pkg.Channels[name]; out.channel == nil {
		return out, &Problem{Reason: v1alpha1.ReasonChannelNotFound, Message: clip(fmt.Sprintf("Package %s has no channel %s: it has %s",
			in.Package, name, listing(slices.Collect(maps.Keys(out.pkg.Channels)), name)))}
	}
	if len(entries(out.channel)) == 0 {
		return out, invalid(in.Subscription, fmt.Sprintf("its channel %s is empty", name))
	}
	return out, nil
}

func contentOf(sub Subscription, visible []catalog.Catalog) (*catalog.Content, *Problem) {
	i := slices.IndexFunc(visible, func(c catalog.Catalog) bool { return c.Key == sub.Catalog })
	if i < 0 {
		var names []string
		for _, c := range visible {
			names = append(names, c.Key.String())
		}
		return nil, &Problem{Reason: v1alpha1.ReasonCatalogSourceNotFound, Message: clip(fmt.Sprintf("CatalogSource %s not found%s",
			sub.Catalog, didYouMean(sub.Catalog.String(), names)))}
	}
	if visible[i].Content == nil {
		return nil, &Problem{Reason: v1alpha1.ReasonCatalogSourceUnreadable, Message: clip(fmt.Sprintf(
			"CatalogSource %s has not been read yet: see its status", sub.Catalog))}
	}
	return visible[i].Content, nil
}

func invalid(sub Subscription, why string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonPackageInvalid, Message: clip(fmt.Sprintf("Package %s of CatalogSource %s is invalid: %s",
		sub.Package, sub.Catalog, why))}
}

func noPackage(in Inputs, content *catalog.Content) *Problem {
	message := fmt.Sprintf("CatalogSource %s has no package %s", in.Catalog, in.Package)
	var elsewhere []string
	for _, c := range in.Catalogs {
		if c.Content != nil && c.Content.Packages[in.Package] != nil {
			elsewhere = append(elsewhere, c.Key.String())
		}
	}
	if len(elsewhere) > 0 {
		message += "; CatalogSource " + listing(elsewhere, "") + " has it"
	} else {
		message += didYouMean(in.Package, slices.Collect(maps.Keys(content.Packages)))
	}
	return &Problem{Reason: v1alpha1.ReasonPackageNotFound, Message: clip(message)}
}

// defaultChannel returns the name of a package's default channel, or of its only channel, or the empty string.
func defaultChannel(pkg *catalog.Package) string {
	if pkg.DefaultChannel == "" && len(pkg.Channels) == 1 {
		for name := range pkg.Channels {
			return name
		}
	}
	if pkg.Channels[pkg.DefaultChannel] == nil {
		return ""
	}
	return pkg.DefaultChannel
}

// allowed returns the entries whose versions the user allows. There is a problem if nothing is installed, and none of them can be.
func (c channelOffer) allowed(in Subscription, line []*entry) ([]*entry, *Problem) {
	if in.Versions == nil {
		return line, nil
	}
	if err := in.Versions.Err(); err != nil {
		return nil, &Problem{Reason: v1alpha1.ReasonVersionInvalid, Message: clip(fmt.Sprintf("Annotation %s: %v", v1alpha1.AnnotationVersion, err))}
	}
	var out []*entry
	for _, e := range line {
		if in.Versions.Has(e.Bundle.Version.String()) || e.name == in.Anyway {
			out = append(out, e)
		}
	}
	if in.Installed != nil || len(out) == len(line) {
		return out, nil
	}
	named := func(e *entry) bool { return e.name == in.StartingCSV }
	switch {
	case len(out) == 0:
		return nil, c.notAllowed(in, fmt.Sprintf("%s has none of them: it has %s", c, versionsOf(line)))
	case slices.ContainsFunc(line, named) && !slices.ContainsFunc(out, named):
		return nil, c.notAllowed(in, fmt.Sprintf("spec.startingCSV is %s", in.StartingCSV))
	}
	return out, nil
}

func (c channelOffer) notAllowed(in Subscription, why string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonVersionNotAllowed, Message: clip(fmt.Sprintf("Annotation %s allows versions %s, and %s", v1alpha1.AnnotationVersion,
		in.Versions, why))}
}

func versionsOf(line []*entry) string {
	var out []string
	for _, e := range line {
		out = append(out, e.Bundle.Version.String())
	}
	return messages.List(unique(out), maxNamed, ", ")
}

// candidates returns the entries that a Subscription can install or update to, in order of preference.
func (c channelOffer) candidates(in Inputs, line []*entry) ([]*entry, *Problem) {
	var out []*entry
	switch {
	case in.Installed != nil && in.Installed.Running != nil:
		for _, e := range line {
			if !e.skipped && e.overtakes(*in.Installed) {
				out = append(out, e)
			}
		}
	case in.Installed != nil:
		for _, e := range line {
			if !e.skipped && e.updates(in.Installed.Name, in.Installed.Version) {
				out = append(out, e)
			}
		}
	case in.StartingCSV != "":
		at := slices.IndexFunc(line, func(e *entry) bool { return e.name == in.StartingCSV })
		if at < 0 {
			return nil, c.notInChannel(in.StartingCSV, line)
		}
		out = append(out, line[at])
	default:
		for _, e := range line {
			if !e.skipped {
				out = append(out, e)
			}
		}
		if len(out) == 0 {
			// A channel without a cycle has a head, which is not skipped, so it is the range that leaves only skipped ones.
			return nil, c.notAllowed(in.Subscription, fmt.Sprintf("of these, %s has only %s, which other bundles of the channel skip: "+
				"to install a skipped one, set spec.startingCSV of the Subscription, for example to %s", c, versionsOf(line), line[0].name))
		}
	}
	return out, nil
}

func (c channelOffer) notInChannel(name string, line []*entry) *Problem {
	var names []string
	for _, e := range line {
		names = append(names, e.name)
	}
	hint := didYouMean(name, names)
	if hint == "" {
		hint = ": it has " + listing(names, name)
	}
	return &Problem{Reason: v1alpha1.ReasonCSVNotInChannel, Message: clip(fmt.Sprintf("Channel %s of package %s has no %s%s", c.channel.Name, c.name, name, hint))}
}
