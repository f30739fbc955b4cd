package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

func images(t *testing.T, w *world) {
	namespace := w.Namespace(t, "images")
	registry := catalogtest.NewRegistry(t, "")
	bundle, _ := registry.Push(t, "foo-bundle", map[string]string{"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1"},
		catalogtest.Files("manifests/csv.yaml", catalogtest.CSV("foo.v1.0.0", "1.0.0"), "manifests/crd.yaml", catalogtest.CRD))
	first := strings.Split(catalogtest.FBC("foo", "1.0.0"), "---\nschema: olm.bundle")[0] + catalogtest.BundleYAML("foo", "foo.v1.0.0", "1.0.0", bundle)
	image, digest1 := registry.Push(t, "catalog", nil, catalogtest.Files("configs/foo/catalog.yaml", first))

	cs := source(namespace, "foo", polling(imageSpec(image), "1s"))
	w.Create(t, cs)
	w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from image "+image+" at "+digest1)
	w.checkOffers(t, cs, "foo.v1.0.0")
	if diff := cmp.Diff([]string{"CustomResourceDefinition foos.example.com", "ClusterServiceVersion foo.v1.0.0"}, w.objects(cs, "foo.v1.0.0")); diff != "" {
		t.Errorf("objects from a bundle image: -want +got\n%s", diff)
	}
	if s := cs.Status.GRPCConnectionState; s == nil || s.Address != image || s.LastObservedState != "READY" || s.LastConnectTime.IsZero() {
		t.Errorf("grpcConnectionState: %+v", s)
	}

	_, digest2 := registry.Push(t, "catalog", nil, foo("1.0.0", "1.1.0"))
	w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from image "+image+" at "+digest2)
	w.checkOffers(t, cs, "foo.v1.0.0", "foo.v1.1.0")
	if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v1.1.0", "CustomResourceDefinition foos.example.com"}, w.objects(cs, "foo.v1.1.0")); diff != "" {
		t.Errorf("objects from the catalog: -want +got\n%s", diff)
	}
	poll := cs.Status.LatestImageRegistryPoll
	w.Await(t, cs, func() string {
		if !poll.Before(cs.Status.LatestImageRegistryPoll) {
			return "not polled again"
		}
		return ""
	})
	w.checkKept(t, digest2)

	t.Run("an image that is no longer a catalog", func(t *testing.T) {
		_, digest3 := registry.Push(t, "catalog", nil, catalogtest.Files("bin/sh", "x"))
		w.Await(t, cs, func() string {
			if !strings.HasPrefix(healthy(cs), "False NotACatalog: ") || !strings.HasSuffix(healthy(cs), "; the content read at "+digest2+" stays in use") {
				return healthy(cs)
			}
			return ""
		})
		w.checkOffers(t, cs, "foo.v1.0.0", "foo.v1.1.0")
		if digest3 == digest2 {
			t.Error("the images are the same")
		}
	})

	t.Run("an image that depends on the version of Kubernetes", func(t *testing.T) {
		old, oldDigest := registry.Push(t, "old/catalog", nil, foo("1.0.0"))
		image, digest := registry.Push(t, "v1/catalog", nil, foo("1.1.0"))
		other := source(namespace, "template", imageSpec(old))
		w.Create(t, other)
		w.awaitHealthy(t, other, "True CatalogRead: Read 1 package from image "+old+" at "+oldDigest)
		other.Annotations = map[string]string{"olm.catalogImageTemplate": registry.Host + "/v{kube_major_version}/catalog"}
		if err := w.Client.Update(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		w.awaitHealthy(t, other, "True CatalogRead: Read 1 package from image "+image+" at "+digest)
		w.checkOffers(t, other, "foo.v1.1.0")
		w.delete(t, other)
	})

	t.Run("many bundles one after another", func(t *testing.T) {
		var versions []string
		for i := range 20 { // more than the connections that a process may have at a time
			versions = append(versions, fmt.Sprintf("1.%d.0", i))
		}
		text, _, _ := strings.Cut(catalogtest.FBC("foo", versions...), "---\nschema: olm.bundle")
		for _, v := range versions {
			bundle, _ := registry.Push(t, "foo-bundle-"+v, map[string]string{"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1"},
				catalogtest.Files("manifests/csv.yaml", catalogtest.CSV("foo.v"+v, v)))
			text += catalogtest.BundleYAML("foo", "foo.v"+v, v, bundle)
		}
		many, digest := registry.Push(t, "many", nil, catalogtest.Files("configs/foo/catalog.yaml", text))
		other := source(namespace, "many", imageSpec(many))
		w.Create(t, other)
		w.awaitHealthy(t, other, "True CatalogRead: Read 1 package from image "+many+" at "+digest)
		for _, v := range versions {
			if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v" + v}, w.objects(other, "foo.v"+v)); diff != "" {
				t.Fatalf("bundle foo.v%s: -want +got\n%s", v, diff)
			}
		}
		w.delete(t, other)
	})

	t.Run("several platforms", func(t *testing.T) {
		list, digest := registry.PushList(t, "list", foo("1.0.0"))
		other := source(namespace, "list", imageSpec(list))
		w.Create(t, other)
		w.awaitHealthy(t, other, "True CatalogRead: Read 1 package from image "+list+" at "+digest)
		w.delete(t, other)
	})

	t.Run("a layer that breaks off", func(t *testing.T) {
		broken := registry.PushBroken(t, "broken", foo("1.0.0"))
		other := source(namespace, "broken", imageSpec(broken))
		w.Create(t, other)
		w.Await(t, other, func() string {
			if !strings.HasPrefix(healthy(other), "False ImagePullFailed: pulling image "+broken+": ") {
				return healthy(other)
			}
			return ""
		})
		if got := w.offers(other); got != nil {
			t.Errorf("a partially read catalog is offered: %v", got)
		}
		w.delete(t, other)
	})

	t.Run("shared", func(t *testing.T) {
		pinned := registry.Host + "/catalog@" + digest2
		other := source(namespace, "bar", imageSpec(pinned))
		w.Create(t, other)
		w.awaitHealthy(t, other, "True CatalogRead: Read 1 package from image "+pinned+" at "+digest2)
		w.delete(t, cs)
		w.checkKept(t, digest2)
		w.delete(t, other)
		eventually(t, "the content is removed", func() bool { return !w.kept(digest2) })
	})
}

