package soak

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// exhaustResources creates objects that use up memory, disk, CPU and the readers of catalogs, in each hostile namespace: as
// many catalogs as are read of one namespace, all of which are polled as often as possible, and large Secrets with OLM's
// label.
func (h *hostile) exhaustResources(t *testing.T) {
	t.Helper()
	const catalogs, secrets = 20, 50
	addresses := []string{slowLoris(t) + "/catalog:latest", h.bigImage(t)}
	flood := catalogtest.ServeFlood(t)
	for _, namespace := range h.namespaces {
		for i := range secrets {
			cluster.Create(t, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("large%d", i), Labels: map[string]string{install.LabelManaged: "true"}},
				Data:       map[string][]byte{"text": bytes.Repeat([]byte("x"), 900<<10)},
			})
		}
		for i := range catalogs {
			named := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("catalog%d", i)}
			source := &olm.CatalogSource{ObjectMeta: named}
			switch i % 4 {
			case 0:
				source.Spec = olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Address: flood}
			case 1:
				source.Spec = olm.CatalogSourceSpec{SourceType: olm.SourceTypeInternal, ConfigMap: named.Name}
				cluster.Create(t, &corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"catalog.yaml": h.catalog}})
			default:
				source.Spec = olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Image: addresses[i%2]}
			}
			source.Spec.UpdateStrategy = &olm.UpdateStrategy{RegistryPoll: &olm.RegistryPoll{RawInterval: "1s"}}
			cluster.Create(t, source)
		}
	}
}

// slowLoris returns the address of a registry whose blobs take forever.
func slowLoris(t *testing.T) string {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		for {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-over:
				return
			case <-r.Context().Done():
				return
			case <-time.After(time.Second): // the rate of the attack
			}
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return strings.TrimPrefix(server.URL, "http://")
}

// bigImage returns the reference of an image of many layers that are no catalog.
func (h *hostile) bigImage(t *testing.T) string {
	t.Helper()
	const layerSize, count = 8 << 20, 8
	var layers [][]catalogtest.TarEntry
	for range count {
		content := make([]byte, layerSize) // random, so it cannot be compressed
		for i := range content {
			content[i] = byte(h.Uint32())
		}
		layers = append(layers, catalogtest.Files("large", string(content)))
	}
	image, _ := catalogtest.NewRegistry(t, "").Push(t, "big", nil, layers...)
	return image
}

// trusted is a catalog that all namespaces use, recreated repeatedly.
type trusted struct{ content testcatalog.Package }

func newTrusted(t *testing.T) trusted {
	t.Helper()
	return trusted{content: testcatalog.Published(t, testcatalog.Holding("trusted", "1.0.0", "1.1.0")...)}
}

// read returns how long it takes until a trusted catalog that is created now has been read.
func (c trusted) read(t *testing.T) time.Duration {
	t.Helper()
	named := metav1.ObjectMeta{Namespace: "olm", Name: "trusted-" + rand.String(5)}
	source := &olm.CatalogSource{ObjectMeta: named}
	cluster.Offer(t, client.ObjectKeyFromObject(source), c.content)
	start := time.Now()
	cluster.AwaitWithin(t, patience, source, func() string {
		if state := source.Status.GRPCConnectionState; state == nil || state.LastObservedState != "READY" {
			return "it has not been read: " + source.Status.Message
		}
		return ""
	})
	took := time.Since(start)
	for _, o := range []client.Object{source, &corev1.ConfigMap{ObjectMeta: named}} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return took
}

// requests returns how long it takes to create an object that the manager does not read, to update it, and to observe that.
func requests(t *testing.T) time.Duration {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: "requests-" + rand.String(5)}}
	start := time.Now()
	if err := cluster.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	object.Data = map[string]string{"updated": "true"}
	if err := cluster.Client.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitWithin(t, patience, object, func() string {
		if object.Data["updated"] == "" {
			return "it has not been updated"
		}
		return ""
	})
	took := time.Since(start)
	if err := cluster.Client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return took
}

// median returns the median of a list that is not empty.
func median(of []time.Duration) time.Duration { return slices.Sorted(slices.Values(of))[len(of)/2] }
