package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// Images that bundle/ and catalog/ refer to, with the tag of the version. A release refers to those that it consists of, by digest.
const (
	bundledImage   = "ghcr.io/operator-status/operator-status:v"
	catalogedImage = "ghcr.io/operator-status/operator-status-bundle:v"
)

// onlyBundle builds the image of the bundle as it is in the repository.
func onlyBundle(_ context.Context, o options) error {
	_, err := bundleTo(o, "")
	return err
}

// onlyCatalog builds the image of the catalog as it is in the repository.
func onlyCatalog(_ context.Context, o options) error {
	return catalogTo(o, "", "")
}

// bundleTo writes the image of the bundle, which refers to that of the manager, and returns its reference. An empty manager
// leaves the reference in the bundle as it is.
func bundleTo(o options, manager string) (string, error) {
	dir, err := os.MkdirTemp("", "bundle")
	if err != nil {
		return "", fmt.Errorf("creating a folder for the bundle: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()                          // of no use afterwards
	for _, part := range []string{"manifests", "metadata", "tests"} { // as bundle.Dockerfile does
		old := ""
		if part == "manifests" {
			old = bundledImage + o.version
		}
		if err := replaced(filepath.Join(o.dir, "bundle", part), filepath.Join(dir, part), old, manager); err != nil {
			return "", err
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "metadata", "annotations.yaml"))
	if err != nil {
		return "", fmt.Errorf("reading the metadata of the bundle (`make bundle` creates it): %w", err)
	}
	var metadata struct{ Annotations map[string]string }
	if err := yaml.Unmarshal(text, &metadata); err != nil {
		return "", fmt.Errorf("reading the metadata of the bundle: %w", err)
	}
	for key, value := range labels(o, "operator-status-bundle", "The bundle of operator-status for OLM") {
		metadata.Annotations[key] = value
	}
	return dataImage(o, "bundle", dir, "", metadata.Annotations)
}

// catalogTo writes the image of the catalog, which refers to those of the bundle and the manager. It contains data alone: a
// CatalogSource names the folder in spec.grpcPodConfig.extractContent.
func catalogTo(o options, manager, bundle string) error {
	half, err := os.MkdirTemp("", "catalog")
	if err != nil {
		return fmt.Errorf("creating a folder for the catalog: %w", err)
	}
	defer func() { _ = os.RemoveAll(half) }() // of no use afterwards
	dir := filepath.Join(half, "catalog")
	if err := replaced(filepath.Join(o.dir, "catalog"), filepath.Join(half, "half"), catalogedImage+o.version, bundle); err != nil {
		return err
	}
	if err := replaced(filepath.Join(half, "half"), dir, bundledImage+o.version, manager); err != nil {
		return err
	}
	all := labels(o, "operator-status-catalog", "A catalog with operator-status, for OLM")
	all["operators.operatorframework.io.index.configs.v1"] = "/configs"
	_, err = dataImage(o, "catalog", dir, "configs", all)
	return err
}

// replaced copies the files of a bundle or catalog with reference in place of old, which must occur unless it is empty.
func replaced(from, to, old, reference string) error {
	found := old == ""
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(content)
		found = found || strings.Contains(text, old)
		if old != "" && reference != "" {
			text = strings.ReplaceAll(text, old, reference)
		}
		return os.WriteFile(target, []byte(text), 0o644)
	})
	if err == nil && !found {
		err = fmt.Errorf("the file does not refer to %s: run `make bundle` with this VERSION and commit the result", old)
	}
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	return nil
}

// dataImage writes, and pushes, an image with the files of a folder, and returns its reference. It runs nowhere, so it has one
// platform like the images that docker builds.
func dataImage(o options, suffix, dir, prefix string, labels map[string]string) (string, error) {
	files, err := folder(dir, prefix, o.created)
	if err != nil {
		return "", err
	}
	image, err := fromScratch(o, architectures[0], files, v1.Config{Labels: labels})
	if err != nil {
		return "", err
	}
	if err := archive(o, "operator-status-"+suffix, image); err != nil {
		return "", err
	}
	repository := o.repository + "-" + suffix
	if o.push {
		tag, err := name.NewTag(repository + ":v" + o.version)
		if err == nil {
			err = remote.Write(tag, image, remote.WithAuthFromKeychain(authn.DefaultKeychain))
		}
		if err != nil {
			return "", fmt.Errorf("pushing %s: %w", repository, err)
		}
	}
	return pinned(repository, image)
}
