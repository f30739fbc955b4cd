package store

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Types that cosign sets in the documents that it signs.
const (
	simpleSigningType  = "cosign container image signature"
	inTotoType         = "application/vnd.in-toto+json"
	cosignSignaturesV1 = "https://sigstore.dev/cosign/sign/v1"
)

// selector is an ImagePolicy with its prefixes.
type selector struct {
	policyv1alpha1.ImagePolicy
	all      bool
	prefixes []catalog.ImagePrefix
}

// selectorOf returns the selector of an ImagePolicy, or an Error if it has a prefix that no image can be compared with.
func selectorOf(p policyv1alpha1.ImagePolicy) (selector, error) {
	out := selector{ImagePolicy: p}
	for _, m := range p.Spec.MatchImages {
		if m.Prefix == policyv1alpha1.AllImages {
			out.all = true
			continue
		}
		prefix, err := catalog.ParseImagePrefix(m.Prefix)
		if err != nil {
			return out, catalog.Errorf(v1alpha1.ReasonImagePolicyInvalid, "ImagePolicy %s: prefix %q: %w", p.Name, m.Prefix, err)
		}
		out.prefixes = append(out.prefixes, prefix)
	}
	return out, nil
}

// match returns the length of the longest prefix of the policy that a repository has, or 0.
func (s selector) match(repository name.Repository) int {
	longest := 0
	if s.all {
		longest = 1
	}
	for _, p := range s.prefixes {
		longest = max(longest, p.Match(repository))
	}
	return longest
}

// applying returns the ImagePolicies that apply to an image: those whose prefix is the longest match of its repository. They are sorted by
// name. An image without a name that can be compared is an Error.
func applying(all []selector, image string) ([]policyv1alpha1.ImagePolicy, error) {
	reference, err := catalog.ParseImage(image)
	if err != nil {
		return nil, catalog.Errorf(v1alpha1.ReasonImagePullFailed, "%q is not a valid image reference: %w", image, err)
	}
	var out []policyv1alpha1.ImagePolicy
	longest := 0
	for _, s := range all {
		n := s.match(reference.Context())
		if n > longest {
			out, longest = nil, n
		}
		if n > 0 && n == longest {
			out = append(out, s.ImagePolicy)
		}
	}
	slices.SortFunc(out, func(a, b policyv1alpha1.ImagePolicy) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// selectorsOf returns the selectors of ImagePolicies, and by name the Errors of those that have none.
func selectorsOf(policies []policyv1alpha1.ImagePolicy) ([]selector, map[string]error) {
	valid, invalid := make([]selector, 0, len(policies)), map[string]error{}
	for _, p := range policies {
		s, err := selectorOf(p)
		if err != nil {
			invalid[p.Name] = err
			continue
		}
		valid = append(valid, s)
	}
	return valid, invalid
}

// policies returns the ImagePolicies that apply to an image. If one of all is invalid, it might be one of them, which is an Error.
func policies(all []policyv1alpha1.ImagePolicy, image string) ([]policyv1alpha1.ImagePolicy, error) {
	valid, invalid := selectorsOf(all)
	out, err := applying(valid, image)
	if err != nil {
		return nil, err
	}
	if names := slices.Sorted(maps.Keys(invalid)); len(names) > 0 {
		return nil, invalid[names[0]]
	}
	return out, nil
}

// signing determines which signatures the ImagePolicies require.
type signing struct{ reader client.Reader }

// of returns the ImagePolicies that apply to an image.
func (s signing) of(ctx context.Context, image string) ([]policyv1alpha1.ImagePolicy, error) {
	list := &policyv1alpha1.ImagePolicyList{}
	if err := s.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing the ImagePolicies: %w", err)
	}
	return policies(list.Items, image)
}

// demand returns a hash of the ImagePolicies' requirements for an image, or the empty string.
func (s signing) demand(ctx context.Context, image string) (string, error) {
	policies, err := s.of(ctx, image)
	if err != nil || len(policies) == 0 {
		return "", err
	}
	var all []any
	for _, p := range policies {
		all = append(all, p.Name, p.Spec.Verification)
	}
	text, err := json.Marshal(all)
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:]), err
}

