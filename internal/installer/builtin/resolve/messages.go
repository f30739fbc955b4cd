package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-status/operator-status/internal/messages"
)

const (
	// maxMessage limits the size of a message, in bytes.
	maxMessage = 1024

	// maxNamed limits the number of names in a message.
	maxNamed = 10

	// maxCompared limits how many bytes of a name are compared to find similar names.
	maxCompared = 128
)

func clip(message string) string {
	return messages.Clip(message, maxMessage)
}

// listing returns a sorted list of names. If they are too many, it keeps those most similar to like.
func listing(names []string, like string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	more := len(names) - maxNamed
	if more > 0 {
		distances := make(map[string]int, len(names))
		for _, n := range names {
			distances[n] = distance(n, like)
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
		names = slices.Sorted(slices.Values(names[:maxNamed]))
	}
	out := strings.Join(names, ", ")
	switch {
	case out == "":
		return "none"
	case more > 0:
		return fmt.Sprintf("%s and %d more", out, more)
	default:
		return out
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// unique removes duplicates. The order is kept.
func unique(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// didYouMean suggests the name most similar to another, or returns the empty string.
func didYouMean(name string, names []string) string {
	best, least := "", min(3, (len(name)+1)/3)+1
	for _, n := range names {
		if len(n)-len(name) > least || len(name)-len(n) > least {
			continue
		}
		if d := distance(strings.ToLower(n), strings.ToLower(name)); d < least || d == least && n < best {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// distance returns the number of bytes to add, remove, change or swap to turn one word into the other.
func distance(a, b string) int {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			changed := above[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
