package peer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// difference is a field of an object that differs between two clusters.
type difference struct {
	object identity
	field  string // as in metadata.labels[app], or empty if only one cluster has the object
	ours   string
	theirs string
}

// allowance is a field of a kind that may differ, with the reason. A star in the field matches any text. An empty field
// allows the object to exist in only one of the clusters.
type allowance struct {
	kind   string
	field  string
	reason string

	// name is a part of the names of the objects that it covers, or empty for all objects of the kind.
	name string
}

func (a allowance) covers(d difference) bool {
	if a.kind != d.object.kind.Kind || !strings.Contains(d.object.name, a.name) {
		return false
	}
	before, after, star := strings.Cut(a.field, "*")
	if !star {
		return a.field == d.field
	}
	return len(d.field) >= len(before)+len(after) && strings.HasPrefix(d.field, before) && strings.HasSuffix(d.field, after)
}

// compare returns the differences of two states. An object whose name may differ is paired with the most similar one.
func compare(ours, theirs state, nameMayDiffer func(identity) bool) []difference {
	var out []difference
	var unpaired []identity
	theirs = maps.Clone(theirs)
	for _, i := range sorted(ours) {
		if other, ok := theirs[i]; ok {
			out = append(out, fields(i, ours[i], other)...)
			delete(theirs, i)
		} else {
			unpaired = append(unpaired, i)
		}
	}
	for _, i := range unpaired {
		twin, ok := mostSimilar(ours[i], i, theirs)
		if !ok || !nameMayDiffer(i) {
			out = append(out, difference{object: i, ours: "there", theirs: "absent"})
			continue
		}
		out = append(out, difference{object: i, field: "metadata.name", ours: i.name, theirs: twin.name})
		out = append(out, fields(i, ours[i], theirs[twin])...)
		delete(theirs, twin)
	}
	for _, i := range sorted(theirs) {
		out = append(out, difference{object: i, ours: "absent", theirs: "there"})
	}
	return out
}

// mostSimilar returns the object of the same kind and namespace that differs in the fewest fields.
func mostSimilar(o *unstructured.Unstructured, i identity, among state) (identity, bool) {
	var best identity
	fewest := -1
	for _, other := range sorted(among) {
		if other.kind != i.kind || other.namespace != i.namespace {
			continue
		}
		if n := len(fields(i, o, among[other])); fewest < 0 || n < fewest {
			best, fewest = other, n
		}
	}
	return best, fewest >= 0
}

func sorted(s state) []identity {
	return slices.SortedFunc(maps.Keys(s), func(a, b identity) int { return cmp.Compare(a.String(), b.String()) })
}

// fields returns the differences of two objects, except in fields that the API server sets for each object.
func fields(i identity, ours, theirs *unstructured.Unstructured) []difference {
	left, right := map[string]string{}, map[string]string{}
	flatten("", comparedFields(ours), left)
	flatten("", comparedFields(theirs), right)
	var out []difference
	for path, value := range left {
		if other, ok := right[path]; !ok || other != value {
			out = append(out, difference{object: i, field: path, ours: value, theirs: cmp.Or(other, "(absent)")})
		}
	}
	for path, value := range right {
		if _, ok := left[path]; !ok {
			out = append(out, difference{object: i, field: path, ours: "(absent)", theirs: value})
		}
	}
	slices.SortFunc(out, func(a, b difference) int { return cmp.Compare(a.field, b.field) })
	return out
}

// comparedFields returns an object without the metadata that each API server sets, and only with the phase of its status.
func comparedFields(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy().Object
	metadata, _, _ := unstructured.NestedMap(out, "metadata")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(metadata, field)
	}
	owners, _, _ := unstructured.NestedSlice(metadata, "ownerReferences")
	byOwner := map[string]any{}
	for _, owner := range owners {
		o := owner.(map[string]any)
		delete(o, "uid")
		for _, flag := range []string{"controller", "blockOwnerDeletion"} {
			if o[flag] == false {
				delete(o, flag) // false is the same as absent
			}
		}
		byOwner[strings.ToLower(fmt.Sprint(o["kind"]))+" "+fmt.Sprint(o["name"])] = o
	}
	metadata["ownerReferences"] = byOwner // their order has no meaning
	out["metadata"] = metadata
	phase, found, _ := unstructured.NestedString(out, "status", "phase")
	delete(out, "status")
	if found {
		out["phase"] = phase
	}
	return out
}

// flatten adds every leaf of a value to out, by its path. Keys that are names are in brackets.
func flatten(path string, value any, out map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return // the same as absent for every reader
		}
		for key, v := range value {
			flatten(join(path, key), v, out)
		}
	case []any:
		for i, v := range value {
			flatten(fmt.Sprintf("%s[%d]", path, i), v, out)
		}
	default:
		out[path] = fmt.Sprint(value)
	}
}

func join(path, key string) string {
	switch {
	case path == "metadata.labels", path == "metadata.annotations", path == "metadata.ownerReferences", strings.ContainsAny(key, "./ "):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
