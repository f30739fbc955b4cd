package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

// Reach restricts the addresses that CatalogSources may refer to. The manager can connect to hosts that the author of a
// CatalogSource cannot, such as its own node and the API server, and must not be used as a proxy to them.
type Reach struct {
	// Trusts reports whether a catalog is trusted with the cluster. A trusted catalog may refer to any address.
	Trusts func(types.NamespacedName) bool

	// Allowed are restricted addresses that untrusted catalogs may nevertheless refer to.
	Allowed []netip.Prefix

	// Plaintext lists the hosts, as <host> or <host>:<port>, that may be connected to without TLS. Services in the
	// catalog's own namespace are always allowed, since OLM's registry pods do not support TLS.
	Plaintext []string

	// RequireDigests rejects images that are referred to by tag, since a tag can be moved to another image.
	RequireDigests bool

	// APIServer lists the addresses of the API server.
	APIServer []netip.Addr
}

// ParseAllowed parses a comma-separated list of CIDRs.
func ParseAllowed(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range fields(list) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR such as 10.0.0.0/8: %w", text, err)
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}

// ParsePlaintext parses a comma-separated list of hosts.
func ParsePlaintext(list string) []string { return fields(list) }

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// route connects to the registries of one catalog.
type route struct {
	*Reach
	key     types.NamespacedName
	trusted bool

	// authority verifies the registries, and reader reads its ConfigMap or Secret.
	authority authority
	reader    client.Reader
}

func (r *Reach) of(key types.NamespacedName) route {
	return route{Reach: r, key: key, trusted: r.Trusts(key)}
}

// trusting returns a copy of the route that verifies registries with the authority.
func (r route) trusting(a authority, reader client.Reader) route {
	r.authority, r.reader = a, reader
	return r
}

// connect connects to a registry. It uses TLS unless the address is a plaintext one that the route allows. If the
// catalog may not connect to the address, the error is a sandbox.DialError.
func (r route) connect(ctx context.Context, to sandbox.Address) (net.Conn, error) {
	conn, err := r.dial(ctx, to)
	if barred, ok := errors.AsType[*catalog.Error](err); ok {
		return nil, &sandbox.DialError{Code: barred.Reason, Message: barred.Unwrap().Error()}
	}
	return conn, err
}

func (r route) dial(ctx context.Context, to sandbox.Address) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if to.Plaintext {
		if err := r.plaintext(to.Host); err != nil {
			return nil, err
		}
		return r.dialer().DialContext(ctx, "tcp", to.Host)
	}
	roots, err := r.authority.pool(ctx, r.reader, r.key.Namespace)
	if err != nil {
		return nil, err
	}
	conn, err := r.tunnel(ctx, to.Host)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, &tls.Config{ServerName: nameOf(to.Host), RootCAs: roots, NextProtos: to.Protocols, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(certificateError(to.Host, err), conn.Close())
	}
	return secure, nil
}

// tunnel connects to a host, through a proxy if the environment of the manager configures one for it.
func (r route) tunnel(ctx context.Context, host string) (net.Conn, error) {
	proxy, err := httpproxy.FromEnvironment().ProxyFunc()(&url.URL{Scheme: "https", Host: host})
	if err != nil {
		return nil, fmt.Errorf("finding the proxy for %s: %w", host, err)
	}
	if proxy == nil {
		return r.dialer().DialContext(ctx, "tcp", host)
	}
	return connectThrough(ctx, proxy, host)
}

// dialer returns a dialer that checks each address after the DNS lookup, so neither a DNS name nor a redirect bypasses
// the check.
func (r route) dialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error { return r.check(address) }}
}

const dialTimeout = 30 * time.Second

// check returns an Error with reason AddressNotAllowed if an address, as <ip>:<port>, must not be dialed.
func (r route) check(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return catalog.Errorf(v1alpha1.ReasonAddressNotAllowed, "%s is not a valid address: %w", address, err)
	}
	addr := embedded(at.Addr().WithZone(""))
	if r.trusted || slices.ContainsFunc(r.Allowed, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return nil
	}
	what := ""
	switch {
	case addr.IsLoopback() || addr.IsUnspecified():
		what = "the manager's own host"
	case addr.IsLinkLocalUnicast() || addr.IsMulticast():
		what = "the manager's own network"
	case slices.Contains(metadata, addr):
		what = "a cloud's metadata service"
	case slices.ContainsFunc(r.APIServer, func(server netip.Addr) bool { return server.Unmap() == addr }):
		what = "the API server"
	default:
		return nil
	}
	return catalog.Errorf(v1alpha1.ReasonAddressNotAllowed,
		"%s is an address of %s, which an untrusted catalog must not use. To allow it: --catalog-allow-cidr of the manager",
		addr, what)
}

// metadata are the addresses of metadata and configuration services of clouds that are not link-local, as most are.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
}

// carriers are the IPv6 prefixes whose addresses contain the IPv4 address that packets are forwarded to, and where in the
// address it begins.
var carriers = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible, RFC 4291
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64, RFC 6052
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // the same within a network, RFC 8215
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4, RFC 3056
}

// embedded returns the IPv4 address that an IPv6 address contains, or the address itself.
func embedded(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Is4() || addr.IsLoopback() || addr.IsUnspecified() {
		return addr
	}
	for _, c := range carriers {
		if c.prefix.Contains(addr) {
			bytes := addr.As16()
			return netip.AddrFrom4([4]byte(bytes[c.at : c.at+4]))
		}
	}
	return addr
}

// plaintext returns an Error with reason PlaintextNotAllowed unless every catalog may connect to the host without TLS.
func (r *Reach) plaintext(host string) error {
	name := nameOf(host)
	if slices.Contains(r.Plaintext, host) || slices.Contains(r.Plaintext, name) {
		return nil
	}
	return catalog.Errorf(v1alpha1.ReasonPlaintextNotAllowed,
		"Connecting to %s without TLS would let an attacker on the network path change what is installed. To allow it: --catalog-plaintext=%s of the manager. "+
			"For a registry with TLS, annotation %s configures how to verify it", host, name, v1alpha1.AnnotationRegistryCA)
}

// plaintext returns an Error with reason PlaintextNotAllowed unless this catalog may connect to the host without TLS.
func (r route) plaintext(host string) error {
	if labels := strings.SplitN(strings.TrimSuffix(nameOf(host), "."), ".", 3); len(labels) > 1 && labels[1] == r.key.Namespace &&
		(len(labels) == 2 || labels[2] == "svc" || strings.HasPrefix(labels[2], "svc.")) {
		return nil
	}
	return r.Reach.plaintext(host)
}

// registry returns the registry of an image. Its scheme is http if it may be connected to without TLS, which is only
// tried if TLS fails.
func (r route) registry(image string) (name.Registry, error) {
	reference, err := catalog.ParseImage(image)
	if err != nil {
		return name.Registry{}, err
	}
	out := reference.Context().Registry
	if r.plaintext(out.RegistryStr()) == nil {
		return name.NewRegistry(out.RegistryStr(), name.Insecure)
	}
	return out, nil
}

// nameOf returns a host without its port.
func nameOf(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return host
	}
	return name
}
