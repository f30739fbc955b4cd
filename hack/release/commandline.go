package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// program is the name of the command line's program, by which kubectl finds the plugin operator-status.
const program = "kubectl-operator_status"

// target is a platform that the command line is built for.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// commandLineTo writes an archive of the command line for each target, and the manifest by which krew installs it.
func commandLineTo(ctx context.Context, o options, targets ...target) error {
	manifest := krewManifest(o)
	for _, t := range targets {
		archive, err := buildCommandLine(ctx, o, t)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s-%s-%s.tar.gz", program, o.version, t.os, t.arch)
		if err := os.WriteFile(filepath.Join(o.out, name), archive, 0o644); err != nil {
			return err
		}
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, krewPlatform{
			Selector: krewSelector{map[string]string{"os": t.os, "arch": t.arch}},
			URI:      fmt.Sprintf("%s/releases/download/v%s/%s", source, o.version, name),
			SHA256:   fmt.Sprintf("%x", sha256.Sum256(archive)), Bin: t.file(),
		})
	}
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("writing the manifest for krew: %w", err)
	}
	return os.WriteFile(filepath.Join(o.out, manifest.Metadata.Name+".yaml"), text, 0o644) // krew requires that name
}

// file returns the name of the program's file.
func (t target) file() string {
	if t.os == "windows" {
		return program + ".exe"
	}
	return program
}

// buildCommandLine returns an archive of the command line for a target, with the license.
func buildCommandLine(ctx context.Context, o options, t target) ([]byte, error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, fmt.Errorf("creating a folder for the command line: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // of no use afterwards
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X "+module+"/internal/cli.Version="+o.version, "-o", filepath.Join(dir, t.file()), "./cmd/"+program)
	build.Dir = o.dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	if _, err := output(build); err != nil {
		return nil, fmt.Errorf("building the command line for %s/%s: %w", t.os, t.arch, err)
	}
	license, err := os.ReadFile(filepath.Join(o.dir, "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("reading the license: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), license, 0o644); err != nil {
		return nil, err
	}
	files, err := folder(dir, "", o.created)
	if err != nil {
		return nil, err
	}
	out := &bytes.Buffer{}
	w := gzip.NewWriter(out)
	if _, err := w.Write(files); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil { // it writes the rest
		return nil, err
	}
	return out.Bytes(), nil
}

// plugin is the manifest of a plugin of kubectl: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Platforms        []krewPlatform `json:"platforms"`
	} `json:"spec"`
}

type krewPlatform struct {
	Selector krewSelector `json:"selector"`
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Bin      string       `json:"bin"`
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

func krewManifest(o options) plugin {
	out := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin"}
	out.Metadata.Name = "operator-status"
	out.Spec.Version, out.Spec.Homepage = "v"+o.version, source
	out.Spec.ShortDescription = "Show what holds or breaks operators"
	out.Spec.Description = strings.Join([]string{
		"Shows whether the operators of a cluster run and are up to date, what holds",
		"or breaks them, since when, and what to do. It reads what OLM reports, with",
		"your own permissions; operator-status need not be installed.",
	}, "\n")
	return out
}
