package store

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

func imagePolicy(name string, authorities map[string]string, prefixes ...string) policyv1alpha1.ImagePolicy {
	out := policyv1alpha1.ImagePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, p := range prefixes {
		out.Spec.MatchImages = append(out.Spec.MatchImages, policyv1alpha1.ImageMatch{Prefix: p})
	}
	for name, key := range authorities {
		out.Spec.Verification.Cosign.Authorities = append(out.Spec.Verification.Cosign.Authorities, policyv1alpha1.CosignAuthority{Name: name, Key: key})
	}
	return out
}

func TestPolicies(t *testing.T) {
	all := []policyv1alpha1.ImagePolicy{
		imagePolicy("vendor", nil, "quay.io/vendor"),
		imagePolicy("product", nil, "quay.io/vendor/product/", "registry.example.com:5000"),
		imagePolicy("product-too", nil, "quay.io/vendor/product"),
		imagePolicy("hub", nil, "docker.io/library"),
	}
	tests := map[string]struct {
		reason, image string
		everything    bool
		want          []string
	}{
		"one": {"", "quay.io/vendor/other:v1", false, []string{"vendor"}},
		"the longest": {"The policies with the longest matching prefix apply, and no others.",
			"quay.io/vendor/product/catalog@sha256:" + strings.Repeat("a", 64), false, []string{"product", "product-too"}},
		"the prefix itself": {"", "quay.io/vendor/product", false, []string{"product", "product-too"}},
		"a longer name":     {"A prefix ends at the end of a path segment, since anyone can register a longer name.", "quay.io/vendor-two/catalog", false, nil},
		"a longer host":     {"", "quay.io.example.com/vendor/catalog", false, nil},
		"a port":            {"", "registry.example.com:5000/a", false, []string{"product"}},
		"another port":      {"", "registry.example.com:50001/a", false, nil},
		"short names":       {"An image without a host is on Docker Hub.", "busybox", false, []string{"hub"}},
		"everything":        {"", "gcr.io/a/b", true, []string{"all"}},
		"more than all":     {"", "quay.io/vendor/a", true, []string{"vendor"}},
		"case":              {"The case of the host is ignored.", "QUAY.IO/vendor/other:v1", false, []string{"vendor"}},
		"port of TLS":       {"Port 443 is ignored, since it is the default.", "quay.io:443/vendor/other:v1", false, []string{"vendor"}},
		"final dot":         {"A final dot of the host is ignored.", "quay.io./vendor/other:v1", false, []string{"vendor"}},
		"hub by its host":   {"All hosts of Docker Hub are the same.", "INDEX.docker.io/library/busybox", false, []string{"hub"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			given := all
			if tt.everything {
				given = append(slices.Clip(given), imagePolicy("all", nil, policyv1alpha1.AllImages))
			}
			var got []string
			applying, err := policies(given, tt.image)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range applying {
				got = append(got, p.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\npolicies of %s: -want +got\n%s", tt.reason, tt.image, diff)
			}
		})
	}
}

// TestPoliciesRefuse verifies that an image is not pulled if no policy can be looked up for it.
func TestPoliciesRefuse(t *testing.T) {
	for name, tt := range map[string]struct {
		reason, prefix, image string
		want                  string // the reason of the Error
	}{
		"no image":      {"An invalid image reference is refused.", "quay.io", "NOT AN IMAGE", v1alpha1.ReasonImagePullFailed},
		"parent":        {"A reference with a parent folder is refused, since the registry may resolve it to another repository.", "quay.io/vendor", "quay.io/public/../vendor/a", v1alpha1.ReasonImagePullFailed},
		"wide dots":     {"A host with wide dots is refused, since an HTTP client may resolve it to another host.", "quay.io/vendor", "quay。io/vendor/a", v1alpha1.ReasonImagePullFailed},
		"unknown place": {"An image is refused if a policy has an invalid prefix, since the policy may require its signature.", "https://quay.io", "quay.io/vendor/a", v1alpha1.ReasonImagePolicyInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := policies([]policyv1alpha1.ImagePolicy{imagePolicy("p", nil, tt.prefix)}, tt.image)
			if err == nil || catalog.AsError(err, "").Reason != tt.want {
				t.Errorf("%s\npolicies = %v, %v; want %s", tt.reason, got, err, tt.want)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	digest, other := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	acme, acmeKey := catalogtest.Key(t)
	mallory, malloryKey := catalogtest.Key(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rivest, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	simple := func(key crypto.Signer, payload []byte) catalog.Signature {
		return catalog.Signature{Simple: &catalog.SignedPayload{Payload: payload, Signature: catalogtest.SignatureOf(t, key, payload)}}
	}
	envelope := func(key crypto.Signer, payloadType string, payload []byte) catalog.Signature {
		return catalog.Signature{DSSE: &catalog.SignedPayload{Type: payloadType, Payload: payload,
			Signature: catalogtest.SignatureOf(t, key, catalogtest.Envelope(payloadType, payload))}}
	}
	changed := simple(acme, catalogtest.SimplePayload(other))
	changed.Simple.Payload = catalogtest.SimplePayload(digest)
	unwrapped := catalog.Signature{DSSE: &catalog.SignedPayload{Type: inTotoType, Payload: catalogtest.Statement(digest, cosignSignaturesV1)}}
	unwrapped.DSSE.Signature = catalogtest.SignatureOf(t, acme, unwrapped.DSSE.Payload)
	const prefix = "example.com"
	byAcme := []policyv1alpha1.ImagePolicy{imagePolicy("p", map[string]string{"acme": acmeKey}, prefix)}
	tests := map[string]struct {
		reason     string
		policies   []policyv1alpha1.ImagePolicy
		signatures []catalog.Signature
		want       string // the authority, or the reason of the Error and a part of its message
	}{
		"no policy": {"", nil, nil, ""},
		"signed":    {"", byAcme, []catalog.Signature{simple(acme, catalogtest.SimplePayload(digest))}, "acme (ImagePolicy p)"},
		"signed by cosign 3": {"", byAcme, []catalog.Signature{envelope(acme, inTotoType, catalogtest.Statement(digest, cosignSignaturesV1))},
			"acme (ImagePolicy p)"},
		"one of several": {"One valid signature is enough, since anyone who may push can add invalid ones.", byAcme,
			[]catalog.Signature{simple(mallory, catalogtest.SimplePayload(digest)), simple(acme, catalogtest.SimplePayload(digest))}, "acme (ImagePolicy p)"},
		"none": {"", byAcme, nil, "SignatureMissing: image example.com/a at " + digest +
			" does not satisfy ImagePolicy p: the registry has no signature of it. It must be signed by authority acme"},
		"another key": {"", byAcme, []catalog.Signature{simple(mallory, catalogtest.SimplePayload(digest))},
			"SignatureInvalid: image example.com/a at " + digest + " does not satisfy ImagePolicy p: none of its 1 signatures is by authority acme"},
		"another image": {"A signature of another image by the same authority is refused.", byAcme,
			[]catalog.Signature{simple(acme, catalogtest.SimplePayload(other))}, "SignatureInvalid"},
		"changed": {"", byAcme, []catalog.Signature{changed}, "SignatureInvalid"},
		"another attestation": {"A signed attestation of another type, as of a scan, is not a signature of the image.", byAcme,
			[]catalog.Signature{envelope(acme, inTotoType, catalogtest.Statement(digest, "https://spdx.dev/Document"))}, "SignatureInvalid"},
		"another type": {"", byAcme, []catalog.Signature{envelope(acme, "text/plain", catalogtest.Statement(digest, cosignSignaturesV1))}, "SignatureInvalid"},
		"no envelope": {"A statement without its envelope is refused, since the type of the payload has to be signed.", byAcme,
			[]catalog.Signature{unwrapped}, "SignatureInvalid"},
		"nothing at all": {"", byAcme, []catalog.Signature{{}}, "SignatureInvalid"},
		"a broken key": {"", []policyv1alpha1.ImagePolicy{imagePolicy("p", map[string]string{"acme": "-----BEGIN PUBLIC KEY-----"}, prefix)},
			nil, "ImagePolicyInvalid: image example.com/a at " + digest + " does not satisfy ImagePolicy p: the key of authority acme: it is not in PEM format"},
		"RSA": {"", []policyv1alpha1.ImagePolicy{imagePolicy("p", map[string]string{"r": catalogtest.PublicKey(t, rivest)}, prefix)},
			[]catalog.Signature{simple(rivest, catalogtest.SimplePayload(digest))}, "r (ImagePolicy p)"},
		"Ed25519": {"", []policyv1alpha1.ImagePolicy{imagePolicy("p", map[string]string{"e": catalogtest.PublicKey(t, edwards)}, prefix)},
			[]catalog.Signature{simple(edwards, catalogtest.SimplePayload(digest))}, "e (ImagePolicy p)"},
		"either": {"", []policyv1alpha1.ImagePolicy{imagePolicy("p", map[string]string{"acme": acmeKey, "m": malloryKey}, prefix)},
			[]catalog.Signature{simple(mallory, catalogtest.SimplePayload(digest))}, "m (ImagePolicy p)"},
		"both": {"", append(byAcme[:1:1], imagePolicy("q", map[string]string{"m": malloryKey}, prefix)),
			[]catalog.Signature{simple(mallory, catalogtest.SimplePayload(digest)), simple(acme, catalogtest.SimplePayload(digest))},
			"acme (ImagePolicy p), m (ImagePolicy q)"},
		"one of both": {"If two policies have the same prefix, the image has to satisfy both.",
			append(byAcme[:1:1], imagePolicy("q", map[string]string{"m": malloryKey}, prefix)), []catalog.Signature{simple(acme, catalogtest.SimplePayload(digest))},
			"SignatureInvalid: image example.com/a at " + digest + " does not satisfy ImagePolicy q"},
		"payload is JSON": {"", byAcme, []catalog.Signature{simple(acme, []byte("["))}, v1alpha1.ReasonSignatureInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := verify("example.com/a", digest, tt.signatures, tt.policies)
			if err != nil {
				got = catalog.AsError(err, "").Reason + ": " + err.Error()
			}
			if err == nil && got != tt.want || err != nil && !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("%s\ngot  %s\nwant %s", tt.reason, got, tt.want)
			}
		})
	}
}
