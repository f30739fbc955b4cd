package catalogtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Key returns a new key as `cosign generate-key-pair` creates it, and its public key in PEM form.
func Key(t testing.TB) (crypto.Signer, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key, PublicKey(t, key)
}

// PublicKey returns the public key of a key in PEM form.
func PublicKey(t testing.TB, key crypto.Signer) string {
	t.Helper()
	text, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: text}))
}

// SimplePayload returns the payload that cosign signed before version 3.
func SimplePayload(digest string) []byte {
	return fmt.Appendf(nil,
		`{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest)
}

// Statement returns the statement that cosign signs since version 3, with that predicate type.
func Statement(digest, predicate string) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
		strings.TrimPrefix(digest, "sha256:"), predicate)
}

// Envelope returns the bytes that an envelope's signature covers.
func Envelope(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// SignatureOf returns the signature of a message.
func SignatureOf(t testing.TB, key crypto.Signer, message []byte) []byte {
	t.Helper()
	hash := sha256.Sum256(message)
	options, text := crypto.SignerOpts(crypto.SHA256), hash[:]
	if _, ok := key.(ed25519.PrivateKey); ok {
		options, text = crypto.Hash(0), message // Ed25519 signs the message itself
	}
	out, err := key.Sign(rand.Reader, text, options)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Sign signs an image of the registry as cosign did before version 3: in another image, whose tag contains the digest.
func (r *Registry) Sign(t testing.TB, image, digest string, key crypto.Signer) {
	t.Helper()
	payload := SimplePayload(digest)
	signatures, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(SignatureOf(t, key, payload))},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, r.reference(t, image).Context().Tag(strings.Replace(digest, ":", "-", 1)+".sig").String(), signatures)
}

// SignWithBundle signs an image of the registry as cosign does since version 3: in an artifact that refers to it.
func (r *Registry) SignWithBundle(t testing.TB, image, digest string, key crypto.Signer) {
	t.Helper()
	const bundleType, payloadType = "application/vnd.dev.sigstore.bundle.v0.3+json", "application/vnd.in-toto+json"
	payload := Statement(digest, "https://sigstore.dev/cosign/sign/v1")
	text, err := json.Marshal(map[string]any{"mediaType": bundleType, "dsseEnvelope": map[string]any{
		"payloadType": payloadType, "payload": payload,
		"signatures": []any{map[string]any{"sig": SignatureOf(t, key, Envelope(payloadType, payload))}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	subject, err := remote.Head(r.reference(t, image).Context().Digest(digest), r.auth())
	if err != nil {
		t.Fatal(err)
	}
	artifact, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.oci.empty.v1+json"),
		mutate.Addendum{Layer: static.NewLayer(text, bundleType)})
	if err != nil {
		t.Fatal(err)
	}
	out, ok := mutate.Subject(artifact, *subject).(v1.Image)
	if !ok {
		t.Fatalf("%T is no image", out)
	}
	r.write(t, r.reference(t, image).Context().Digest(digestOf(t, out)).String(), out)
}

func (r *Registry) write(t testing.TB, reference string, image v1.Image) {
	t.Helper()
	if err := remote.Write(r.reference(t, reference), image, r.auth()); err != nil {
		t.Fatal(err)
	}
}
