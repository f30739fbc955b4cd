package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// imageOrigin is a file-based catalog in an image.
type imageOrigin struct {
	quiet

	key    types.NamespacedName
	image  string
	access access
	disk   *disk

	// current is what this origin read last: another may have had other pull secrets.
	current *reading

	// unusable is why the image of unusableDigest is of no use: it need not be pulled again.
	unusable       error
	unusableDigest string
}

// read has the image resolved, and pulled where it is not what is known, and not on the disk.
func (o *imageOrigin) read(ctx context.Context, known *reading) (*reading, error) {
	p := pull{origin: o, known: known}
	defer p.close()
	err := o.access.ask(ctx, Request{Image: o.image}, nil, p.take)
	if p.digest == "" { // it was not even resolved
		if known == nil {
			known = o.fromBefore()
		}
		return known, err
	}
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		if AsError(err, v1alpha1.ReasonImagePullFailed).Permanent() {
			o.unusable, o.unusableDigest = err, p.digest
		}
		return known, err
	}
	if p.reading != known {
		o.current = p.reading
	}
	return p.reading, nil
}

// fromBefore is what the CatalogSource used when the manager ran last; nil where that is not there.
func (o *imageOrigin) fromBefore() *reading {
	digest := o.disk.last(o.key, o.image)
	release := o.disk.hold(digest)
	content, err := o.disk.read(digest, o.access.limits)
	if err != nil {
		release()
		return nil
	}
	return o.reading(digest, content, release)
}

func (o *imageOrigin) reading(digest string, content *Content, release func()) *reading {
	return &reading{
		content: content,
		from:    digest,
		access:  o.access,
		ask: func(_ context.Context, request *Request) (io.ReadCloser, error) {
			kept, err := o.disk.bundle(digest, request.Bundle)
			if err != nil {
				return nil, Errorf(v1alpha1.ReasonUnreachable, "what was kept of image %s cannot be read: %w", o.image, err)
			}
			return kept, nil
		},
		accepted: func() error { return o.disk.remember(o.key, use{Image: o.image, Digest: digest}) },
		done:     release,
	}
}

// pull is one try to read an image.
type pull struct {
	origin *imageOrigin
	known  *reading

	// digest of the image; empty until it is resolved.
	digest string

	// reading is what the digest stands for, if that is on the disk.
	reading *reading

	// What is pulled is written to a folder, and the answers to a file in it.
	release func()
	dir     string
	content *Content
	answers *os.File
}

// take takes up one answer.
func (p *pull) take(c *conversation, a Answer) error {
	if a.Digest != "" && p.digest == "" {
		return p.resolved(c, a.Digest)
	}
	if p.content == nil {
		return errors.New("the process that reads images answers what it was not asked for")
	}
	p.content.add(a)
	if a.Kept != nil {
		return p.keep(c, a.Kept)
	}
	return json.NewEncoder(p.answers).Encode(a)
}

// resolved decides whether the image is to be pulled. Whoever may resolve an image may read it, so one that is on the disk is not.
func (p *pull) resolved(c *conversation, digest string) error {
	o := p.origin
	p.digest = digest
	switch {
	case p.known != nil && p.known == o.current && p.known.from == digest:
		p.reading = p.known
		return c.send(Verdict{})
	case o.unusableDigest == digest:
		return errors.Join(c.send(Verdict{}), o.unusable)
	}
	p.release = o.disk.hold(digest)
	if content, err := o.disk.read(digest, o.access.limits); err == nil {
		p.reading = o.reading(digest, content, p.release)
		p.release = nil
		return c.send(Verdict{})
	}
	var err error
	if p.dir, err = o.disk.folder(); err != nil {
		return err
	}
	if p.answers, err = os.Create(filepath.Join(p.dir, contentFile)); err != nil {
		return fmt.Errorf("keeping the catalog: %w", err)
	}
	p.content = newContent()
	return c.send(Verdict{Read: true})
}

// keep copies a bundle from the scratch file of the process that read it.
func (p *pull) keep(c *conversation, b *KeptBundle) error {
	if b.Size < 0 || b.Offset < 0 || b.Size > p.origin.access.limits.CatalogFile {
		return Errorf(v1alpha1.ReasonTooLarge, "bundle %s is larger than the limit for a file", b.Name)
	}
	f, err := os.OpenFile(filepath.Join(p.dir, bundleFile(b.Package, b.Name)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keeping the catalog: %w", err)
	}
	_, err = io.Copy(f, io.NewSectionReader(c.scratch(), b.Offset, b.Size))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keeping the catalog: %w", err)
	}
	return nil
}

// finish makes a reading of what was pulled.
func (p *pull) finish() error {
	if p.content == nil {
		return nil // it was there
	}
	err := p.answers.Close()
	p.answers = nil
	if err != nil {
		return fmt.Errorf("keeping the catalog: %w", err)
	}
	if err := p.origin.disk.add(p.digest, p.dir); err != nil {
		return err
	}
	p.reading = p.origin.reading(p.digest, p.content, p.release)
	p.release = nil
	return nil
}

// close gives up what finish did not take.
func (p *pull) close() {
	if p.answers != nil {
		_ = p.answers.Close() // it goes
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir) // the next start removes what is left
	}
	if p.release != nil {
		p.release()
	}
}
