package catalog

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// puller pulls images with the pull secrets of one CatalogSource.
type puller struct {
	secrets pullSecrets
	limits  Limits
}

// resolved is what an image's reference stood for when it was looked at.
type resolved struct {
	image string

	// Digest of the image, or of the list of images for several platforms.
	digest string

	descriptor *remote.Descriptor
}

// resolve asks the registry what an image's reference stands for. The answer ends with ctx.
func (p puller) resolve(ctx context.Context, image string) (*resolved, error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return nil, failure(v1alpha1.ReasonImagePullFailed, "%q names no image: %w", image, err)
	}
	credentials, problems := p.secrets.credentials(ctx, reference.Context())
	for _, c := range credentials {
		var descriptor *remote.Descriptor
		descriptor, err = remote.Get(reference, remote.WithContext(ctx), remote.WithAuth(c), remote.WithUserAgent("operator-status"))
		if err == nil {
			return &resolved{image: image, digest: descriptor.Digest.String(), descriptor: descriptor}, nil
		}
		if !refused(err) {
			break
		}
	}
	if refused(err) && len(problems) == 0 && credentials[0] == authn.Anonymous {
		problems = []string{"spec.secrets names no Secret with credentials for it"}
	}
	return nil, pullFailure(image, err, problems...)
}

// refused is true where a registry wants other credentials.
func refused(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
}

func pullFailure(image string, err error, problems ...string) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if len(problems) > 0 {
		return failure(v1alpha1.ReasonImagePullFailed, "pulling image %s: %w (%s)", image, err, strings.Join(problems, "; "))
	}
	return failure(v1alpha1.ReasonImagePullFailed, "pulling image %s: %w", image, err)
}

// open is the image itself: that of our platform where there are several, or else the first.
func (p puller) open(r *resolved) (v1.Image, *v1.ConfigFile, error) {
	image, err := p.choose(r)
	if err != nil {
		return nil, nil, pullFailure(r.image, err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return nil, nil, pullFailure(r.image, err)
	}
	var packed int64
	for _, layer := range manifest.Layers {
		packed += max(layer.Size, 0)
	}
	if packed > p.limits.Image || manifest.Config.Size > p.limits.CatalogFile {
		return nil, nil, failure(v1alpha1.ReasonTooLarge, "image %s is larger than the limit of %s: it has %s", r.image, size(p.limits.Image), size(packed))
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, nil, pullFailure(r.image, err)
	}
	return image, config, nil
}

func (p puller) choose(r *resolved) (v1.Image, error) {
	if !r.descriptor.MediaType.IsIndex() {
		return r.descriptor.Image()
	}
	index, err := r.descriptor.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	images := slices.DeleteFunc(slices.Clone(manifest.Manifests), func(d v1.Descriptor) bool {
		return !d.MediaType.IsImage() || d.Platform != nil && d.Platform.OS == "unknown" // an attestation
	})
	if len(images) == 0 {
		return nil, fmt.Errorf("it is a list of no images")
	}
	chosen := images[0]
	for _, d := range images {
		if d.Platform != nil && d.Platform.OS == runtime.GOOS && d.Platform.Architecture == runtime.GOARCH {
			chosen = d
			break
		}
	}
	return index.Image(chosen.Digest)
}

// file is a regular file of an image.
type file struct {
	// path from the root of the image, without a leading slash.
	path string
	size int64
}

// unpack gives every regular file of an image to take, with the layers put on top of each other. It fails where the
// whole image has more bytes than most, and where the image points outside itself.
func unpack(ctx context.Context, image v1.Image, most int64, take func(file, io.Reader) error) error {
	whole := mutate.Extract(image)
	defer func() { _ = whole.Close() }() // ends its goroutine; there is nothing to lose
	counted := &capped{r: whole, left: most, ctx: ctx}
	archive := tar.NewReader(counted)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			// mutate ends the archive even where a layer cannot be read to its end, and says so behind that.
			_, err := io.Copy(io.Discard, counted)
			return outside(err)
		}
		if err != nil {
			return outside(err)
		}
		if err := visit(header, archive, take); err != nil {
			return err
		}
	}
}

func visit(header *tar.Header, content io.Reader, take func(file, io.Reader) error) error {
	clean := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
	if slices.Contains(strings.Split(header.Name, "/"), "..") {
		return fmt.Errorf("%w by %q", errOutside, header.Name)
	}
	switch header.Typeflag {
	case tar.TypeReg:
		return take(file{path: clean, size: header.Size}, content)
	case tar.TypeSymlink, tar.TypeLink:
		return take(file{path: clean, size: -1}, nil)
	}
	return nil // folders come with their files, and devices are no content
}

// isLink is true for a link, which has no content and is never followed.
func (f file) isLink() bool { return f.size < 0 }

// below is the path of a file from a folder on, and whether the file is in it.
func (f file) below(folder string) (string, bool) {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder == "" {
		return f.path, true
	}
	if f.isLink() && (f.path == folder || strings.HasPrefix(folder, f.path+"/")) {
		return "", true // the folder itself is a link, or in one
	}
	return strings.CutPrefix(f.path, folder+"/")
}

// errOutside is that an archive points outside itself.
var errOutside = errors.New("the image points outside its archive")

// outside is err as errOutside where it is what mutate says of such an archive.
func outside(err error) error {
	if err == nil {
		return nil
	}
	if _, name, ok := strings.Cut(err.Error(), "unsafe tar path "); ok {
		return fmt.Errorf("%w by %s", errOutside, name)
	}
	return err
}

// errTooMuch is that something has more bytes than were to be read.
var errTooMuch = errors.New("more than was to be read")

// capped reads until ctx ends or there is more than is left.
type capped struct {
	r    io.Reader
	left int64
	ctx  context.Context
}

func (c *capped) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}
