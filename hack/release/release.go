package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// release builds everything.
func release(ctx context.Context, o options) error {
	if err := notesTo(o); err != nil { // first, since it fails at once
		return err
	}
	image, err := managerTo(ctx, o)
	if err != nil {
		return err
	}
	bundle, err := bundleTo(o, image)
	if err != nil {
		return err
	}
	if err := catalogTo(o, image, bundle); err != nil {
		return err
	}
	if err := commandLineTo(ctx, o, targets...); err != nil {
		return err
	}
	for _, m := range []struct {
		file, config string
		kinds        []string // all if empty
	}{
		{"crds.yaml", "crd", nil},
		{"install.yaml", "install", nil},
		{"crds-lifecycle.yaml", "lifecycle", []string{"CustomResourceDefinition"}},
		{"install-lifecycle.yaml", "install/lifecycle", nil},
		// Kinds that a bundle cannot contain.
		{"policies.yaml", "default", []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}},
	} {
		if err := manifestsTo(ctx, o, m.file, m.config, image, m.kinds); err != nil {
			return err
		}
	}
	return checksums(o.out)
}

// manifestsTo writes the objects of a folder in config that have one of the kinds, with the image of the release.
func manifestsTo(ctx context.Context, o options, file, config, image string, kinds []string) error {
	build := exec.CommandContext(ctx, filepath.Join(o.dir, "bin", "kustomize"), "build", filepath.Join(o.dir, "config", config))
	text, err := output(build)
	if err != nil {
		return err
	}
	out := &bytes.Buffer{}
	for i, object := range strings.Split(string(text), "\n---\n") {
		if len(kinds) > 0 && !ofKind(object, kinds) {
			continue
		}
		if i > 0 && out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.WriteString(strings.TrimRight(strings.ReplaceAll(object, "image: controller:latest", "image: "+image), "\n") + "\n")
	}
	return os.WriteFile(filepath.Join(o.out, file), out.Bytes(), 0o644)
}

// ofKind reports whether a manifest has one of the kinds.
func ofKind(object string, kinds []string) bool {
	for _, k := range kinds {
		if strings.Contains("\n"+object, "\nkind: "+k+"\n") {
			return true
		}
	}
	return false
}

// notesTo writes the release notes.
func notesTo(o options) error {
	text, err := os.ReadFile(filepath.Join(o.dir, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("reading the changes: %w", err)
	}
	notes, err := section(string(text), o.version)
	if errors.Is(err, errNoSection) && o.draft {
		notes, err = section(string(text), "Unreleased")
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "release-notes.md"), []byte(notes), 0o644)
}

var errNoSection = errors.New("no section")

// section returns the section of CHANGELOG.md about a version, without its heading, which may have a date after the version.
func section(changes, version string) (string, error) {
	out := &strings.Builder{}
	within, found := false, false
	for line := range strings.Lines(changes) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			fields := strings.Fields(heading)
			within = len(fields) > 0 && strings.Trim(fields[0], "[]") == version
			found = found || within
			continue
		}
		if within {
			out.WriteString(line)
		}
	}
	text := strings.TrimSpace(out.String())
	if !found || text == "" {
		return "", fmt.Errorf("%w about %s in CHANGELOG.md: rename the section Unreleased, or set DRAFT=1", errNoSection, version)
	}
	return text + "\n", nil
}
