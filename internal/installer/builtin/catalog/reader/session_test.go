package reader

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

// direct connects to the requested address.
func direct(ctx context.Context, to sandbox.Address) (net.Conn, error) {
	if to.Plaintext {
		return (&net.Dialer{}).DialContext(ctx, "tcp", to.Host)
	}
	return (&tls.Dialer{}).DialContext(ctx, "tcp", to.Host)
}

// newPuller returns a puller that may connect to any address.
func newPuller(limits catalog.Limits) puller {
	return puller{limits: limits, transport: newTransport(direct)}
}

// ask returns the answers to a request, and accepts every image.
func ask(t testing.TB, request catalog.Request) ([]catalog.Answer, error) {
	t.Helper()
	scratch, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = scratch.Close() }()
	var out []catalog.Answer
	send := func(v any) error {
		out = append(out, v.(catalog.Answer))
		return nil
	}
	receive := func(v any) error {
		*v.(*catalog.Verdict) = catalog.Verdict{Read: true}
		return nil
	}
	err = answer(context.Background(), newSession(request, direct, scratch, send, receive))
	return out, err
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
