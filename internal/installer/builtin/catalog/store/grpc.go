package store

import (
	"context"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

// grpcOrigin is a registry that serves a catalog by gRPC.
type grpcOrigin struct {
	address   string
	plaintext bool
	access    access

	// conn detects when the registry becomes available or unavailable; no requests are sent on it. ready is whether it
	// was connected when the registry was last read.
	conn  *grpc.ClientConn
	ready bool
}

func newGRPCOrigin(address string, a access) (*grpcOrigin, error) {
	to := sandbox.Address{Host: address, Plaintext: a.route.authority.kind == "", Protocols: []string{"h2"}}
	if to.Plaintext {
		if err := a.route.plaintext(address); err != nil {
			return nil, err
		}
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the route adds TLS if it is needed
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := a.route.connect(ctx, to)
			if err != nil {
				return nil, err
			}
			return newIdleConn(conn), nil
		}),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0), // keep the connection, since its state shows whether the registry is available
		grpc.WithUserAgent("operator-status"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 15 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
	)
	if err != nil {
		return nil, catalog.Errorf(v1alpha1.ReasonSpecInvalid, "spec.address %q is not a valid address: %w", address, err)
	}
	return &grpcOrigin{address: address, plaintext: to.Plaintext, access: a, conn: conn}, nil
}

func (o *grpcOrigin) close() { _ = o.conn.Close() } // fails if it is closed already

// await blocks until the registry has become available or unavailable since it was last read, or ctx is done.
func (o *grpcOrigin) await(ctx context.Context) {
	for {
		state := o.conn.GetState()
		if (state == connectivity.Ready) != o.ready {
			return
		}
		if state == connectivity.Idle {
			o.conn.Connect()
		}
		if !o.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

func (o *grpcOrigin) read(ctx context.Context, known *reading) (*reading, error) {
	o.conn.Connect()
	content := catalog.NewContent()
	request := catalog.Request{Address: o.address, Plaintext: o.plaintext}
	err := o.access.ask(ctx, request, nil, func(_ *conversation, a catalog.Answer) error {
		content.Add(a)
		return nil
	})
	o.settle(ctx)
	if err == nil && !o.ready {
		err = catalog.Errorf(v1alpha1.ReasonUnreachable, "the registry at %s no longer answers", o.address)
	}
	if err != nil {
		return known, err
	}
	return &reading{content: content, access: o.access, ask: func(_ context.Context, request *catalog.Request) (io.ReadCloser, error) {
		channel, ok := channelOf(content, request.Bundle)
		if !ok {
			return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "the catalog no longer offers bundle %s of package %s", request.Bundle.Name,
				request.Bundle.Package)
		}
		request.Address, request.Plaintext, request.Bundle.Channel = o.address, o.plaintext, channel
		return nil, nil
	}}, nil
}

// settle waits until the connection is ready or has failed, and records which in ready. await compares with it.
func (o *grpcOrigin) settle(ctx context.Context) {
	state := o.conn.GetState()
	for ; state == connectivity.Idle || state == connectivity.Connecting; state = o.conn.GetState() {
		if state == connectivity.Idle {
			o.conn.Connect()
		}
		if !o.conn.WaitForStateChange(ctx, state) {
			break
		}
	}
	o.ready = state == connectivity.Ready
}

// channelOf returns the first channel, by name, that contains a bundle.
func channelOf(content *catalog.Content, b *catalog.BundleRequest) (string, bool) {
	p := content.Packages[b.Package]
	if p == nil {
		return "", false
	}
	for _, name := range slices.Sorted(maps.Keys(p.Channels)) {
		if p.Channels[name].Entries[b.Name] != nil {
			return name, true
		}
	}
	return "", false
}
