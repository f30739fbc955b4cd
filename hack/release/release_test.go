package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSection(t *testing.T) {
	const changes = "# Changelog\n\n## Unreleased\n\n* New.\n\n## 1.1.0 - 2026-11-01\n\n### Added\n\n* More.\n\n## [1.0.0]\n* First.\n\n## 0.9.0\n"
	cases := map[string]struct {
		reason, version, want string
		missing               bool
	}{
		"WithDate":   {reason: "The heading of a section may have a date.", version: "1.1.0", want: "### Added\n\n* More.\n"},
		"WithLink":   {reason: "The version in a heading may be a link.", version: "1.0.0", want: "* First.\n"},
		"Unreleased": {reason: "The notes of a draft are the unreleased changes.", version: "Unreleased", want: "* New.\n"},
		"Missing":    {reason: "A version without a section is an error.", version: "2.0.0", missing: true},
		"Empty":      {reason: "A version with an empty section is an error.", version: "0.9.0", missing: true},
		"Prefix":     {reason: "A prefix of a version does not match its section.", version: "1.0", missing: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := section(changes, tc.version)
			if got != tc.want || errors.Is(err, errNoSection) != tc.missing {
				t.Errorf("%s\nsection(%s) returned %q, %v; want %q", tc.reason, tc.version, got, err, tc.want)
			}
		})
	}
}

// TestFolder verifies that the archive of a folder depends on names and contents alone.
func TestFolder(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		path := filepath.Join(dir, "a", "b")
		if err := os.MkdirAll(filepath.Dir(path), 0o700+0o044*os.FileMode(i)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content"), 0o600+0o044*os.FileMode(i)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(i)*1000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	first, err := folder(dirs[0], "p", time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	second, err := folder(dirs[1], "p", time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Error("modes or times of the files differ in the archive")
	}
}
