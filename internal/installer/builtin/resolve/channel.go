package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// entry is an entry of a channel.
type entry struct {
	*catalog.Entry
	name string
	// skipped is true if another entry of the channel skips it. It is then installed only if requested by name.
	skipped bool

	skipRange semver.Range
	parsed    bool
}

// order sorts a channel's entries, newest first: each after the entries that replace or skip it; otherwise, higher
// versions first. Of several heads, the one with the highest version is therefore the newest. If entries replace each
// other in a cycle, it returns a description of one cycle, and appends the remaining entries, sorted by version.
func order(ch *catalog.Channel) (line []*entry, cycle string) {
	all := entries(ch)
	rank := make(map[string]int, len(all))
	for i, e := range all {
		rank[e.name] = i
	}
	replacers := make([]int, len(all)) // the number of unsorted entries that replace or skip it
	successors := func(e *entry, yield func(i int)) {
		if i, ok := rank[e.Replaces]; ok {
			yield(i)
		}
		for _, skipped := range e.Skips {
			if i, ok := rank[skipped]; ok && skipped != e.name {
				all[i].skipped = true
				yield(i)
			}
		}
	}
	for _, e := range all {
		successors(e, func(i int) { replacers[i]++ })
	}
	var ready []int
	for i := range all {
		if replacers[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		e := all[ready[0]]
		ready = ready[1:]
		line = append(line, e)
		successors(e, func(i int) {
			if replacers[i]--; replacers[i] == 0 {
				at, _ := slices.BinarySearch(ready, i)
				ready = slices.Insert(ready, at, i)
			}
		})
	}
	if len(line) == len(all) {
		return line, ""
	}
	var left []*entry
	for i, e := range all {
		if replacers[i] > 0 {
			left = append(left, e)
		}
	}
	return append(line, left...), circle(left)
}

// entries returns the entries of a channel by version, highest first, then by name.
func entries(ch *catalog.Channel) []*entry {
	all := make([]*entry, 0, len(ch.Entries))
	for name, e := range ch.Entries {
		if e != nil && e.Bundle != nil {
			all = append(all, &entry{Entry: e, name: name})
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(b.Bundle.Version.Compare(a.Bundle.Version), cmp.Compare(a.name, b.name))
	})
	return all
}

// circle describes a cycle among entries, each of which is replaced or skipped by another of them.
func circle(left []*entry) string {
	var walked []*entry
	for at := left[0]; ; {
		if i := slices.Index(walked, at); i >= 0 {
			walked = walked[i:]
			break
		}
		walked = append(walked, at)
		at = left[slices.IndexFunc(left, func(e *entry) bool {
			return e.Replaces == at.name || e != at && slices.Contains(e.Skips, at.name)
		})]
	}
	var steps []string
	for i, e := range walked {
		steps = append(steps, fmt.Sprintf("%s replaces %s", walked[(i+1)%len(walked)].name, e.name))
	}
	slices.Reverse(steps)
	return messages.List(steps, maxNamed, ", ")
}

// names reports whether the entry replaces or skips a bundle by name.
func (e *entry) names(name string) bool {
	return e.Replaces == name || slices.Contains(e.Skips, name)
}

// updates reports whether the entry can replace the installed version: either by its name, regardless of the version,
// since that is the author's choice, or by a skipRange, which never leads to an older version.
func (e *entry) updates(name string, version semver.Version) bool {
	if e.name == name {
		return false
	}
	return e.names(name) || !e.Bundle.Version.LT(version) && e.skipsOver(version)
}

// overtakes reports whether the entry can be installed in place of a version whose installation has never started: it is
// newer, or replaces or skips it, and it can replace the version that runs.
func (e *entry) overtakes(never Installed) bool {
	if never.Running == nil || e.name == never.Name || !e.names(never.Name) && !e.Bundle.Version.GT(never.Version) {
		return false
	}
	return e.updates(never.Running.Name, never.Running.Version)
}

func (e *entry) skipsOver(version semver.Version) bool {
	if e.SkipRange == "" {
		return false
	}
	if !e.parsed {
		e.parsed = true
		e.skipRange, _ = semver.ParseRange(e.SkipRange) // an invalid range skips nothing, as in OLM
	}
	return e.skipRange != nil && e.skipRange(version)
}

// newest returns the newest entry that the installed version can be updated to, in one step or more, or the empty string.
func newest(line []*entry, installed Installed) string {
	type step struct {
		name    string
		version semver.Version
	}
	best := len(line)
	seen := map[string]bool{}
	for todo := []step{{installed.Name, installed.Version}}; len(todo) > 0; todo = todo[1:] {
		for i, e := range line {
			if !e.skipped && !seen[e.name] && e.name != installed.Name && e.updates(todo[0].name, todo[0].version) {
				seen[e.name] = true
				best = min(best, i)
				todo = append(todo, step{e.name, e.Bundle.Version})
			}
		}
	}
	if best == len(line) {
		return ""
	}
	return line[best].name
}

// kept returns a note about why the installed version is not updated, or the empty string if it is the newest one that is allowed.
func (in Subscription) kept(from channelOffer, allowed []*entry) string {
	limit := fmt.Sprintf("annotation %s allows only versions %s", v1alpha1.AnnotationVersion, in.Versions)
	note := unreachable(from, allowed, in.Installed)
	switch {
	case in.Versions == nil:
		return note
	case !in.Versions.Has(in.Installed.Version.String()) && in.Installed.Name != in.Anyway:
		return clip(fmt.Sprintf("%s is kept, although %s: it cannot be updated to any of these", in.Installed.Name, limit))
	case note != "":
		return clip(note + ", and " + limit)
	}
	return ""
}

// unreachable returns a note about the channel's newest entry if the installed version cannot be updated to it. It is
// empty if that is installed or all entries are skipped.
func unreachable(from channelOffer, line []*entry, installed *Installed) string {
	at := slices.IndexFunc(line, func(e *entry) bool { return !e.skipped })
	if at < 0 || line[at].name == installed.Name {
		return ""
	}
	if line[at].Bundle.Version.LT(installed.Version) {
		return clip(fmt.Sprintf("The newest bundle of channel %s of package %s is %s, which is older than %s; "+
			"the installed version is kept until the channel offers a replacement", from.channel.Name, from.name, line[at].name, installed.Name))
	}
	where := ""
	if from.channel.Entries[installed.Name] == nil {
		where = " is not in it and"
	}
	return clip(fmt.Sprintf("Channel %s of package %s offers %s, but %s%s cannot be updated to it: no bundle in the channel replaces or skips %s",
		from.channel.Name, from.name, line[at].name, installed.Name, where, installed.Name))
}

// deprecations returns the deprecation messages of a package, a channel and a bundle, which may be nil.
func deprecations(pkg *catalog.Package, ch *catalog.Channel, b *catalog.Bundle) Deprecations {
	out := Deprecations{Package: clip(strings.TrimSpace(pkg.Deprecation)), Channel: clip(strings.TrimSpace(ch.Deprecation))}
	if b != nil {
		out.Bundle = clip(strings.TrimSpace(b.Deprecation))
	}
	return out
}
