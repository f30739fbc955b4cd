package platformoperator

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Reserved holds the names, or patterns for path.Match, of namespaces that no PlatformOperator may install in.
type Reserved []string

// ParseReserved parses a comma-separated list of names and patterns.
func ParseReserved(list string) (Reserved, error) {
	var out Reserved
	for pattern := range strings.SplitSeq(list, ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q is not a valid pattern of names, such as kube-*: %w", pattern, err)
		}
		out = append(out, pattern)
	}
	return out, nil
}

// Has reports whether a namespace is reserved.
func (r Reserved) Has(namespace string) bool {
	return slices.ContainsFunc(r, func(pattern string) bool {
		matches, err := path.Match(pattern, namespace)
		return err == nil && matches
	})
}
