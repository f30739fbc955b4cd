package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

const (
	// answerTimeout limits the time until a registry sends its first byte. Sending the content may take longer.
	answerTimeout = 30 * time.Second

	// answeredFor is how long a registry that does not block is not checked again.
	answeredFor = time.Minute
)

// answering tracks which registries respond. A reader process is used only for those: few processes may run, and waiting
// for one registry would delay all others.
type answering struct {
	mu   sync.Mutex
	last map[string]time.Time // by host and whether a trusted catalog connected to it
}

// await returns an Error if the registry of an image does not respond within answerTimeout. It ignores every other
// problem: the reader process finds and reports those.
func (a *answering) await(ctx context.Context, image string, to route) error {
	registry, err := to.registry(image)
	if err != nil {
		return nil // as above
	}
	key := fmt.Sprint(registry.RegistryStr(), to.trusted)
	if a.recent(key) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if !probeRegistry(ctx, to, sandbox.Address{Host: withPort(registry.RegistryStr(), "443"), Protocols: []string{"http/1.1"}}) && registry.Scheme() == "http" {
		probeRegistry(ctx, to, sandbox.Address{Host: withPort(registry.RegistryStr(), "80"), Plaintext: true})
	}
	if ctx.Err() != nil {
		return catalog.Errorf(v1alpha1.ReasonImagePullFailed, "pulling image %s: the registry does not answer within %s", image, answerTimeout)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[key] = time.Now()
	return nil
}

func (a *answering) recent(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, at := range a.last {
		if time.Since(at) > answeredFor {
			delete(a.last, k)
		}
	}
	_, ok := a.last[key]
	return ok
}

func withPort(host, port string) string {
	if nameOf(host) != host {
		return host
	}
	return host + ":" + port
}

// probeRegistry sends a request and reports whether at least one byte of the response arrived.
func probeRegistry(ctx context.Context, to route, address sandbox.Address) (answered bool) {
	conn, err := to.connect(ctx, address)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // nothing is lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintf(conn, "GET /v2/ HTTP/1.1\r\nHost: %s\r\nUser-Agent: operator-status\r\nConnection: close\r\n\r\n", address.Host); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}
