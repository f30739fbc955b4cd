package informer

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// item returns a CatalogSource as the API server encodes it.
func item(name, version, spec string) string {
	return `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"CatalogSource","metadata":{"namespace":"olm","name":"` + name + `","uid":"` + name +
		`","resourceVersion":"` + version + `"},"spec":` + spec + `}`
}

const (
	fine   = `{"sourceType":"grpc","publisher":"%"}`
	nilled = `{"updateStrategy":{}}`   // decoding dereferences a nil pointer
	typed  = `{"sourceType":["grpc"]}` // the field is not a list
)

func spec(publisher string) string { return strings.ReplaceAll(fine, "%", publisher) }

// TestOneByOne verifies that an object that cannot be decoded is omitted from a list, keeps its previous version when
// it changes, is cached once it is corrected, and is removed when it is deleted. Other objects are not affected.
func TestOneByOne(t *testing.T) {
	changes := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			_, _ = w.Write([]byte(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"CatalogSourceList","metadata":{"resourceVersion":"9"},"items":[` +
				strings.Join([]string{item("good", "1", spec("a")), item("nilled", "2", nilled), item("typed", "3", typed)}, ",") + `]}`))
			return
		}
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			w.WriteHeader(http.StatusUnprocessableEntity) // makes the client list instead
			return
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case change := <-changes:
				_, _ = w.Write([]byte(change + "\n"))
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	scheme := runtime.NewScheme()
	if err := olm.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	report, err := NewUndecodable(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	recorder := events.NewFakeRecorder(10)
	report.Recorder = recorder
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(olm.SchemeGroupVersion.WithKind(olm.CatalogSourceKind), meta.RESTScopeNamespace)
	c, err := NewCache(report, olm.GroupName)(&rest.Config{Host: server.URL}, cache.Options{Scheme: scheme, Mapper: mapper, HTTPClient: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Start(ctx) }() // until the test ends

	// has waits until the cache contains exactly these objects, each as "<name>:<publisher>", and the metric has the
	// given number of undecodable ones.
	has := func(undecodable float64, want ...string) {
		t.Helper()
		var got []string
		err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
			list := &olm.CatalogSourceList{}
			if err := c.List(ctx, list, client.InNamespace("olm")); err != nil {
				return false, nil // the cache has not started
			}
			got = nil
			for _, name := range []string{"good", "nilled", "typed"} {
				for _, o := range list.Items {
					if o.Name == name {
						got = append(got, o.Name+":"+o.Spec.Publisher)
					}
				}
			}
			return strings.Join(got, " ") == strings.Join(want, " ") &&
				testutil.ToFloat64(report.count.WithLabelValues(olm.GroupName, olm.CatalogSourceKind)) == undecodable, nil
		})
		if err != nil {
			t.Fatalf("want %v, got %v: %v", want, got, err)
		}
	}
	event := func(kind, object string) { changes <- `{"type":"` + kind + `","object":` + object + `}` }

	has(2, "good:a")
	event("MODIFIED", item("good", "10", spec("b")))
	has(2, "good:b")
	event("MODIFIED", item("nilled", "11", spec("b")))
	has(1, "good:b", "nilled:b")
	event("MODIFIED", item("good", "12", typed))
	has(2, "good:b", "nilled:b")
	event("MODIFIED", item("good", "13", spec("c")))
	has(1, "good:c", "nilled:b")
	event("MODIFIED", item("nilled", "14", nilled))
	event("DELETED", item("nilled", "15", nilled))
	has(1, "good:c")
	event("DELETED", item("typed", "16", typed))
	has(0, "good:c")
	close(recorder.Events)
	var got []string
	for e := range recorder.Events {
		got = append(got, e)
	}
	if len(got) != 4 || !strings.Contains(got[0], "Warning Undecodable The object cannot be decoded") {
		t.Errorf("Events: %q", got)
	}
}
