package watch_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// proxy is a reverse proxy before the API server that injects faults.
type proxy struct {
	*httptest.Server

	mu        sync.Mutex
	intercept func(http.ResponseWriter, *http.Request) bool // returns true if it has responded
	requests  int
	open      map[*http.Request]struct{}
}

// newProxy returns a proxy for a cluster, with its full permissions.
func newProxy(t testing.TB, c *testcluster.Cluster) *proxy {
	t.Helper()
	target, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = transport
	forward.FlushInterval = -1
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	p := &proxy{open: map[*http.Request]struct{}{}}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.requests++
		p.open[r] = struct{}{}
		intercept := p.intercept
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.open, r)
		}()
		if intercept == nil || !intercept(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	p.Config.ErrorLog = nil
	p.Start()
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func (p *proxy) config() *rest.Config { return &rest.Config{Host: p.URL, UserAgent: manager.UserAgent} }

// answers makes the proxy respond to requests itself if the function returns true.
func (p *proxy) answers(intercept func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.intercept = intercept
}

// counts returns how many requests were received, and how many of them are not finished.
func (p *proxy) counts() (all, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests, len(p.open)
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

func isWatchList(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") != "" }
