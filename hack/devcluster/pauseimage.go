package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pauseProgram is the recipe of the program in the pause image.
const pauseProgram = "pause"

func pauseImage(registry string) string { return registry + "/pause:latest" }

// pushPause pushes the image of the pod sandboxes to the cluster's registry.
func pushPause(ctx context.Context, c *cluster) error {
	return pushPrograms(ctx, c, pauseImage(c.registry()), "/", pauseProgram)
}

// pushPrograms pushes an image with built programs in a folder, of which the first is the entry point.
func pushPrograms(ctx context.Context, c *cluster, reference, folder string, programs ...string) error {
	image, err := imageOf(c.builder.bin, folder, programs...)
	if err != nil {
		return fmt.Errorf("building the image %s: %w", reference, err)
	}
	return push(ctx, reference, image)
}

// push pushes an image over plain HTTP.
func push(ctx context.Context, reference string, image v1.Image) error {
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return fmt.Errorf("pushing %s: %w", reference, err)
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("pushing %s: %w", reference, err)
	}
	return nil
}

// imageOf returns an image of this machine's architecture with static programs only, in a folder of the image. The first
// one is its entry point.
func imageOf(bin, folder string, programs ...string) (v1.Image, error) {
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	for _, program := range programs {
		content, err := os.ReadFile(filepath.Join(bin, program))
		if err != nil {
			return nil, err
		}
		if err := archive.WriteHeader(&tar.Header{Name: path.Join(folder, program)[1:], Mode: 0o755, Size: int64(len(content))}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint = []string{path.Join(folder, programs[0])}
	config.Config.Env = []string{"PATH=" + folder}
	return mutate.ConfigFile(image, config)
}
