package upgradehold

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// Limits of a part of the index: etcd stores no object of more than 1.5 MiB, and each change writes a part. The API server looks every
// request up in all parts, so there are few.
const (
	mostEntries  = 1024
	mostBytes    = 1 << 19
	mostParts    = 1 << 10
	longestEntry = 1024 // bytes of a message
)

// entries are of a field of the index.
type entries = map[string]holdv1alpha1.HeldEntry

// fields are those of a part of the index.
var fields = []func(*holdv1alpha1.UpgradeHoldIndexSpec) *entries{
	func(s *holdv1alpha1.UpgradeHoldIndexSpec) *entries { return &s.Workloads },
	func(s *holdv1alpha1.UpgradeHoldIndexSpec) *entries { return &s.Definitions },
	func(s *holdv1alpha1.UpgradeHoldIndexSpec) *entries { return &s.Releases },
}

// Index returns the parts of the index of UpgradeHolds, by name. There are none if nothing is denied.
func Index(holds []holdv1alpha1.UpgradeHold) map[string]holdv1alpha1.UpgradeHoldIndexSpec {
	var all holdv1alpha1.UpgradeHoldIndexSpec
	sorted := slices.SortedFunc(slices.Values(holds), func(a, b holdv1alpha1.UpgradeHold) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		if h := &sorted[i]; h.DeletionTimestamp.IsZero() {
			add(&all, h.Status.Denied, h.Status.Message)
		}
	}
	for n := uint32(1); ; n *= 2 {
		if parts, fits := spread(&all, n); fits || n == mostParts {
			return parts
		}
	}
}

// indexed reports whether the index has everything that is denied.
func indexed(parts []holdv1alpha1.UpgradeHoldIndex, denied *holdv1alpha1.DeniedUpdates) bool {
	var wanted holdv1alpha1.UpgradeHoldIndexSpec
	add(&wanted, denied, "")
	for _, field := range fields {
		for key, e := range *field(&wanted) {
			if !slices.ContainsFunc(parts, func(part holdv1alpha1.UpgradeHoldIndex) bool {
				got, found := (*field(&part.Spec))[key]
				return found && contains(e.Except, got.Except) && contains(got.Statuses, e.Statuses)
			}) {
				return false
			}
		}
	}
	return true
}

// contains reports whether all has some.
func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// add adds what an UpgradeHold denies.
func add(to *holdv1alpha1.UpgradeHoldIndexSpec, denied *holdv1alpha1.DeniedUpdates, message string) {
	if denied == nil {
		return
	}
	message = messages.Clip(message, longestEntry)
	if d := denied.Revisions; d != nil {
		key := cmp.Or(d.Owner, "helm") + "/" + d.Namespace + "/" + d.Release
		enter(&to.Releases, key, holdv1alpha1.HeldEntry{Message: message, Except: d.Except, Statuses: d.Statuses})
	}
	if d := denied.Workload; d != nil {
		enter(&to.Workloads, d.Kind+"/"+d.Namespace+"/"+d.Name, holdv1alpha1.HeldEntry{Message: message, Except: d.Except})
		for _, name := range d.CustomResourceDefinitions {
			enter(&to.Definitions, name, holdv1alpha1.HeldEntry{Message: message})
		}
	}
}

// enter adds an entry. If there is one already, both have to allow a version.
func enter(to *entries, key string, e holdv1alpha1.HeldEntry) {
	if before, ok := (*to)[key]; ok {
		e.Message = messages.Clip(before.Message+"; "+e.Message, longestEntry)
		e.Except = slices.DeleteFunc(slices.Clone(e.Except), func(v string) bool { return !slices.Contains(before.Except, v) })
		for _, status := range before.Statuses {
			if !slices.Contains(e.Statuses, status) {
				e.Statuses = append(slices.Clone(e.Statuses), status)
			}
		}
	}
	put(to, key, e)
}

// spread distributes the entries over n parts by a hash of their keys, so that few of them move when others are added. It reports
// whether all parts are within the limits.
func spread(all *holdv1alpha1.UpgradeHoldIndexSpec, n uint32) (out map[string]holdv1alpha1.UpgradeHoldIndexSpec, fits bool) {
	type size struct{ entries, bytes int }
	out, sizes, fits := map[string]holdv1alpha1.UpgradeHoldIndexSpec{}, map[string]size{}, true
	for _, field := range fields {
		for key, e := range *field(all) {
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(key)) // never fails
			name := fmt.Sprintf("part-%d-of-%d", hash.Sum32()%n+1, n)
			spec := out[name]
			put(field(&spec), key, e)
			out[name] = spec
			sizes[name] = size{sizes[name].entries + 1, sizes[name].bytes + len(key) + bytesOf(e)}
			fits = fits && sizes[name].entries <= mostEntries && sizes[name].bytes <= mostBytes
		}
	}
	return out, fits
}

// bytesOf returns about how many bytes an entry has.
func bytesOf(e holdv1alpha1.HeldEntry) int {
	out := len(e.Message)
	for _, s := range slices.Concat(e.Except, e.Statuses) {
		out += len(s) + 4
	}
	return out
}

func put(to *entries, key string, e holdv1alpha1.HeldEntry) {
	if *to == nil {
		*to = entries{}
	}
	(*to)[key] = e
}