// verify returns the authorities that signed an image, one for each ImagePolicy. If a policy is not satisfied, it
// returns an Error with reason SignatureMissing, SignatureInvalid or ImagePolicyInvalid.
func verify(image, digest string, signatures []catalog.Signature, policies []policyv1alpha1.ImagePolicy) (string, error) {
	var by []string
	for _, p := range policies {
		authority, err := verifyOne(digest, signatures, p.Spec.Verification.Cosign)
		if err != nil {
			reasoned := catalog.AsError(err, v1alpha1.ReasonSignatureInvalid)
			return "", catalog.Errorf(reasoned.Reason, "image %s at %s does not satisfy ImagePolicy %s: %w", image, digest, p.Name, err)
		}
		by = append(by, fmt.Sprintf("%s (ImagePolicy %s)", authority, p.Name))
	}
	return messages.List(by, 5, ", "), nil
}

// verifyOne returns the first authority that signed the digest.
func verifyOne(digest string, signatures []catalog.Signature, demand policyv1alpha1.CosignVerification) (string, error) {
	var names []string
	for _, a := range demand.Authorities {
		names = append(names, a.Name)
		key, err := publicKey(a.Key)
		if err != nil {
			return "", catalog.Errorf(v1alpha1.ReasonImagePolicyInvalid, "the key of authority %s: %w", a.Name, err)
		}
		if slices.ContainsFunc(signatures, func(s catalog.Signature) bool { return isOf(s, digest, key) }) {
			return a.Name, nil
		}
	}
	who := "authority " + messages.List(names, 5, " or ")
	if len(signatures) == 0 {
		return "", catalog.Errorf(v1alpha1.ReasonSignatureMissing, "the registry has no signature of it. It must be signed by %s: cosign sign --key", who)
	}
	return "", catalog.Errorf(v1alpha1.ReasonSignatureInvalid, "none of its %d signatures is by %s", len(signatures), who)
}

// publicKey decodes a key in PEM form.
func publicKey(text string) (crypto.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not in PEM format")
	}
	return x509.ParsePKIXPublicKey(block.Bytes)
}

// isOf reports whether the signature is valid for an image and made with the private key that belongs to key. The
// payload is only decoded after its signature is verified.
func isOf(s catalog.Signature, digest string, key crypto.PublicKey) bool {
	switch {
	case s.Simple != nil:
		return verifies(key, s.Simple.Payload, s.Simple.Signature) && simpleDigest(s.Simple.Payload) == digest
	case s.DSSE != nil && s.DSSE.Type == inTotoType:
		return verifies(key, preAuthentication(s.DSSE), s.DSSE.Signature) && slices.Contains(statedDigests(s.DSSE.Payload), digest)
	}
	return false
}

// preAuthentication returns the bytes that an envelope's signature covers:
// https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
func preAuthentication(p *catalog.SignedPayload) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(p.Type), p.Type, len(p.Payload), p.Payload)
}

// simpleDigest returns the image digest in a "simple signing" document, or the empty string for another type.
func simpleDigest(payload []byte) string {
	var document struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if json.Unmarshal(payload, &document) != nil || document.Critical.Type != simpleSigningType {
		return ""
	}
	return document.Critical.Image.Digest
}

// statedDigests returns the digests of the subjects of an in-toto statement that is a cosign signature, or nil.
func statedDigests(payload []byte) []string {
	var statement struct {
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if json.Unmarshal(payload, &statement) != nil || statement.PredicateType != cosignSignaturesV1 {
		return nil
	}
	var out []string
	for _, s := range statement.Subject {
		for algorithm, hash := range s.Digest {
			out = append(out, algorithm+":"+hash)
		}
	}
	return out
}

// verifies reports whether a signature of a message matches a public key. It supports the algorithms that cosign signs
// with.
func verifies(key crypto.PublicKey, message, signature []byte) bool {
	hash := sha256.Sum256(message)
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, hash[:], signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, hash[:], signature) == nil
	case ed25519.PublicKey:
		return ed25519.Verify(k, message, signature)
	}
	return false
}
