package resolve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// Types of properties that package property has no name for.
const (
	typeLabel         = "olm.label"
	typeLabelRequired = "olm.label.required"
)

const (
	// maxConstraint is how many bytes a constraint has at most, as in OLM.
	maxConstraint = 128 << 10

	// maxNesting is how deep constraints nest at most.
	maxNesting = 32
)

// op is what a need is about.
type op uint8

const (
	opKind    op = iota // an operator provides a kind
	opPackage           // an operator is of a package, its version in a range
	opLabel             // an operator carries a label
	opAll               // all parts hold
	opAny               // one part holds at least
	opNone              // no part holds
	opFault             // it cannot be judged, so it never holds
)

// need is what a bundle requires of the operators of its namespace. Parts of a compound need not be met by the same
// operator: all of package blue and kind Green may be two operators, as OLM documents it.
type need struct {
	op       op
	kind     property.GVK
	pkg      string
	versions semver.Range
	label    string
	parts    []need

	// text is the need in words, such as "package etcd >=0.9.0".
	text string
	// reason is why a fault cannot be judged.
	reason string
}

// needs are what properties require, in an order of their own.
func needs(properties []property.Property) []need {
	properties = slices.SortedFunc(slices.Values(properties), func(a, b property.Property) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), bytes.Compare(a.Value, b.Value))
	})
	var out []need
	for _, p := range properties {
		var n need
		var err error
		switch p.Type {
		case property.TypeGVKRequired:
			n, err = readKind(p.Value)
		case property.TypePackageRequired:
			n, err = readPackage(p.Value)
		case typeLabelRequired:
			n, err = readLabel(p.Value)
		case property.TypeConstraint:
			n, err = readConstraint(p.Value, 1)
		default:
			continue // as in OLM: what is not known asks for nothing
		}
		if err != nil {
			n = need{op: opFault, reason: v1alpha1.ReasonBundleInvalid, text: fmt.Sprintf("has an unreadable %s: %v", p.Type, err)}
		}
		out = append(out, n)
	}
	slices.SortStableFunc(out, func(a, b need) int { return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.text, b.text)) })
	return slices.CompactFunc(out, func(a, b need) bool { return a.op < opAll && a.op == b.op && a.text == b.text })
}

func readKind(value []byte) (need, error) {
	var v property.GVK
	if err := json.Unmarshal(value, &v); err != nil {
		return need{}, err
	}
	if v.Kind == "" || v.Version == "" {
		return need{}, errors.New("it names no kind and version")
	}
	return need{op: opKind, kind: v, text: kindText(v)}, nil
}

func kindText(k property.GVK) string {
	return fmt.Sprintf("kind %s of %s/%s", k.Kind, k.Group, k.Version)
}

func readPackage(value []byte) (need, error) {
	var v struct {
		PackageName  string `json:"packageName"`
		Name         string `json:"name"` // as OLM's documentation has it
		VersionRange string `json:"versionRange"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return need{}, err
	}
	n := need{op: opPackage, pkg: cmp.Or(v.PackageName, v.Name), versions: anyVersion}
	if n.pkg == "" {
		return need{}, errors.New("it names no package")
	}
	n.text = "package " + n.pkg
	if v.VersionRange != "" {
		versions, err := semver.ParseRange(v.VersionRange)
		if err != nil {
			return need{}, fmt.Errorf("%q is not a range of versions: %w", v.VersionRange, err)
		}
		n.versions = versions
		n.text += " " + v.VersionRange
	}
	return n, nil
}

func anyVersion(semver.Version) bool {
	return true
}

func readLabel(value []byte) (need, error) {
	var v struct {
		Label string `json:"label"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return need{}, err
	}
	if v.Label == "" {
		return need{}, errors.New("it names no label")
	}
	return need{op: opLabel, label: v.Label, text: "an operator labelled " + v.Label}, nil
}

// constraint is the value of an olm.constraint property, each of whose keys is one sort of constraint.
type constraint map[string]json.RawMessage

const failureMessage = "failureMessage"

func readConstraint(value []byte, depth int) (need, error) {
	if len(value) > maxConstraint || depth > maxNesting {
		return need{}, fmt.Errorf("it is longer than %d bytes or nested more than %d deep", maxConstraint, maxNesting)
	}
	var c constraint
	if err := json.NewDecoder(bytes.NewReader(value)).Decode(&c); err != nil {
		return need{}, err
	}
	var said string
	if raw, ok := c[failureMessage]; ok {
		if err := json.Unmarshal(raw, &said); err != nil {
			return need{}, fmt.Errorf("%s: %w", failureMessage, err)
		}
		delete(c, failureMessage)
	}
	if len(c) != 1 {
		return need{}, errors.New("a constraint has to be of one sort")
	}
	n, err := c.read(depth)
	if said != "" && n.op != opFault {
		n.text += fmt.Sprintf(" (%q)", messages.Clip(said, maxMessage/4))
	}
	return n, err
}

// read reads a constraint of one sort.
func (c constraint) read(depth int) (need, error) {
	for sort, value := range c {
		switch sort {
		case "gvk":
			return readKind(value)
		case "package":
			return readPackage(value)
		case "all":
			return readCompound(opAll, "all of", value, depth)
		case "any":
			return readCompound(opAny, "one of", value, depth)
		case "not", "none":
			return readCompound(opNone, "none of", value, depth)
		default:
			return need{op: opFault, reason: v1alpha1.ReasonUnsupportedConstraint, text: fmt.Sprintf(
				"has a constraint of the sort %s, which is not evaluated here", sort)}, nil
		}
	}
	return need{}, errors.New("it is empty")
}

func readCompound(o op, words string, value []byte, depth int) (need, error) {
	var v struct {
		Constraints []json.RawMessage `json:"constraints"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return need{}, err
	}
	if len(v.Constraints) == 0 {
		return need{}, errors.New("it has no constraints")
	}
	n := need{op: o}
	var texts []string
	for _, raw := range v.Constraints {
		part, err := readConstraint(raw, depth+1)
		if err != nil {
			return need{}, err
		}
		n.parts = append(n.parts, part)
		texts = append(texts, part.text)
	}
	n.text = messages.Clip(fmt.Sprintf("%s (%s)", words, enumerate(texts, "; ")), maxMessage/2)
	return n, nil
}

// met is true where an operator meets a need that is no compound.
func (n need) met(o operator) bool {
	switch n.op {
	case opKind:
		return slices.Contains(o.provides, n.kind)
	case opPackage:
		return o.pkg == n.pkg && n.versions(o.version)
	case opLabel:
		return slices.Contains(labels(o.properties), n.label)
	default:
		return false
	}
}

// operator is what matters of a bundle or an installed ClusterServiceVersion to the needs of others.
type operator struct {
	name, pkg  string
	version    semver.Version
	provides   []property.GVK
	properties []property.Property
}

func (i Installed) operator() operator {
	return operator{i.Name, i.Package, i.Version, i.Provides, i.Properties}
}

func labels(properties []property.Property) []string {
	var out []string
	for _, p := range properties {
		var v struct {
			Label string `json:"label"`
		}
		if p.Type == typeLabel && json.Unmarshal(p.Value, &v) == nil {
			out = append(out, v.Label)
		}
	}
	return out
}
