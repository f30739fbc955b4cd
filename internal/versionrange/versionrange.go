// Package versionrange reads the range of versions that a user allows an operator. It is pure.
package versionrange

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// maxLength limits the length of a range, in bytes, as that of a ClusterExtension is limited.
const maxLength = 64

// Range is a range of versions, in the syntax of `spec.source.catalog.version` of a ClusterExtension. Nil is any version.
type Range struct {
	text        string
	constraints *semver.Constraints
	err         error
}

// Of returns the range in the annotations of a Subscription.
func Of(annotations map[string]string) *Range { return Parse(annotations[v1alpha1.AnnotationVersion]) }

// Parse parses a range. An empty text is any version. An invalid range has none.
func Parse(text string) *Range {
	if text == "" {
		return nil
	}
	out := &Range{text: text}
	if len(text) > maxLength {
		out.err = fmt.Errorf("it has %d bytes, and at most %d are allowed", len(text), maxLength)
		return out
	}
	out.constraints, out.err = semver.NewConstraint(text)
	return out
}

// Err returns why the range is invalid, or nil.
func (r *Range) Err() error {
	if r == nil || r.err == nil {
		return nil
	}
	return fmt.Errorf("%s is not a range of versions such as %q: %w", r, ">=1.2.0 <2.0.0", r.err)
}

// Has reports whether a version is in the range.
func (r *Range) Has(version string) bool {
	if r == nil {
		return true
	}
	parsed, err := semver.NewVersion(version)
	return err == nil && r.err == nil && r.constraints.Check(parsed)
}

// String returns the range as the user wrote it, in quotes.
func (r *Range) String() string {
	if r == nil {
		return "any"
	}
	return fmt.Sprintf("%q", messages.Clip(messages.Line(r.text), maxLength))
}
