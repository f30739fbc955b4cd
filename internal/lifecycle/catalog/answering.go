package catalog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/sandbox"
)

const (
	// answerTimeout is how long a registry may take to answer at all. The content may take longer.
	answerTimeout = 30 * time.Second

	// answeredFor is how long a registry that answered is not asked again.
	answeredFor = time.Minute
)

// answering knows which registries answer. A process that reads is started only for those that do: there are few of them, and one that
// waits for a registry would have the others wait with it.
type answering struct {
	mu   sync.Mutex
	last map[string]time.Time // by host and whether it was asked by a trusted catalog
}

// await returns an Error if the registry of an image accepts connections and sends nothing. Any other problem is for the process that
// reads to find, and to report.
func (a *answering) await(ctx context.Context, image string, to route) error {
	registry, err := to.registry(image)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	key := fmt.Sprint(registry.RegistryStr(), to.trusted)
	if a.recent(key) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if !knock(ctx, to, sandbox.Address{Host: withPort(registry.RegistryStr(), "443"), Protocols: []string{"http/1.1"}}) && registry.Scheme() == "http" {
		knock(ctx, to, sandbox.Address{Host: withPort(registry.RegistryStr(), "80"), Plaintext: true})
	}
	if ctx.Err() != nil {
		return Errorf(v1alpha1.ReasonImagePullFailed, "pulling image %s: the registry does not answer within %s", image, answerTimeout)
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

// knock sends a request, and waits until there is an answer, of which it reads one byte.
func knock(ctx context.Context, to route, address sandbox.Address) (answered bool) {
	conn, err := to.connect(ctx, address)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // nothing is lost by it
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintf(conn, "GET /v2/ HTTP/1.1\r\nHost: %s\r\nUser-Agent: operator-status\r\nConnection: close\r\n\r\n", address.Host); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}
