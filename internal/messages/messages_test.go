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
		{"What fits stays.", "abcdef", 6, "abcdef"},
		{"What does not is cut, and shows it.", "abcdefg", 6, "abc…"},
		{"No character is cut in two.", "äääää", 8, "ää…"},
		{"A condition must be valid UTF-8.", "a\xffb", 10, "a\uFFFDb"},
		{"There may be room for nothing.", "abcdef", 2, "…"},
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
		{"White space is a space.", "a\t b\r\nc\u2028d", "a b c d", ": a b c d"},
		{"A sentence ends once.", "It waits. \n", "It waits.", ": It waits"},
		{"Nothing is quoted as nothing.", " .\n", ".", ""},
		{"Nothing controls a terminal.", "a\x1b[2Jb\x07\x9bc\x00", "a\uFFFD[2Jb\uFFFD\uFFFDc\uFFFD", ": a\uFFFD[2Jb\uFFFD\uFFFDc\uFFFD"},
		{"Nothing turns text around, or hides in it.", "a\u202eb\u200bc\u2066", "a\uFFFDb\uFFFDc\uFFFD", ": a\uFFFDb\uFFFDc\uFFFD"},
		{"All scripts are shown.", "Größe 大小 حجم 😀", "Größe 大小 حجم 😀", ": Größe 大小 حجم 😀"},
	} {
		if got := messages.Line(tc.text); got != tc.line {
			t.Errorf("%s\nLine(%q) = %q, want %q", tc.reason, tc.text, got, tc.line)
		}
		if got := messages.Quote(tc.text); got != tc.quote {
			t.Errorf("%s\nQuote(%q) = %q, want %q", tc.reason, tc.text, got, tc.quote)
		}
	}
}
