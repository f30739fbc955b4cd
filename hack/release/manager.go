package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/ko/pkg/build"
	"github.com/google/ko/pkg/publish"

	"github.com/operator-status/operator-status/hack/rootfs"
)

const (
	module = "github.com/operator-status/operator-status"
	source = "https://" + module
)

// architectures are those of the images.
var architectures = []string{"amd64", "arm64"}

// manager builds the images of the manager with ko, on a base without anything but package rootfs. It writes their SBOMs, and
// returns an index of all platforms.
func manager(ctx context.Context, o options) (build.Result, error) {
	base, err := base(o)
	if err != nil {
		return nil, err
	}
	scratch, err := name.ParseReference("scratch")
	if err != nil {
		return nil, err
	}
	settings := []build.Option{
		build.WithBaseImages(func(context.Context, string) (name.Reference, build.Result, error) { return scratch, base, nil }),
		build.WithPlatforms(platforms()...),
		build.WithTrimpath(true),
		// As in the Dockerfile. The revision is a label, since a build from an archive of the sources knows of none.
		build.WithDefaultFlags([]string{"-buildvcs=false"}),
		build.WithDefaultLdflags([]string{"-s", "-w", "-X", module + "/internal/manager.Version=" + o.version}),
		build.WithCreationTime(v1.Time{Time: o.created}),
		build.WithKoDataCreationTime(v1.Time{Time: o.created}),
		build.WithUser(rootfs.User),
		build.WithSPDX(o.version),
		build.WithSBOMDir(o.out),
	}
	for key, value := range labels(o, "operator-status", "Reports the status of the operators on a Kubernetes cluster, and holds updates until they are safe") {
		settings = append(settings, build.WithLabel(key, value), build.WithAnnotation(key, value))
	}
	builder, err := build.NewGo(ctx, o.dir, settings...)
	if err != nil {
		return nil, fmt.Errorf("starting ko: %w", err)
	}
	result, err := builder.Build(ctx, build.StrictScheme+module+"/cmd/manager")
	if err != nil {
		return nil, fmt.Errorf("building the image: %w", err)
	}
	return result, nil
}

// labels returns the labels and annotations that OCI defines.
func labels(o options, title, description string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         title,
		"org.opencontainers.image.description":   description,
		"org.opencontainers.image.source":        source,
		"org.opencontainers.image.url":           source,
		"org.opencontainers.image.documentation": source + "/tree/main/docs",
		"org.opencontainers.image.vendor":        "operator-status",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       o.version,
		"org.opencontainers.image.revision":      o.revision,
		"org.opencontainers.image.created":       o.created.Format("2006-01-02T15:04:05Z"),
	}
}

func platforms() (out []string) {
	for _, a := range architectures {
		out = append(out, "linux/"+a)
	}
	return out
}

// base returns the image that ko adds the manager to.
func base(o options) (v1.ImageIndex, error) {
	archive, err := rootfs.Tar(o.created)
	if err != nil {
		return nil, err
	}
	var out v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, a := range architectures {
		image, err := fromScratch(o, a, archive, v1.Config{User: rootfs.User, WorkingDir: "/"})
		if err != nil {
			return nil, err
		}
		out = mutate.AppendManifests(out, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: a}},
		})
	}
	return out, nil
}

// push pushes the images of the manager and their SBOMs.
func push(ctx context.Context, o options, result build.Result) error {
	registry, err := publish.NewDefault(o.repository,
		publish.WithTags([]string{"v" + o.version}), publish.WithNamer(func(base, _ string) string { return base }))
	if err != nil {
		return fmt.Errorf("connecting to the registry of %s: %w", o.repository, err)
	}
	if _, err := registry.Publish(ctx, result, build.StrictScheme+module+"/cmd/manager"); err != nil {
		return fmt.Errorf("pushing %s: %w", o.repository, err)
	}
	return registry.Close()
}

// onlyManager builds the images of the manager.
func onlyManager(ctx context.Context, o options) error {
	_, err := managerTo(ctx, o)
	return err
}

// managerTo writes the images of the manager and the binaries in them, and returns the reference of the index.
func managerTo(ctx context.Context, o options) (string, error) {
	result, err := manager(ctx, o)
	if err != nil {
		return "", err
	}
	index, ok := result.(v1.ImageIndex)
	if !ok {
		return "", errors.New("ko built one image instead of one for each platform")
	}
	if err := archive(o, "operator-status", index); err != nil {
		return "", err
	}
	if err := binaries(o, index); err != nil {
		return "", err
	}
	if o.push {
		if err := push(ctx, o, result); err != nil {
			return "", err
		}
	}
	return pinned(o.repository, index)
}

// pinned returns the reference of an image or index by its digest.
func pinned(repository string, image interface{ Digest() (v1.Hash, error) }) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("computing the digest of %s: %w", repository, err)
	}
	out := repository + "@" + digest.String()
	fmt.Println(out)
	return out, nil
}

// binaries writes the manager of each image to a file, so the same binaries run outside of containers.
func binaries(o options, index v1.ImageIndex) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading the index: %w", err)
	}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			return fmt.Errorf("reading the image for %s: %w", m.Platform, err)
		}
		if err := binary(image, filepath.Join(o.out, "manager-"+strings.ReplaceAll(m.Platform.String(), "/", "-"))); err != nil {
			return err
		}
	}
	return nil
}

// binary writes the manager of one image to a file.
func binary(image v1.Image, path string) error {
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }() // read as far as needed
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if err != nil {
			return fmt.Errorf("finding %s in the image: %w", rootfs.Manager, err)
		}
		if "/"+strings.TrimPrefix(h.Name, "/") != rootfs.Manager {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	}
}
