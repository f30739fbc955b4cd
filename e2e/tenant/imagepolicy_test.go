package tenant

import (
	"context"
	"fmt"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestImagePolicyPrefix verifies that a prefix of an ImagePolicy either matches the images that a user expects, or is refused: no
// image must be exempt from the policy because of how its prefix is spelled.
func TestImagePolicyPrefix(t *testing.T) {
	const host, form = "must begin with the host of a registry", "should match"
	for prefix, tc := range map[string]struct {
		reason string
		image  string // that it matches
		error  string // with which it is refused instead
	}{
		"quay.io/acme":            {reason: "An organization.", image: "quay.io/acme/catalog:v1"},
		"quay.io/acme/":           {reason: "A final slash changes nothing.", image: "quay.io/acme/catalog:v1"},
		"Quay.io/acme":            {reason: "The case of a host is ignored.", image: "quay.io/acme/catalog:v1"},
		"quay.io:443/acme":        {reason: "The default port.", image: "quay.io/acme/catalog:v1"},
		"*":                       {reason: "All images."},
		"localhost/acme":          {reason: "The one host without a dot or a port that an image can name.", image: "localhost/acme/catalog"},
		"registry:5000/acme":      {reason: "A host with a port.", image: "registry:5000/acme/catalog"},
		"[::1]:5000/acme":         {reason: "An IP address.", image: "[::1]:5000/acme/catalog"},
		"docker.io/nginx":         {reason: "The short name of an official image.", image: "nginx:latest"},
		"docker.io/library/nginx": {reason: "Its full name.", image: "nginx"},
		"nginx":                   {reason: "In an image this is one of Docker Hub, in a prefix a host.", error: host},
		"library/nginx":           {reason: "As above.", error: host},
		"registry/acme":           {reason: "As above: no image can name this host without its port.", error: host},
		"https://quay.io/acme":    {reason: "A scheme.", error: form},
		"docker://quay.io/acme":   {reason: "A transport.", error: form},
		"quay.io/acme/cat:latest": {reason: "A tag.", error: form},
		"quay.io/acme/*":          {reason: "A pattern.", error: form},
		"quay.io/*":               {reason: "A pattern.", error: form},
		"*.quay.io":               {reason: "A pattern.", error: form},
		"**":                      {reason: "A pattern.", error: form},
		" quay.io/acme":           {reason: "A space.", error: form},
	} {
		t.Run(prefix, func(t *testing.T) {
			policy := &policyv1alpha1.ImagePolicy{ObjectMeta: metav1.ObjectMeta{Name: "prefix"}, Spec: policyv1alpha1.ImagePolicySpec{
				MatchImages: []policyv1alpha1.ImageMatch{{Prefix: prefix}},
				Verification: policyv1alpha1.ImageVerification{Provider: policyv1alpha1.ProviderCosign, Cosign: policyv1alpha1.CosignVerification{
					Authorities: []policyv1alpha1.CosignAuthority{{Name: "acme", Key: "-----BEGIN PUBLIC KEY-----"}},
				}},
			}}
			err := cluster.Client.Create(t.Context(), policy, client.DryRunAll)
			if tc.error != "" {
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.error) {
					t.Errorf("%s The API server returned %v, want %q", tc.reason, err, tc.error)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s The API server returned %v", tc.reason, err)
			}
			if tc.image == "" {
				return
			}
			image, err := catalog.ParseImage(tc.image)
			if err != nil {
				t.Fatal(err)
			}
			if parsed, err := catalog.ParseImagePrefix(prefix); err != nil || parsed.Match(image.Context()) == 0 {
				t.Errorf("%s It does not match %s: %v", tc.reason, tc.image, err)
			}
		})
	}
}

// TestImagePolicyStatus verifies that an ImagePolicy lists the catalogs that it applies to, and reports keys that cannot be used.
func TestImagePolicyStatus(t *testing.T) {
	const key = "-----BEGIN PUBLIC KEY-----\n" + // the one of docs/lifecycle.md
		"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFBzD/3GpwW0ddKtf9+K7GYGyH4Vw\n" +
		"BfZoPOdPBfdgavmdf3BmE+Xcs3Kxyg6iE2GjtT78lX+0j08a/rje5yYt1w==\n-----END PUBLIC KEY-----\n"
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "signed")
	newPolicy := func(name, prefix, key string) *policyv1alpha1.ImagePolicy {
		out := &policyv1alpha1.ImagePolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name}}
		out.Spec.MatchImages = []policyv1alpha1.ImageMatch{{Prefix: prefix}}
		out.Spec.Verification.Provider = policyv1alpha1.ProviderCosign
		out.Spec.Verification.Cosign.Authorities = []policyv1alpha1.CosignAuthority{{Name: "acme", Key: key}}
		return out
	}
	create := func(p *policyv1alpha1.ImagePolicy) {
		t.Helper()
		cluster.Create(t, p)
		t.Cleanup(func() {
			if err := cluster.Client.Delete(context.Background(), p); err != nil {
				t.Error(err)
			}
		})
	}
	await := func(p *policyv1alpha1.ImagePolicy, catalogs int32, want ...string) {
		t.Helper()
		cluster.Await(t, p, func() string {
			if p.Status.Summary.Catalogs != catalogs {
				return fmt.Sprintf("it applies to %d CatalogSources, want %d", p.Status.Summary.Catalogs, catalogs)
			}
			return testcluster.Lacking(p.Status.Conditions, want...)
		})
	}
	cs := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "acme"}}
	cs.Spec.SourceType, cs.Spec.Image = olm.SourceTypeGrpc, "127.0.0.1:1/acme/catalog:v1" // where nothing listens
	organization, none := newPolicy("organization", "127.0.0.1:1/acme", key), newPolicy("none", "127.0.0.1:1/other", "-----BEGIN PUBLIC KEY-----")
	cluster.Create(t, cs)
	create(organization)
	create(none)
	await(organization, 1, "Matched=True/CatalogsFound", "Valid=True/Valid")
	await(none, 0, "Matched=False/NoCatalogFound", "Valid=False/KeyInvalid")
	if got := organization.Status.Catalogs; len(got) != 1 || got[0] != (policyv1alpha1.MatchedCatalog{Namespace: namespace, Name: "acme", Image: cs.Spec.Image}) {
		t.Errorf("the catalogs are %+v", got)
	}
	repository := newPolicy("repository", "127.0.0.1:1/acme/catalog", key) // its prefix is longer
	create(repository)
	await(repository, 1, "Matched=True/CatalogsFound")
	await(organization, 0, "Matched=False/NoCatalogFound")
	if err := cluster.Client.Delete(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	await(repository, 0, "Matched=False/NoCatalogFound")
}
