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

// Property types without a constant in package property.
const (
	typeLabel         = "olm.label"
	typeLabelRequired = "olm.label.required"
)

const (
	// maxConstraint limits the size of a constraint in bytes, as in OLM.
	maxConstraint = 128 << 10

	// maxNesting limits the depth of nested constraints.
	maxNesting = 32

	// maxNeeds limits the requirements of one bundle, those in its compounds included. Bundles have far fewer, and the
	// solver's timeout does not limit the time that it takes to find the offers for each.
	maxNeeds = 1000
)

// op is the type of a need.
type op uint8

const (
	opKind    op = iota // an operator provides a kind
	opPackage           // an operator is of a package, in a version range
	opLabel             // an operator has a label
	opAll               // all parts are satisfied
	opAny               // at least one part is satisfied
	opNone              // no part is satisfied
	opFault             // cannot be evaluated, so it is never satisfied
)

// need is a requirement of a bundle on the operators of its namespace. Different operators may satisfy the parts of a
// compound: all of package blue and kind Green may be two operators, as OLM documents.
type need struct {
	op       op
	kind     property.GVK
	pkg      string
	versions semver.Range
	label    string
	parts    []need

	// text describes the need, such as "package etcd >=0.9.0".
	text string
	// reason is why a fault cannot be evaluated.
	reason string
}

// needs returns the requirements in properties. The order does not depend on the order of the properties.
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
			continue // as in OLM, unknown properties require nothing
		}
		if err != nil {
			n = need{op: opFault, reason: v1alpha1.ReasonBundleInvalid, text: fmt.Sprintf("has an unreadable %s: %v", p.Type, err)}
		}
		out = append(out, n)
	}
	slices.SortStableFunc(out, func(a, b need) int { return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.text, b.text)) })
	out = slices.CompactFunc(out, func(a, b need) bool { return a.op < opAll && a.op == b.op && a.text == b.text })
	if n := countSimple(out); n > maxNeeds {
		return []need{{op: opFault, reason: v1alpha1.ReasonBundleInvalid, text: fmt.Sprintf("has %d requirements, and the limit is %d", n, maxNeeds)}}
	}
	return out
}

// countSimple returns the number of needs that are not compounds, including those that are parts of compounds.
func countSimple(all []need) int {
	out := 0
	for _, n := range all {
		out += max(1, countSimple(n.parts))
	}
	return out
}

func readKind(value []byte) (need, error) {
	var v property.GVK
	if err := json.Unmarshal(value, &v); err != nil {
		return need{}, err
	}
	if v.Kind == "" || v.Version == "" {
		return need{}, errors.New("kind and version are required")
	}
	return need{op: opKind, kind: v, text: kindText(v)}, nil
}

func kindText(k property.GVK) string {
	return fmt.Sprintf("kind %s of %s/%s", k.Kind, k.Group, k.Version)
}

func readPackage(value []byte) (need, error) {
	var v struct {
		PackageName  string `json:"packageName"`
		Name         string `json:"name"` // as in OLM's documentation
		VersionRange string `json:"versionRange"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return need{}, err
	}
	n := need{op: opPackage, pkg: cmp.Or(v.PackageName, v.Name), versions: anyVersion}
	if n.pkg == "" {
		return need{}, errors.New("the name of the package is required")
	}
	n.text = "package " + n.pkg
	if v.VersionRange != "" {
		versions, err := semver.ParseRange(v.VersionRange)
		if err != nil {
			return need{}, fmt.Errorf("%q is not a valid version range: %w", v.VersionRange, err)
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
		return need{}, errors.New("label is required")
	}
	return need{op: opLabel, label: v.Label, text: "an operator labelled " + v.Label}, nil
}

// constraint is the value of an olm.constraint property. Each key is a type of constraint.
type constraint map[string]json.RawMessage

const failureMessage = "failureMessage"

func readConstraint(value []byte, depth int) (need, error) {
	if len(value) > maxConstraint || depth > maxNesting {
		return need{}, fmt.Errorf("it exceeds the limit of %d bytes or of %d nested levels", maxConstraint, maxNesting)
	}
	var c constraint
	if err := json.NewDecoder(bytes.NewReader(value)).Decode(&c); err != nil {
		return need{}, err
	}
	var message string
	if raw, ok := c[failureMessage]; ok {
		if err := json.Unmarshal(raw, &message); err != nil {
			return need{}, fmt.Errorf("%s: %w", failureMessage, err)
		}
		delete(c, failureMessage)
	}
	if len(c) != 1 {
		return need{}, errors.New("a constraint must have exactly one type")
	}
	n, err := c.read(depth)
	if message != "" && n.op != opFault {
		n.text += fmt.Sprintf(" (%q)", messages.Clip(message, maxMessage/4))
	}
	return n, err
}

// read converts a constraint with one key.
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
				"has a constraint of type %s, which is not supported", sort)}, nil
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
	n.text = messages.Clip(fmt.Sprintf("%s (%s)", words, messages.List(texts, maxNamed, "; ")), maxMessage/2)
	return n, nil
}

// met reports whether an operator satisfies a need that is not a compound.
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

// operator holds the fields of a bundle or an installed ClusterServiceVersion that the needs of others depend on.
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
