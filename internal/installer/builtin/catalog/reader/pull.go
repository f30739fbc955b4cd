package reader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// puller pulls images with the pull secrets of one CatalogSource.
type puller struct {
	secrets        pullSecrets
	limits         catalog.Limits
	requireDigests bool
	plaintext      bool
	transport      http.RoundTripper
}

// resolved is an image whose reference has been resolved.
type resolved struct {
	image string

	reference name.Reference

	// credentials that the registry accepted.
	credentials authn.Authenticator

	// Digest of the image, or of its index if it is for several platforms.
	digest string

	descriptor *remote.Descriptor
}

// answerTimeout limits the time to resolve an image. Pulling the content may take longer.
const answerTimeout = 30 * time.Second

// resolve resolves the reference of an image. The result is only usable until ctx is done.
func (p puller) resolve(ctx context.Context, image string) (*resolved, error) {
	var options []name.Option
	if p.plaintext {
		options = append(options, name.Insecure)
	}
	reference, err := catalog.ParseImage(image, options...)
	if err != nil {
		return nil, catalog.Errorf(v1alpha1.ReasonImagePullFailed, "%q is not a valid image reference: %w", image, err)
	}
	if _, byDigest := reference.(name.Digest); p.requireDigests && !byDigest {
		return nil, catalog.Errorf(v1alpha1.ReasonDigestRequired, "image %s is referred to by a tag, which can be moved to another image, and --require-digests "+
			"of the manager is set: refer to it as %s@sha256:…", image, reference.Context())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silent := catalog.Errorf(v1alpha1.ReasonImagePullFailed, "pulling image %s: the registry does not answer within %s", image, answerTimeout)
	answered := time.AfterFunc(answerTimeout, func() { cancel(silent) })
	defer answered.Stop()
	credentials, problems := p.secrets.credentials(reference.Context())
	for _, c := range credentials {
		var descriptor *remote.Descriptor
		descriptor, err = remote.Get(reference, append(p.options(ctx), remote.WithAuth(c))...)
		if err == nil {
			return &resolved{image: image, reference: reference, credentials: c, digest: descriptor.Digest.String(), descriptor: descriptor}, nil
		}
		if !refused(err) {
			break
		}
	}
	if errors.Is(context.Cause(ctx), silent) {
		return nil, silent
	}
	if refused(err) && len(problems) == 0 && credentials[0] == authn.Anonymous {
		problems = []string{"no Secret in spec.secrets has credentials for it"}
	}
	return nil, pullFailure(image, err, problems...)
}

// options returns the options of each request to a registry.
func (p puller) options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithUserAgent("operator-status"), remote.WithTransport(p.transport)}
}

// refused reports whether a registry rejected the credentials.
func refused(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
}

func pullFailure(image string, err error, problems ...string) error {
	if known, ok := err.(*catalog.Error); ok { //nolint:errorlint // it needs no other
		return known
	}
	if known, ok := errors.AsType[*catalog.Error](err); ok {
		return catalog.Errorf(known.Reason, "pulling image %s: %w", image, errors.Unwrap(known))
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		err = errors.New(answered(answer))
	}
	if len(problems) > 0 {
		return catalog.Errorf(v1alpha1.ReasonImagePullFailed, "pulling image %s: %w (%s)", image, err, strings.Join(problems, "; "))
	}
	return catalog.Errorf(v1alpha1.ReasonImagePullFailed, "pulling image %s: %w", image, err)
}

// answered describes an error response without quoting its body: the server need not be a registry, and a reader of the
// CatalogSource's status may not be allowed to read from that server.
func answered(answer *transport.Error) string {
	out := fmt.Sprintf("the registry returned %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	for _, d := range answer.Errors {
		if slices.Contains(registryCodes, d.Code) {
			return out + " (" + string(d.Code) + ")"
		}
	}
	return out
}

// registryCodes are the error codes of the distribution specification.
var registryCodes = []transport.ErrorCode{
	transport.BlobUnknownErrorCode, transport.DeniedErrorCode, transport.ManifestUnknownErrorCode, transport.NameInvalidErrorCode,
	transport.NameUnknownErrorCode, transport.TooManyRequestsErrorCode, transport.UnauthorizedErrorCode, transport.UnsupportedErrorCode,
	transport.UnavailableErrorCode,
}

// largestConfig limits the size of an image's config, in bytes.
const largestConfig = 4 << 20

// open returns the image and its config. Of an index, it chooses the image for our platform, or else the first image.
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
	switch c := manifest.Config.Size; {
	case packed > p.limits.Image:
		return nil, nil, catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s is larger than the limit of %s: it has %s", r.image, messages.Size(p.limits.Image),
			messages.Size(packed))
	case c < 0 || c > largestConfig: // a negative size would not limit reading
		return nil, nil, catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s: its config is larger than the limit of %s", r.image, messages.Size(largestConfig))
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
		return nil, fmt.Errorf("its index contains no images")
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
