package messages_test

import (
	"testing"
	"unicode/utf8"

	"github.com/operator-status/operator-status/internal/messages"
)

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		reason, text string
		limit        int
		want         string
	}{
		{"A text within the limit is returned unchanged.", "abcdef", 6, "abcdef"},
		{"A longer text is truncated, and ends with an ellipsis.", "abcdefg", 6, "abc…"},
		{"A text is truncated between two runes.", "äääää", 8, "ää…"},
		{"Invalid UTF-8 is replaced.", "a\xffb", 10, "a\uFFFDb"},
		{"Only the ellipsis remains if the limit is smaller.", "abcdef", 2, "…"},
	} {
		if got := messages.Clip(tc.text, tc.limit); got != tc.want || !utf8.ValidString(got) {
			t.Errorf("%s\nClip(%q, %d) = %q, want %q", tc.reason, tc.text, tc.limit, got, tc.want)
		}
	}
}

func TestListAndSize(t *testing.T) {
	if got := messages.List([]string{"a", "b", "c"}, 2, ", "); got != "a, b, and 1 more" {
		t.Error(got)
	}
	if got := messages.List([]string{"a", "b"}, 2, "; "); got != "a; b" {
		t.Error(got)
	}
	for bytes, want := range map[int64]string{1: "1B", 1536: "1.5KiB", 64 << 20: "64MiB", 3 << 40: "3TiB"} {
		if got := messages.Size(bytes); got != want {
			t.Errorf("Size(%d) = %s, want %s", bytes, got, want)
		}
	}
}

func TestLineAndQuote(t *testing.T) {
	for _, tc := range []struct{ reason, text, line, quote string }{
		{"White space is replaced by single spaces.", "a\t b\r\nc\u2028d", "a b c d", ": a b c d"},
		{"Trailing white space is removed, and a quotation has no final period.", "It waits. \n", "It waits.", ": It waits"},
		{"An empty text is quoted as an empty string.", " .\n", ".", ""},
		{"Control characters are replaced.", "a\x1b[2Jb\x07\x9bc\x00", "a\uFFFD[2Jb\uFFFD\uFFFDc\uFFFD", ": a\uFFFD[2Jb\uFFFD\uFFFDc\uFFFD"},
		{"Bidirectional and invisible characters are replaced.", "a\u202eb\u200bc\u2066", "a\uFFFDb\uFFFDc\uFFFD", ": a\uFFFDb\uFFFDc\uFFFD"},
		{"Letters of all scripts and emoji are kept.", "Größe 大小 حجم 😀", "Größe 大小 حجم 😀", ": Größe 大小 حجم 😀"},
	} {
		if got := messages.Line(tc.text); got != tc.line {
			t.Errorf("%s\nLine(%q) = %q, want %q", tc.reason, tc.text, got, tc.line)
		}
		if got := messages.Quote(tc.text); got != tc.quote {
			t.Errorf("%s\nQuote(%q) = %q, want %q", tc.reason, tc.text, got, tc.quote)
		}
	}
}
