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
	"github.com/operator-status/operator-status/internal/testcluster"
)

// proxy stands before the API server and does what a test must make go wrong.
type proxy struct {
	*httptest.Server

	mu        sync.Mutex
	intercept func(http.ResponseWriter, *http.Request) bool // true where it has answered
	requests  int
	open      map[*http.Request]struct{}
}

// newProxy stands before a cluster, with all its rights.
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

// answers has the proxy answer requests itself, where the function does.
func (p *proxy) answers(intercept func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.intercept = intercept
}

// counts is how many requests have come, and how many of them are not answered to their end.
func (p *proxy) counts() (all, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests, len(p.open)
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

func isWatchList(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") != "" }
