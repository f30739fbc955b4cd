package reader

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Where cosign stores signatures: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md, and
// BUNDLE_SPEC.md since version 3.
const (
	annotationSignature = "dev.cosignproject.cosign/signature"
	sigstoreBundle      = "application/vnd.dev.sigstore.bundle"

	// emptyConfig is the artifact type that a registry reports if it does not know the manifest's artifactType field.
	emptyConfig = "application/vnd.oci.empty.v1+json"
)

// Limits for the signatures of one image. Most images have a few, of a few KiB each, but any user who can push to the
// repository can add more.
const (
	maxSignatures     = 50
	largestSignature  = 256 << 10
	largestSignatures = 4 << 20
)

// signatures returns the signatures that the registry has for an image. They are not verified.
func (p puller) signatures(ctx context.Context, r *resolved) ([]catalog.Signature, error) {
	of := r.reference.Context().Digest(r.digest)
	s := signatures{image: r.image, left: largestSignatures, options: append(p.options(ctx), remote.WithAuth(r.credentials))}
	if err := s.tagged(of); err != nil {
		return nil, err
	}
	if err := s.referring(of); err != nil {
		return nil, err
	}
	return s.found, nil
}

// signatures collects signatures.
type signatures struct {
	image   string
	options []remote.Option
	found   []catalog.Signature
	left    int64
}

// tagged collects signatures of cosign before version 3, which are the layers of an image whose tag contains the
// digest.
func (s *signatures) tagged(of name.Digest) error {
	image, err := remote.Image(of.Context().Tag(strings.Replace(of.DigestStr(), ":", "-", 1)+".sig"), s.options...)
	if err != nil {
		return s.absent(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return pullFailure(s.image, err)
	}
	for _, layer := range manifest.Layers {
		signature, err := base64.StdEncoding.DecodeString(layer.Annotations[annotationSignature])
		if err != nil || len(signature) == 0 {
			continue // not a signature
		}
		payload, err := s.blob(of, layer)
		if err != nil {
			return err
		}
		if err := s.add(catalog.Signature{Simple: &catalog.SignedPayload{Payload: payload, Signature: signature}}); err != nil {
			return err
		}
	}
	return nil
}

// referring collects signatures of cosign since version 3, which are artifacts that refer to the image.
func (s *signatures) referring(of name.Digest) error {
	index, err := remote.Referrers(of, s.options...)
	if err != nil {
		return s.absent(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return pullFailure(s.image, err)
	}
	looked := 0
	for _, d := range manifest.Manifests {
		if d.ArtifactType != emptyConfig && !strings.HasPrefix(d.ArtifactType, sigstoreBundle) {
			continue
		}
		if looked++; looked > maxSignatures {
			return s.tooMany()
		}
		artifact, err := remote.Image(of.Context().Digest(d.Digest.String()), s.options...)
		if err != nil {
			return pullFailure(s.image, err)
		}
		if err := s.bundle(of, artifact); err != nil {
			return err
		}
	}
	return nil
}

// bundle collects the signatures of a Sigstore bundle.
func (s *signatures) bundle(of name.Digest, artifact v1.Image) error {
	manifest, err := artifact.Manifest()
	if err != nil {
		return pullFailure(s.image, err)
	}
	for _, layer := range manifest.Layers {
		if !strings.HasPrefix(string(layer.MediaType), sigstoreBundle) {
			continue
		}
		text, err := s.blob(of, layer)
		if err != nil {
			return err
		}
		var bundle struct {
			Envelope struct {
				Type       string `json:"payloadType"`
				Payload    []byte `json:"payload"`
				Signatures []struct {
					Signature []byte `json:"sig"`
				} `json:"signatures"`
			} `json:"dsseEnvelope"`
		}
		if json.Unmarshal(text, &bundle) != nil {
			continue // not a signature
		}
		e := bundle.Envelope
		for _, signature := range e.Signatures {
			err := s.add(catalog.Signature{DSSE: &catalog.SignedPayload{Type: e.Type, Payload: e.Payload, Signature: signature.Signature}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a signature. It returns an Error if the image has too many.
func (s *signatures) add(signature catalog.Signature) error {
	if len(s.found) == maxSignatures {
		return s.tooMany()
	}
	s.found = append(s.found, signature)
	return nil
}

func (s *signatures) tooMany() error {
	return catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s has more signatures than the limit of %d", s.image, maxSignatures)
}

// blob reads a layer of an artifact.
func (s *signatures) blob(of name.Digest, layer v1.Descriptor) ([]byte, error) {
	if s.left -= max(layer.Size, 1); layer.Size < 0 || layer.Size > largestSignature || s.left < 0 {
		return nil, catalog.Errorf(v1alpha1.ReasonTooLarge, "image %s: its signatures are larger than the limit of %s each and %s together",
			s.image, messages.Size(largestSignature), messages.Size(largestSignatures))
	}
	blob, err := remote.Layer(of.Context().Digest(layer.Digest.String()), s.options...)
	if err != nil {
		return nil, pullFailure(s.image, err)
	}
	content, err := blob.Compressed()
	if err != nil {
		return nil, pullFailure(s.image, err)
	}
	out, err := io.ReadAll(io.LimitReader(content, layer.Size+1)) // read to the end, since the digest is verified there
	if err := errors.Join(err, content.Close()); err != nil {
		return nil, pullFailure(s.image, fmt.Errorf("reading a signature: %w", err))
	}
	return out, nil
}

// absent returns nil if a registry does not have the artifact. Some registries respond to an unknown name with 401 or
// 403.
func (s *signatures) absent(err error) error {
	answer, ok := errors.AsType[*transport.Error](err)
	if ok && slices.Contains([]int{http.StatusNotFound, http.StatusForbidden, http.StatusUnauthorized}, answer.StatusCode) {
		return nil
	}
	return pullFailure(s.image, fmt.Errorf("looking for its signatures: %w", err))
}
