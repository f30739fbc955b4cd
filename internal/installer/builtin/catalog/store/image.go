package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// imageOrigin is a file-based catalog in an image.
type imageOrigin struct {
	quiet

	key    types.NamespacedName
	image  string
	access access
	disk   *disk

	// demand is the hash of the ImagePolicies' requirements for the image, or empty.
	demand string

	// current is the last reading by this origin. An earlier reading may have used other pull secrets.
	current *reading

	// unusable is the permanent error of the image with unusableDigest, which is not pulled again.
	unusable       error
	unusableDigest string
}

// read resolves the image. It pulls the image only if its content is neither known nor on disk.
func (o *imageOrigin) read(ctx context.Context, known *reading) (*reading, error) {
	p := pull{origin: o, known: known}
	err := o.access.ask(ctx, catalog.Request{Image: o.image}, nil, p.take)
	if p.kept != nil {
		defer p.kept.close()
	}
	switch {
	case p.digest == "": // it was not resolved, or lacks a required signature
		if known == nil {
			known = o.fromBefore()
		}
		return o.usable(known), err
	case err == nil && p.kept == nil:
		return known, nil
	}
	var release func()
	if err == nil {
		release, err = p.kept.finish()
	}
	if err != nil {
		if catalog.AsError(err, v1alpha1.ReasonImagePullFailed).Permanent() {
			o.unusable, o.unusableDigest = err, p.digest
		}
		return o.usable(known), err
	}
	o.current = o.reading(use{o.image, p.digest, o.demand, p.signedBy}, p.kept.content, release)
	return o.current, nil
}

// usable returns known, or nil if it was read under another demand. Without a demand, any reading is usable.
func (o *imageOrigin) usable(known *reading) *reading {
	if known != nil && o.demand != "" && known.demand != o.demand {
		return nil
	}
	return known
}

// fromBefore restores the CatalogSource's reading of an earlier run of the manager from disk, or returns nil.
func (o *imageOrigin) fromBefore() *reading {
	last := o.disk.last(o.key, o.image)
	release := o.disk.hold(last.Digest)
	content, err := o.disk.read(last.Digest, o.access.limits)
	if err != nil {
		release()
		return nil
	}
	return o.reading(last, content, release)
}

func (o *imageOrigin) reading(u use, content *catalog.Content, release func()) *reading {
	return &reading{
		content:  content,
		stored:   o.disk.size(u.Digest),
		from:     u.Digest,
		demand:   u.Demand,
		signedBy: u.SignedBy,
		access:   o.access,
		ask: func(_ context.Context, request *catalog.Request) (io.ReadCloser, error) {
			kept, err := o.disk.bundle(u.Digest, request.Bundle)
			if err != nil {
				return nil, catalog.Errorf(v1alpha1.ReasonUnreachable, "the stored content of image %s cannot be read: %w", o.image, err)
			}
			return kept, nil
		},
		accepted: func() error { return o.disk.remember(o.key, u) },
		done:     release,
	}
}

// pull is one attempt to read an image.
type pull struct {
	origin *imageOrigin
	known  *reading

	// digest of the image and the authorities that signed it; empty until the image is resolved.
	digest, signedBy string

	// kept is the content, unless it is known already.
	kept *keeping
}

// take processes one answer.
func (p *pull) take(c *conversation, a catalog.Answer) error {
	switch {
	case a.Resolved != nil && p.digest == "":
		p.signedBy = a.Resolved.SignedBy
		return p.resolved(c, a.Resolved.Digest)
	case p.kept == nil || p.kept.answers == nil:
		return errors.New("the image reader sent an unexpected answer")
	case a.Kept != nil:
		return p.keep(c, a.Kept)
	}
	return p.kept.add(a)
}

// resolved decides whether to pull the image. An image on disk is not pulled again: resolving it with the pull secrets
// shows that the CatalogSource may read it.
func (p *pull) resolved(c *conversation, digest string) error {
	o := p.origin
	p.digest = digest
	switch {
	case p.known != nil && p.known == o.current && p.known.from == digest:
		return c.send(catalog.Verdict{})
	case o.unusableDigest == digest:
		return errors.Join(c.send(catalog.Verdict{}), o.unusable)
	}
	var stored bool
	var err error
	if p.kept, stored, err = o.disk.keep(digest, o.access.limits); err != nil {
		return err
	}
	return c.send(catalog.Verdict{Read: !stored})
}

// keep copies a bundle from the scratch file of the reader process to the disk.
func (p *pull) keep(c *conversation, b *catalog.KeptBundle) error {
	if b.Size < 0 || b.Offset < 0 || b.Size > p.origin.access.limits.CatalogFile {
		return catalog.Errorf(v1alpha1.ReasonTooLarge, "bundle %s is larger than the limit for a file", b.Name)
	}
	f, err := os.OpenFile(filepath.Join(p.kept.dir, bundleFile(b.Package, b.Name)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("storing the catalog: %w", err)
	}
	_, err = io.Copy(f, io.NewSectionReader(c.scratch(), b.Offset, b.Size))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("storing the catalog: %w", err)
	}
	return nil
}
