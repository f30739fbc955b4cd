package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// fromScratch returns an image with one layer.
func fromScratch(o options, architecture string, files []byte, config v1.Config) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("creating a layer: %w", err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made := v1.Time{Time: o.created}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: made, CreatedBy: "hack/release"}})
	if err != nil {
		return nil, fmt.Errorf("adding a layer: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of an image: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", architecture, made, config
	return mutate.ConfigFile(image, file)
}

// archive writes an image, or an index of images, as an OCI layout in a tar archive.
func archive(o options, title string, of mutate.Appendable) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return fmt.Errorf("creating a folder for the layout: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // of no use afterwards
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("starting the layout of %s: %w", title, err)
	}
	name := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "v" + o.version})
	switch of := of.(type) {
	case v1.ImageIndex:
		err = path.AppendIndex(of, name)
	case v1.Image:
		err = path.AppendImage(of, name)
	}
	if err != nil {
		return fmt.Errorf("writing the layout of %s: %w", title, err)
	}
	content, err := folder(dir, "", o.created)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, fmt.Sprintf("%s-%s.oci.tar", title, o.version)), content, 0o644)
}

// folder returns an archive of the files in a folder, below a prefix, in a fixed order and with one modification time. Folders
// have no entries unless they contain files.
func folder(dir, prefix string, modified time.Time) ([]byte, error) {
	out := &bytes.Buffer{}
	w := tar.NewWriter(out)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir && prefix == "" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(filepath.Join(prefix, name)), Mode: 0o644, ModTime: modified, Typeflag: tar.TypeReg}
		var content []byte
		if d.IsDir() {
			h.Name, h.Mode, h.Typeflag = h.Name+"/", 0o755, tar.TypeDir
		} else if content, err = os.ReadFile(path); err != nil {
			return err
		} else if info, err := d.Info(); err != nil {
			return err
		} else if info.Mode()&0o111 != 0 {
			h.Mode = 0o755
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("archiving %s: %w", dir, err)
	}
	return out.Bytes(), nil
}

// checksums writes checksums.txt, in the format of sha256sum.
func checksums(out string) error {
	files, err := os.ReadDir(out)
	if err != nil {
		return fmt.Errorf("listing the release: %w", err)
	}
	list := &strings.Builder{}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(out, f.Name()))
		if err != nil {
			return fmt.Errorf("computing checksums: %w", err)
		}
		fmt.Fprintf(list, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return os.WriteFile(filepath.Join(out, "checksums.txt"), []byte(list.String()), 0o644)
}
