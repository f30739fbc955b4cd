package reader

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

// TestRedirected verifies that the connection for a redirect is also requested from the parent, and that the reason for
// rejecting it is returned.
func TestRedirected(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			http.Redirect(w, r, "http://192.0.2.1:1/", http.StatusTemporaryRedirect)
		}
	}))
	defer registry.Close()
	p := puller{limits: catalog.DefaultLimits, transport: newTransport(func(ctx context.Context, to sandbox.Address) (net.Conn, error) {
		if to.Host == "192.0.2.1:1" {
			return nil, &sandbox.DialError{Code: v1alpha1.ReasonAddressNotAllowed, Message: "192.0.2.1 is not allowed"}
		}
		return direct(ctx, to)
	})}
	_, err := p.resolve(t.Context(), strings.TrimPrefix(registry.URL, "http://")+"/x:y")
	if asReason(err) != v1alpha1.ReasonAddressNotAllowed || !strings.Contains(err.Error(), "192.0.2.1 is not allowed") {
		t.Errorf("%v", err)
	}
}

// TestEndlessAnswer verifies that the size of manifests and error responses is limited.
func TestEndlessAnswer(t *testing.T) {
	for name, code := range map[string]int{"manifest": http.StatusOK, "refusal": http.StatusBadRequest} {
		t.Run(name, func(t *testing.T) {
			var wrote atomic.Int64
			ended := make(chan struct{})
			registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/" {
					return
				}
				defer close(ended)
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				w.WriteHeader(code)
				for page := []byte(strings.Repeat(" ", 1<<20)); wrote.Load() < 90<<20; {
					n, err := w.Write(page)
					wrote.Add(int64(n))
					if err != nil {
						return
					}
				}
			}))
			defer registry.Close()
			_, err := newPuller(catalog.DefaultLimits).resolve(t.Context(), strings.TrimPrefix(registry.URL, "http://")+"/x:y")
			if err == nil || name == "manifest" && catalog.AsError(err, "").Reason != v1alpha1.ReasonTooLarge {
				t.Errorf("%v", err)
			}
			<-ended
			if wrote.Load() > 32<<20 { // more may be in flight than is read
				t.Errorf("%d MiB were read beyond the limit", wrote.Load()>>20)
			}
		})
	}
}

func TestRequireDigests(t *testing.T) {
	registry := catalogtest.NewRegistry(t, "")
	tagged, digest := registry.Push(t, "team/catalog:v1", nil, catalogtest.Files("configs/a", "1"))
	pinned := strings.TrimSuffix(tagged, ":v1") + "@" + digest
	for name, tc := range map[string]struct {
		reason, image string
		require       bool
		want          string
	}{
		"Tag":          {"An image with a tag is accepted unless digests are required.", tagged, false, ""},
		"TagRefused":   {"An image with a tag is refused if digests are required, since a tag can be moved.", tagged, true, v1alpha1.ReasonDigestRequired},
		"Digest":       {"An image with a digest is accepted if digests are required.", pinned, true, ""},
		"NoTagRefused": {"An image without a tag is refused if digests are required, since its tag is latest.", strings.TrimSuffix(tagged, ":v1"), true, v1alpha1.ReasonDigestRequired},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPuller(catalog.DefaultLimits)
			p.requireDigests = tc.require
			_, err := p.resolve(t.Context(), tc.image)
			if got := asReason(err); got != tc.want {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

func asReason(err error) string {
	if err == nil {
		return ""
	}
	return catalog.AsError(err, "").Reason
}

// TestPlaintextRegistry verifies that a registry without TLS is only read if that is allowed, regardless of its name.
func TestPlaintextRegistry(t *testing.T) {
	registry := catalogtest.NewRegistry(t, "")
	registry.Push(t, "catalog", nil, catalogtest.Files("configs/foo/catalog.yaml", catalogtest.FBC("foo", "1.0.0")))
	for _, plaintext := range []bool{true, false} {
		p := puller{limits: catalog.DefaultLimits, plaintext: plaintext, transport: newTransport(func(ctx context.Context, to sandbox.Address) (net.Conn, error) {
			to.Host = registry.Host // as if DNS resolved registry.example.com to it
			return direct(ctx, to)
		})}
		if _, err := p.resolve(t.Context(), "registry.example.com/catalog"); (err == nil) != plaintext {
			t.Errorf("plaintext %t: %v", plaintext, err)
		}
	}
}
