package reader

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Labels of a catalog image.
const (
	labelConfigs  = "operators.operatorframework.io.index.configs.v1"
	labelDatabase = "operators.operatorframework.io.index.database.v1"

	defaultConfigs = "/configs"
)

// image reads the file-based catalog of an image, or returns nil if the manager decides not to read it.
func (s *session) image(ctx context.Context) (*catalog.Content, error) {
	r, err := s.wanted(ctx, s.Image)
	if err != nil || r == nil {
		return nil, err
	}
	image, config, err := s.puller.open(r)
	if err != nil {
		return nil, err
	}
	labels := config.Config.Labels
	folder, ok := labels[labelConfigs]
	switch {
	case !ok && labels[labelDatabase] != "":
		return nil, catalog.Errorf(v1alpha1.ReasonNotACatalog,
			"image %s looks like an sqlite index image, which is not supported: convert it to a file-based catalog with `opm migrate`", s.Image)
	case !ok:
		folder = defaultConfigs
	}
	size, err := s.extract(ctx, image, folder)
	if err != nil {
		return nil, err
	}
	files, err := zip.NewReader(s.scratch, size)
	if err != nil {
		return nil, fmt.Errorf("image %s: reading the files of folder %s: %w", s.Image, folder, err)
	}
	b := newBuilder(s.Limits)
	b.keep = s.keepFrom(size)
	out, err := read(ctx, files, b)
	if err != nil {
		return nil, fmt.Errorf("image %s, folder %s: %w", s.Image, folder, err)
	}
	return out, nil
}

// extract writes the files below a folder of an image to a zip archive in the scratch file, and returns the size of the
// archive.
func (s *session) extract(ctx context.Context, image v1.Image, folder string) (int64, error) {
	end := &ending{w: io.NewOffsetWriter(s.scratch, 0)}
	archive := zip.NewWriter(end)
	var files int
	var total int64
	u := unpacker{wanted: concerns(folder), paths: s.Limits.CatalogFiles, bytes: s.Limits.Image}
	u.take = func(f file, r io.Reader) error {
		inside, ok := f.below(folder)
		if !ok {
			return nil
		}
		files++
		total += max(f.size, 0)
		switch {
		case f.isLink():
			return catalog.Errorf(v1alpha1.ReasonNotACatalog, "image %s: %s is a link, and links are not followed: replace it with the file", s.Image, f.path)
		case f.size > s.Limits.CatalogFile:
			return catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s: %s is larger than the limit of %s for a file", s.Image, f.path,
				messages.Size(s.Limits.CatalogFile))
		case total > s.Limits.Catalog:
			return catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s: the catalog in folder %s is larger than the limit of %s", s.Image, folder,
				messages.Size(s.Limits.Catalog))
		}
		w, err := archive.CreateHeader(&zip.FileHeader{Name: inside, Method: zip.Store})
		if err == nil {
			_, err = io.Copy(w, r)
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", inside, err)
		}
		return nil
	}
	err := u.unpack(ctx, image)
	if why, ok := errors.AsType[unfit](err); ok {
		return 0, catalog.Errorf(v1alpha1.ReasonNotACatalog, "image %s: %w", s.Image, why)
	}
	switch {
	case errors.Is(err, errTooMuch):
		return 0, catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s is larger than the limit of %s, unpacked", s.Image, messages.Size(s.Limits.Image))
	case errors.Is(err, errTooMany):
		return 0, catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s: the catalog in folder %s has more files than the limit of %d", s.Image, folder,
			s.Limits.CatalogFiles)
	case err != nil:
		return 0, pullFailure(s.Image, err)
	case files == 0:
		return 0, catalog.Errorf(v1alpha1.ReasonNotACatalog,
			"image %s has no files in folder %s, where a file-based catalog is expected unless label %s names another", s.Image, folder, labelConfigs)
	}
	if err := archive.Close(); err != nil {
		return 0, fmt.Errorf("unpacking image %s: %w", s.Image, err)
	}
	return end.size, nil
}

// ending counts the bytes written.
type ending struct {
	w    io.Writer
	size int64
}

func (e *ending) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	e.size += int64(n)
	return n, err
}

// keepFrom returns a function that appends bundles with objects to the scratch file, starting at an offset, and sends
// their location.
func (s *session) keepFrom(offset int64) func(*declcfg.Meta, declcfg.Bundle) error {
	var mu sync.Mutex
	return func(whole *declcfg.Meta, b declcfg.Bundle) error {
		mu.Lock()
		defer mu.Unlock()
		n, err := s.scratch.WriteAt(slices.Concat(whole.Blob, []byte("\n")), offset)
		if err != nil {
			return fmt.Errorf("storing bundle %s: %w", b.Name, err)
		}
		at := offset
		offset += int64(n)
		return s.send(catalog.Answer{Kept: &catalog.KeptBundle{Package: b.Package, Name: b.Name, Offset: at, Size: int64(n)}})
	}
}