func (w *world) delete(t *testing.T, cs *olm.CatalogSource) {
	t.Helper()
	if err := w.Client.Delete(context.Background(), cs); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the catalog leaves the Store", func() bool {
		_, ok := w.store.Get(client.ObjectKeyFromObject(cs))
		return !ok
	})
}

func (w *world) kept(digest string) bool {
	_, err := os.Stat(filepath.Join(w.dir, "content", strings.ReplaceAll(digest, ":", "-")))
	return err == nil
}

func (w *world) checkKept(t *testing.T, digest string) {
	t.Helper()
	if !w.kept(digest) {
		t.Errorf("catalog %s is not on the disk", digest)
	}
}

func secrets(t *testing.T, w *world) {
	namespace := w.Namespace(t, "secrets")
	registry := catalogtest.NewRegistry(t, "letmein")
	image, digest := registry.Push(t, "team/catalog", nil, foo("1.0.0"))
	w.Create(t,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "right"}, Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(registry.DockerConfig())},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "old"}, Type: corev1.SecretTypeDockercfg,
			Data: map[string][]byte{corev1.DockerConfigKey: []byte(strings.TrimSuffix(strings.TrimPrefix(registry.DockerConfig(), `{"auths":`), "}"))},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "wrong"}, Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"` + registry.Host +
				`/team":{"username":"puller","password":"wrong"}},"credsStore":"evil"}`)},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "opaque"}},
	)
	refused := "False ImagePullFailed: pulling image " + image + ": the registry returned 401 Unauthorized"
	tests := map[string]struct {
		reason  string
		secrets []string
		want    string
	}{
		"right": {
			reason: "A Secret of type kubernetes.io/dockerconfigjson is used.", secrets: []string{"right"},
			want: "True CatalogRead: Read 1 package from image " + image + " at " + digest,
		},
		"old": {
			reason: "A Secret of type kubernetes.io/dockercfg is used.", secrets: []string{"old"},
			want: "True CatalogRead: Read 1 package from image " + image + " at " + digest,
		},
		"one-of-several": {
			reason: "Each Secret is tried, and a credential helper that one names is never executed.", secrets: []string{"missing", "wrong", "right"},
			want: "True CatalogRead: Read 1 package from image " + image + " at " + digest,
		},
		"wrong": {
			reason: "The message of wrong credentials contains the registry's response.", secrets: []string{"wrong"},
			want: refused,
		},
		"none": {
			reason: "The message suggests to add a Secret with credentials.",
			want:   refused + " (no Secret in spec.secrets has credentials for it)",
		},
		"missing": {
			reason: "The message contains the name of a Secret that does not exist.", secrets: []string{"missing"},
			want: refused + " (pull secret " + namespace + "/missing of spec.secrets not found)",
		},
		"opaque": {
			reason: "The message contains the name of a Secret of another type.", secrets: []string{"opaque"},
			want: refused + " (pull secret " + namespace +
				"/opaque of spec.secrets is of type \"Opaque\": it must be kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg)",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cs := source(namespace, name, imageSpec(image))
			cs.Spec.Secrets = tc.secrets
			w.Create(t, cs)
			w.awaitHealthy(t, cs, tc.want)
		})
	}
}
