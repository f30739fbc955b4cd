package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Labels of a catalog image.
const (
	labelConfigs  = "operators.operatorframework.io.index.configs.v1"
	labelDatabase = "operators.operatorframework.io.index.database.v1"

	defaultConfigs = "/configs"
)

// imageOrigin is a file-based catalog in an image.
type imageOrigin struct {
	quiet

	key    types.NamespacedName
	image  string
	puller puller
	disk   *disk

	// current is what this origin read last: another may have had other pull secrets.
	current *reading

	// unusable is why the image of unusableDigest is of no use: it need not be pulled again.
	unusable       error
	unusableDigest string
}

// read resolves the image, and pulls it where it is not what is known, and not on the disk.
func (o *imageOrigin) read(ctx context.Context, known *reading) (*reading, error) {
	r, err := o.puller.resolve(ctx, o.image)
	if err != nil {
		if known == nil {
			known = o.fromBefore()
		}
		return known, err
	}
	if known != nil && known == o.current && known.from == r.digest {
		return known, nil
	}
	if o.unusableDigest == r.digest {
		return known, o.unusable
	}
	out, err := o.fetch(ctx, r)
	if err == nil {
		o.current = out
		return out, nil
	}
	if asError(err, v1alpha1.ReasonImagePullFailed).Permanent() {
		o.unusable, o.unusableDigest = err, r.digest
	}
	return known, err
}

// fromBefore is what the CatalogSource used when the manager ran last; nil where that is not there.
func (o *imageOrigin) fromBefore() *reading {
	digest := o.disk.last(o.key, o.image)
	release := o.disk.hold(digest)
	content, err := o.disk.read(digest, o.puller.limits)
	if err != nil {
		release()
		return nil
	}
	return o.reading(digest, content, release)
}

// fetch makes a reading of an image. Whoever may resolve it may read it, so one that is on the disk is not pulled.
func (o *imageOrigin) fetch(ctx context.Context, r *resolved) (*reading, error) {
	release := o.disk.hold(r.digest)
	content, err := o.disk.read(r.digest, o.puller.limits)
	if err != nil {
		err = o.disk.add(r.digest, func(dir string) (err error) {
			content, err = o.pull(ctx, r, dir)
			return err
		})
	}
	if err != nil {
		release()
		return nil, err
	}
	return o.reading(r.digest, content, release), nil
}

func (o *imageOrigin) reading(digest string, content *Content, release func()) *reading {
	return &reading{
		content:  content,
		from:     digest,
		texts:    func(_ context.Context, b *Bundle) ([]text, error) { return o.texts(digest, b) },
		puller:   o.puller,
		accepted: func() error { return o.disk.remember(o.key, use{Image: o.image, Digest: digest}) },
		done:     release,
	}
}

func (o *imageOrigin) texts(digest string, b *Bundle) ([]text, error) {
	out, err := o.disk.texts(digest, b)
	if err != nil {
		return nil, failure(v1alpha1.ReasonUnreachable, "what was kept of image %s cannot be read: %w", o.image, err)
	}
	return out, nil
}

// pull reads the file-based catalog of an image, and writes it to a folder in the form that a disk keeps.
func (o *imageOrigin) pull(ctx context.Context, r *resolved, dir string) (*Content, error) {
	image, config, err := o.puller.open(r)
	if err != nil {
		return nil, err
	}
	labels := config.Config.Labels
	folder, ok := labels[labelConfigs]
	switch {
	case !ok && labels[labelDatabase] != "":
		return nil, failure(v1alpha1.ReasonNotACatalog, "image %s looks like an sqlite index image, which is not supported: make it a file-based catalog with `opm migrate`", o.image)
	case !ok:
		folder = defaultConfigs
	}
	raw, err := os.MkdirTemp(dir, "raw")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the catalog: %w", err)
	}
	if err := o.extract(ctx, image, folder, raw); err != nil {
		return nil, err
	}
	b := newBuilder(o.puller.limits)
	b.keep = keepIn(dir)
	out, err := read(ctx, os.DirFS(raw), b)
	if err != nil {
		return nil, fmt.Errorf("image %s, folder %s: %w", o.image, folder, err)
	}
	return out, os.RemoveAll(raw)
}

// extract writes the files below a folder of an image to a folder on the disk.
func (o *imageOrigin) extract(ctx context.Context, image v1.Image, folder, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("opening the folder for the catalog: %w", err)
	}
	defer func() { _ = root.Close() }() // there is nothing to lose
	limits := o.puller.limits
	var files int
	var total int64
	u := unpacker{wanted: concerns(folder), paths: limits.CatalogFiles, bytes: limits.Image}
	u.take = func(f file, r io.Reader) error {
		inside, ok := f.below(folder)
		if !ok {
			return nil
		}
		files++
		total += max(f.size, 0)
		switch {
		case f.isLink():
			return failure(v1alpha1.ReasonNotACatalog, "image %s: %s is a link, and links are not followed: put the file itself there", o.image, f.path)
		case f.size > limits.CatalogFile:
			return failure(v1alpha1.ReasonTooLarge, "image %s: %s is larger than the limit of %s for a file", o.image, f.path, size(limits.CatalogFile))
		case total > limits.Catalog:
			return failure(v1alpha1.ReasonTooLarge, "image %s: the catalog in folder %s is larger than the limit of %s", o.image, folder, size(limits.Catalog))
		}
		return write(root, inside, r)
	}
	err = u.unpack(ctx, image)
	if why, ok := errors.AsType[unfit](err); ok {
		return failure(v1alpha1.ReasonNotACatalog, "image %s: %w", o.image, why)
	}
	switch {
	case errors.Is(err, errTooMuch):
		return failure(v1alpha1.ReasonTooLarge, "image %s is larger than the limit of %s, unpacked", o.image, size(limits.Image))
	case errors.Is(err, errTooMany):
		return failure(v1alpha1.ReasonTooLarge, "image %s: the catalog in folder %s has more files than the limit of %d", o.image, folder, limits.CatalogFiles)
	case err != nil:
		return pullFailure(o.image, err)
	case files == 0:
		return failure(v1alpha1.ReasonNotACatalog, "image %s has no files in folder %s, where a file-based catalog is expected unless label %s names another", o.image, folder, labelConfigs)
	}
	return nil
}

// write writes a file to a folder that it cannot leave.
func write(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
