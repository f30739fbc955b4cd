package store_test

import (
	"context"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

// signatures verifies that no content of an image is used unless the image is signed as an ImagePolicy requires, in
// either format of cosign.
func signatures(t *testing.T, w *world) {
	namespace := w.Namespace(t, "signatures")
	registry := catalogtest.NewRegistry(t, "")
	acme, acmeKey := catalogtest.Key(t)
	mallory, malloryKey := catalogtest.Key(t)
	bundle, bundleDigest := registry.Push(t, "signed/foo-bundle", map[string]string{"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1"},
		catalogtest.Files("manifests/csv.yaml", catalogtest.CSV("foo.v1.0.0", "1.0.0"), "manifests/crd.yaml", catalogtest.CRD))
	catalog := strings.Split(catalogtest.FBC("foo", "1.0.0"), "---\nschema: olm.bundle")[0] + catalogtest.BundleYAML("foo", "foo.v1.0.0", "1.0.0", bundle)
	image, digest := registry.Push(t, "signed/catalog", nil, catalogtest.Files("configs/foo/catalog.yaml", catalog))
	registry.Push(t, "unsigned/catalog", nil, catalogtest.Files("configs/foo/catalog.yaml", catalog))

	policy := &policyv1alpha1.ImagePolicy{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: policyv1alpha1.ImagePolicySpec{
		MatchImages: []policyv1alpha1.ImageMatch{{Prefix: registry.Host + "/signed"}},
		Verification: policyv1alpha1.ImageVerification{Provider: policyv1alpha1.ProviderCosign, Cosign: policyv1alpha1.CosignVerification{
			Authorities: []policyv1alpha1.CosignAuthority{{Name: "acme", Key: acmeKey}},
		}},
	}}
	other := source(namespace, "other", imageSpec(registry.Host+"/unsigned/catalog"))
	cs := source(namespace, "foo", polling(imageSpec(image), "1s"))
	w.Create(t, policy, other, cs)
	const missing = "False SignatureMissing: image "
	w.awaitHas(t, cs, missing)
	w.checkOffers(t, cs)
	w.awaitHas(t, other, "True CatalogRead")

	registry.Sign(t, image, digest, mallory)
	w.awaitHas(t, cs, "False SignatureInvalid: image ")
	w.awaitSigned(t, cs, "False SignatureInvalid")
	registry.Sign(t, image, digest, acme)
	w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from image "+image+" at "+digest)
	w.awaitSigned(t, cs, "True SignatureVerified: Signed by acme (ImagePolicy acme)")

	t.Run("bundles", func(t *testing.T) {
		if got := w.objects(cs, "foo.v1.0.0"); len(got) != 1 || !strings.Contains(got[0], "the registry has no signature of it") {
			t.Errorf("an unsigned bundle: %v", got)
		}
		registry.SignWithBundle(t, bundle, bundleDigest, acme)
		c, _ := w.store.Get(client.ObjectKeyFromObject(cs))
		manifests, err := w.store.Manifests(context.Background(), c.Key, c.Content.Packages["foo"].Channels["stable"].Entries["foo.v1.0.0"].Bundle)
		if err != nil {
			t.Fatal(err)
		}
		if manifests.Digest != bundleDigest || manifests.SignedBy != "acme (ImagePolicy acme)" {
			t.Errorf("a signed bundle: %s signed by %q", manifests.Digest, manifests.SignedBy)
		}
	})

	t.Run("other demands", func(t *testing.T) {
		w.update(t, policy, func() { policy.Spec.Verification.Cosign.Authorities[0].Key = malloryKey })
		w.awaitHas(t, cs, "False SignatureInvalid")
		w.Await(t, cs, func() string {
			return strings.Join(w.offers(cs), ", ") // the previous content is no longer used
		})
		w.update(t, policy, func() { policy.Spec.Verification.Cosign.Authorities[0].Key = acmeKey })
		w.awaitHas(t, cs, "True CatalogRead")
	})

	t.Run("a moved tag", func(t *testing.T) {
		registry.Push(t, "signed/catalog", nil, foo("1.0.0", "1.1.0"))
		w.awaitHas(t, cs, missing)
		if got := healthy(cs); !strings.HasSuffix(got, "; the content read at "+digest+" stays in use") {
			t.Error(got)
		}
		w.checkOffers(t, cs, "foo.v1.0.0")
	})

	t.Run("no policy", func(t *testing.T) {
		if err := w.Client.Delete(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
		w.awaitHas(t, cs, "True CatalogRead")
		w.awaitSigned(t, cs, "")
		w.checkOffers(t, cs, "foo.v1.0.0", "foo.v1.1.0")
	})
	w.delete(t, cs)
	w.delete(t, other)
}

// awaitHas waits until Healthy starts with want.
func (w *world) awaitHas(t *testing.T, cs *olm.CatalogSource, want string) {
	t.Helper()
	w.Await(t, cs, func() string {
		if got := healthy(cs); !strings.HasPrefix(got, want) {
			return "want " + want + ", got " + got
		}
		return ""
	})
}

// awaitSigned waits until SignatureVerified starts with want; empty means that the condition is absent.
func (w *world) awaitSigned(t *testing.T, cs *olm.CatalogSource, want string) {
	t.Helper()
	w.Await(t, cs, func() string {
		got := ""
		if c := meta.FindStatusCondition(cs.Status.Conditions, v1alpha1.ConditionSignatureVerified); c != nil {
			got = string(c.Status) + " " + c.Reason + ": " + c.Message
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			return "want " + want + ", got " + got
		}
		return ""
	})
}

func (w *world) update(t *testing.T, o client.Object, change func()) {
	t.Helper()
	change()
	if err := w.Client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
