// Package messages formats text for the messages of conditions and Events.
package messages

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Clip returns text as valid UTF-8 of at most limit bytes, with an ellipsis if it was truncated. The ellipsis is
// returned even if limit is too small for it.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	cut := max(limit-len(ellipsis), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ellipsis
}

// Line returns a text of another author on one line, with each sequence of white space replaced by a space, and each character
// by one that is safe to show: see Safe.
func Line(text string) string { return strings.Map(Safe, strings.Join(strings.Fields(text), " ")) }

// Quote returns a message of another author, on one line, as the end of a sentence. An empty message stays empty.
func Quote(message string) string {
	if message = strings.TrimRight(Line(message), ". "); message != "" {
		return ": " + message
	}
	return ""
}

// Safe returns a character to be shown, or the replacement character instead of one that controls a terminal or the
// direction of text, or is invisible. Tabs and ends of lines are safe, carriage returns are not.
func Safe(r rune) rune {
	if r == '\t' || r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
		return r
	}
	return utf8.RuneError
}

// List joins the first items, up to most, and appends the number of the others.
func List(items []string, most int, separator string) string {
	if len(items) <= most {
		return strings.Join(items, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(items[:most], separator), separator, len(items)-most)
}

// Size returns a number of bytes with a binary unit, such as 1.5MiB.
func Size(bytes int64) string {
	const step = 1024
	n, unit := float64(bytes), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for n >= step && unit < len(units)-1 {
		n /= step
		unit++
	}
	return fmt.Sprintf("%.4g%s", n, units[unit])
}
