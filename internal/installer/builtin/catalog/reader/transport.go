package reader

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

// newTransport returns a transport that requests its connections from the parent. The parent terminates TLS.
func newTransport(dial dialer) http.RoundTripper {
	out := remote.DefaultTransport.(*http.Transport).Clone()
	out.Proxy = nil
	out.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return dial.connect(ctx, sandbox.Address{Host: address, Plaintext: true})
	}
	out.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		return dial.connect(ctx, sandbox.Address{Host: address, Protocols: []string{"http/1.1"}})
	}
	return bounded{out}
}

// connect converts the error of a connection that is not allowed to an Error with the reason.
func (d dialer) connect(ctx context.Context, to sandbox.Address) (net.Conn, error) {
	conn, err := d(ctx, to)
	if refused, ok := errors.AsType[*sandbox.DialError](err); ok && refused.Code != "" {
		return nil, catalog.Errorf(refused.Code, "%s", refused.Message)
	}
	return conn, err
}
