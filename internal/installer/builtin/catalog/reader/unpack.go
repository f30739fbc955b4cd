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

// file is a regular file or a link in an image.
type file struct {
	// path from the root of the image, without a leading slash.
	path string

	// size in bytes; negative for a link.
	size int64
}

// isLink reports whether the file is a link. A link has no content and is never followed.
func (f file) isLink() bool { return f.size < 0 }

// below returns the path of a file relative to a folder, and whether the file is in it.
func (f file) below(folder string) (string, bool) {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder == "" {
		return f.path, true
	}
	if f.isLink() && holds(f.path, folder) {
		return "", true // the folder itself, or a parent of it, is a link
	}
	return strings.CutPrefix(f.path, folder+"/")
}

// holds reports whether a path is that of a folder or one of its parents.
func holds(outer, folder string) bool { return outer == folder || strings.HasPrefix(folder, outer+"/") }

// concerns returns a function that reports whether a path is in a folder, or is that of the folder or one of its
// parents.
func concerns(folder string) func(path string) bool {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	return func(p string) bool {
		return folder == "" || holds(p, folder) || strings.HasPrefix(p, folder+"/")
	}
}

// unpacker merges the layers of an image. Both the memory and the bytes that it reads are limited, regardless of the
// image.
type unpacker struct {
	// wanted reports whether a path is relevant; nil means that all are. Irrelevant paths use no memory.
	wanted func(path string) bool

	// paths is the maximum number of relevant paths, and bytes the maximum size of all layers together, unpacked.
	paths int
	bytes int64

	// take is called with each relevant regular file and link that no upper layer hides.
	take func(file, io.Reader) error

	// hidden are the paths at which an upper layer has a file or a whiteout: these and all paths below them are hidden
	// in lower layers. emptied are the folders that an upper layer made opaque.
	hidden, emptied map[string]bool
}

// longestPath is the maximum length of a path on the systems that images are for, in bytes.
const longestPath = 4096

// unpack reads the layers, starting with the uppermost.
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
	defer func() { _ = packed.Close() }() // opened for reading
	content, err := decompressed(packed)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // opened for reading
	counted := &capped{ctx: ctx, r: content, left: &u.bytes}
	archive := tar.NewReader(counted)
	var emptied []string // applies to the layers below this one
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
	_, err = io.Copy(io.Discard, counted) // read to the end, where the digest is verified
	return err
}

// noArchive returns the error for a layer that is not an archive. It reads the rest first: if the digest does not
// match, that is the error.
func noArchive(rest io.Reader) error {
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return err
	}
	return unfit("a layer of the image is not a tar archive")
}

// largestWindow limits the window of zstd in bytes, which has to fit into memory. Image builders use a quarter of it.
const largestWindow = 32 << 20

// decompressed decompresses a layer: gzip, zstd or none.
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

// Names of whiteouts: for a file of a lower layer, and for the whole content of a folder in lower layers.
const (
	whiteout = ".wh."
	emptying = ".wh..wh..opq"
)

// entry processes one entry of a layer. It returns the folder that the entry makes opaque, if any.
func (u *unpacker) entry(header *tar.Header, content io.Reader) (emptied []string, err error) {
	name := path.Clean(header.Name)
	if name == ".." || strings.HasPrefix(name, "../") {
		return nil, unfit(fmt.Sprintf("the image has a path that points outside its archive: %q", messages.Clip(name, 200)))
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
		return nil, nil // folders are implied by their files
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
	return nil, nil // devices have no content
}

// remember counts a path against the limit.
func (u *unpacker) remember() error {
	if u.paths--; u.paths < 0 {
		return errTooMany
	}
	return nil
}

// isHidden reports whether an upper layer hides a path.
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

// unfit is an error about an archive that is not valid in an image.
type unfit string

func (u unfit) Error() string { return string(u) }

var (
	// errTooMuch means that the layers have more bytes than the limit.
	errTooMuch = errors.New("the layers exceed the size limit")

	// errTooMany means that an image has more files than the limit.
	errTooMany = errors.New("the image exceeds the limit of files")
)

// capped reads until ctx is done or the limit is exceeded. It decrements left by the bytes read.
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
