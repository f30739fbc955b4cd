package reader

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"

	"github.com/operator-status/operator-status/internal/messages"
)

// file is a regular file or a link of an image.
type file struct {
	// path from the root of the image, without a leading slash.
	path string

	// size is below 0 for a link.
	size int64
}

// isLink is true for a link, which has no content and is never followed.
func (f file) isLink() bool { return f.size < 0 }

// below is the path of a file from a folder on, and whether the file is in it.
func (f file) below(folder string) (string, bool) {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder == "" {
		return f.path, true
	}
	if f.isLink() && holds(f.path, folder) {
		return "", true // the folder itself is a link, or in one
	}
	return strings.CutPrefix(f.path, folder+"/")
}

// holds is true where a path is that of a folder, or of one that it is in.
func holds(outer, folder string) bool { return outer == folder || strings.HasPrefix(folder, outer+"/") }

// concerns says which paths have to do with a folder of an image: those in it, and those of the folders that it is in.
func concerns(folder string) func(path string) bool {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	return func(p string) bool {
		return folder == "" || holds(p, folder) || strings.HasPrefix(p, folder+"/")
	}
}

// unpacker puts the layers of an image on top of each other. What it remembers and what it reads is bounded, whatever the
// image is made of.
type unpacker struct {
	// wanted tells which paths matter; nil for all. Of others nothing is remembered.
	wanted func(path string) bool

	// paths is how many that matter there may be, and bytes how many all layers may have together, unpacked.
	paths int
	bytes int64

	// take is given every regular file and link that matters and that no upper layer hides.
	take func(file, io.Reader) error

	// hidden are the paths that an upper layer has a file at, or has removed: what a lower one has there, or below it, is
	// gone. emptied are the folders that an upper layer has emptied.
	hidden, emptied map[string]bool
}

// longestPath is how long a path can be on the systems that images are for.
const longestPath = 4096

// unpack goes through the layers, the uppermost first.
func (u *unpacker) unpack(ctx context.Context, image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	u.hidden, u.emptied = map[string]bool{}, map[string]bool{}
	for _, layer := range slices.Backward(layers) {
		if err := u.layer(ctx, layer); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) layer(ctx context.Context, layer v1.Layer) error {
	packed, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = packed.Close() }() // only read
	content, err := decompressed(packed)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // only read
	counted := &capped{ctx: ctx, r: content, left: &u.bytes}
	archive := tar.NewReader(counted)
	var emptied []string // in the layers below this one
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, tar.ErrHeader) {
			return noArchive(counted)
		}
		if err != nil {
			return err
		}
		folder, err := u.entry(header, archive)
		if err != nil {
			return err
		}
		emptied = append(emptied, folder...)
	}
	for _, folder := range emptied {
		u.emptied[folder] = true
	}
	_, err = io.Copy(io.Discard, counted) // at its very end it turns out whether the layer is what the manifest says
	return err
}

// noArchive is why a layer is of no use that is no archive, once it has been read to its end: it may be that it was not
// what was asked for.
func noArchive(rest io.Reader) error {
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return err
	}
	return unfit("a layer of the image is no archive of files")
}

// largestWindow is how much of what was there before an archive in zstd may refer to, all of which has to be in memory.
// Builders of images use a quarter of that.
const largestWindow = 32 << 20

// decompressed is an archive without what it is packed in: gzip, zstd or nothing.
func decompressed(packed io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReader(packed)
	magic, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(in)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		out, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(largestWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return out.IOReadCloser(), nil
	}
	return io.NopCloser(in), nil
}

// Names by which a layer removes a file of those below it, or all that is in a folder of those.
const (
	whiteout = ".wh."
	emptying = ".wh..wh..opq"
)

// entry takes one entry of a layer. It returns the folder that it empties, if it does.
func (u *unpacker) entry(header *tar.Header, content io.Reader) (emptied []string, err error) {
	name := path.Clean(header.Name)
	if name == ".." || strings.HasPrefix(name, "../") {
		return nil, unfit(fmt.Sprintf("the image points outside its archive by %q", messages.Clip(name, 200)))
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	folder, base := path.Split(name)
	removed := false
	if base == emptying {
		name = path.Clean(folder)
	} else if base, removed = strings.CutPrefix(base, whiteout); removed {
		name = folder + base
	}
	if header.Typeflag == tar.TypeDir || name == "" || u.wanted != nil && !u.wanted(name) {
		return nil, nil // folders come with their files
	}
	if len(name) > longestPath {
		return nil, unfit(fmt.Sprintf("the image has an entry whose name is %d bytes long: %s", len(name), messages.Clip(name, 200)))
	}
	switch {
	case base == emptying:
		return []string{name}, u.remember()
	case u.isHidden(name):
		return nil, nil
	}
	u.hidden[name] = true
	if err := u.remember(); err != nil || removed {
		return nil, err
	}
	switch header.Typeflag {
	case tar.TypeReg:
		return nil, u.take(file{path: name, size: header.Size}, content)
	case tar.TypeSymlink, tar.TypeLink:
		return nil, u.take(file{path: name, size: -1}, nil)
	}
	return nil, nil // devices are no content
}

// remember counts what has to be remembered.
func (u *unpacker) remember() error {
	if u.paths--; u.paths < 0 {
		return errTooMany
	}
	return nil
}

// isHidden is true where an upper layer hides a path.
func (u *unpacker) isHidden(name string) bool {
	if u.hidden[name] {
		return true
	}
	for at := path.Dir(name); ; at = path.Dir(at) {
		if u.hidden[at] || u.emptied[at] {
			return true
		}
		if at == "." {
			return false
		}
	}
}

// unfit is an archive that no image should be made of, in words.
type unfit string

func (u unfit) Error() string { return string(u) }

var (
	// errTooMuch is that something has more bytes than were to be read.
	errTooMuch = errors.New("more than was to be read")

	// errTooMany is that an image has more files than were to be read.
	errTooMany = errors.New("more files than were to be read")
)

// capped reads until ctx ends or there is more than is left.
type capped struct {
	ctx  context.Context
	r    io.Reader
	left *int64
}

func (c *capped) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if *c.left -= int64(n); *c.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}
