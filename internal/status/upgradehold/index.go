package upgradehold

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/messages"
)

// Limits of a part of the index: a ConfigMap has at most 1 MiB, and each change writes a part. The API server looks every
// request up in all parts, so there are few. An entry leaves room for others: 50 images of a workload fit.
const (
	mostEntries    = 1024
	mostBytes      = 1 << 19
	mostParts      = 1 << 10
	mostEntryBytes = 1 << 15
	longestMessage = 1024 // bytes
)

// Part is the content of a ConfigMap of the index.
type Part struct {
	// Denies are the requests that it is about: the value of the label holdv1alpha1.LabelDenies.
	Denies string

	// Data are the denied updates, by the names of the objects that a request has.
	Data map[string]string
}

// entry denies updates of one object. The policies read it as lines: see config/policy/upgradehold.yaml.
type entry struct {
	// except are versions that are not denied: images of a workload, revisions of a release, or ClusterServiceVersions.
	except []string

	// denied are the statuses of a record that are denied, or ClusterServiceVersions. Of a workload it has heldByUser if a user holds it.
	denied []string

	// pattern matches more ClusterServiceVersions that are denied.
	pattern string

	// message is why, for the installer.
	message string
}

func (e entry) String() string {
	list := func(all []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.ContainsAny(s, ",\n") }), ",")
	}
	return strings.Join([]string{list(e.except), list(e.denied), cmp.Or(e.pattern, "^$"), e.message}, "\n")
}

// parse returns an entry that String wrote.
func parse(text string) entry {
	lines := strings.SplitN(text+"\n\n\n", "\n", 4)
	list := func(line string) []string {
		return slices.DeleteFunc(strings.Split(line, ","), func(s string) bool { return s == "" })
	}
	return entry{except: list(lines[0]), denied: list(lines[1]), pattern: lines[2], message: strings.TrimRight(lines[3], "\n")}
}

// heldByUser in an entry of a workload has the annotation of the workload itself allow nothing.
const heldByUser = "user"

// index has the entries by the requests that they deny, and by key.
type index map[string]map[string]entry

// Index returns the parts of the index of UpgradeHolds, by name. There are none if nothing is denied.
func Index(holds []holdv1alpha1.UpgradeHold) map[string]Part {
	all := index{}
	sorted := slices.SortedFunc(slices.Values(holds), func(a, b holdv1alpha1.UpgradeHold) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		if h := &sorted[i]; h.DeletionTimestamp.IsZero() {
			all.add(h, h.Status.Denied, h.Status.Message)
		}
	}
	out := map[string]Part{}
	for denies, entries := range all {
		texts := textsOf(entries)
		for n := uint32(1); ; n *= 2 {
			if parts, fits := spread(denies, texts, n); fits || n == mostParts {
				maps.Copy(out, parts)
				break
			}
		}
	}
	return out
}

// indexed reports whether the index has everything that an UpgradeHold denies.
func indexed(parts []Part, hold *holdv1alpha1.UpgradeHold, denied *holdv1alpha1.DeniedUpdates) bool {
	wanted := index{}
	wanted.add(hold, denied, "")
	for denies, entries := range wanted {
		for key, e := range entries {
			if !slices.ContainsFunc(parts, func(part Part) bool {
				text, found := part.Data[key]
				got := parse(text)
				return part.Denies == denies && found && contains(e.except, got.except) && contains(got.denied, e.denied) && got.pattern == cmp.Or(e.pattern, "^$")
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

// add adds the updates that an UpgradeHold denies. Names in keys are separated by underscores, which they do not contain.
func (x index) add(hold *holdv1alpha1.UpgradeHold, denied *holdv1alpha1.DeniedUpdates, message string) {
	if denied == nil {
		return
	}
	message = gate.Clip(messages.Line(message), longestMessage)
	if d := denied.InstallPlans; d != nil {
		key := fmt.Sprintf("%s_%x", d.Namespace, sha256.Sum256([]byte(hold.Name))) // one for each: their patterns differ
		x.enter(holdv1alpha1.DeniesInstallPlans, key, entry{except: d.Except, denied: d.Versions, pattern: d.Pattern, message: message})
	}
	if d := denied.Revisions; d != nil {
		key := cmp.Or(d.Owner, "helm") + "_" + d.Namespace + "_" + d.Release
		x.enter(holdv1alpha1.DeniesRevisions, key, entry{except: d.Except, denied: d.Statuses, message: message})
	}
	version := "REVISION" // of the update, which a CustomResourceDefinition does not name
	for _, d := range denied.Workloads {
		of := entry{except: d.Except, message: message}
		if !hold.IsReported() || isByUser(hold) {
			of.denied = []string{heldByUser}
		}
		x.enter(holdv1alpha1.DeniesWorkloads, d.Kind+"_"+d.Namespace+"_"+d.Name, of)
		version = "IMAGE"
	}
	for _, name := range denied.CustomResourceDefinitions {
		x.enter(holdv1alpha1.DeniesDefinitions, name, entry{message: strings.ReplaceAll(message, gate.AnyVersion, version)})
	}
}

// isByUser reports whether a user causes an UpgradeHold that operator-status created, in the overrides of an OperatorCondition.
func isByUser(hold *holdv1alpha1.UpgradeHold) bool {
	return slices.ContainsFunc(hold.Status.Holds, func(cause holdv1alpha1.HoldCause) bool { return cause.Override == "" })
}

// enter adds an entry. If there is one already, both have to allow a version.
func (x index) enter(denies, key string, e entry) {
	if x[denies] == nil {
		x[denies] = map[string]entry{}
	}
	if before, ok := x[denies][key]; ok {
		e.message = gate.Clip(before.message+"; "+e.message, longestMessage)
		e.except = slices.DeleteFunc(slices.Clone(e.except), func(v string) bool { return !slices.Contains(before.except, v) })
		for _, status := range before.denied {
			if !slices.Contains(e.denied, status) {
				e.denied = append(slices.Clone(e.denied), status)
			}
		}
	}
	x[denies][key] = e
}

// keyed is the text of an entry, with its key.
type keyed struct{ key, text string }

func (k keyed) size() int { return len(k.key) + len(k.text) }

// textsOf returns the entries as parts have them, the smallest first. An object whose name is too long for a key, or whose entry is too large,
// is left out, and its UpgradeHold NotIndexed.
func textsOf(entries map[string]entry) []keyed {
	var out []keyed
	for key, e := range entries {
		if k := (keyed{key, e.String()}); len(validation.IsConfigMapKey(key)) == 0 && k.size() <= mostEntryBytes {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.size(), b.size()), cmp.Compare(a.key, b.key)) })
	return out
}

// spread distributes entries over n parts by a hash of their keys, so that few of them move when others are added. It reports
// whether all fit. The last ones of a part that is full are left out, and their UpgradeHolds NotIndexed.
func spread(denies string, texts []keyed, n uint32) (out map[string]Part, fits bool) {
	out, sizes, fits := map[string]Part{}, map[string]int{}, true
	for _, k := range texts {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(k.key)) // never fails
		name := fmt.Sprintf("upgradeholds-%s-%d-of-%d", denies, hash.Sum32()%n+1, n)
		if out[name].Data == nil {
			out[name] = Part{Denies: denies, Data: map[string]string{}}
		}
		if len(out[name].Data) == mostEntries || sizes[name]+k.size() > mostBytes {
			fits = false
			continue
		}
		out[name].Data[k.key] = k.text
		sizes[name] += k.size()
	}
	return out, fits
}
