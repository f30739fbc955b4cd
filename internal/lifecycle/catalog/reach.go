package catalog

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Reach restricts the addresses that CatalogSources may refer to. The manager can connect to hosts that the author of a CatalogSource
// cannot, such as its own node and the API server, and must not be used as a proxy to them.
type Reach struct {
	// Trusts reports whether a catalog is trusted with the cluster. A trusted catalog may refer to any address.
	Trusts func(types.NamespacedName) bool

	// Allowed are restricted addresses that untrusted catalogs may refer to all the same.
	Allowed []netip.Prefix

	// Plaintext are the hosts, as <host> or <host>:<port>, that may be connected to without TLS. Services in the catalog's own namespace
	// may be as well: the registry pods of OLM serve nothing else.
	Plaintext []string

	// RequireDigests rejects images that are referred to by a tag, which can be moved to another image.
	RequireDigests bool

	// APIServer are the addresses of the API server.
	APIServer []netip.Addr
}

// ParseAllowed parses a comma-separated list of CIDRs.
func ParseAllowed(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range fields(list) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no CIDR such as 10.0.0.0/8: %w", text, err)
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
	namespace string
	trusted   bool
	transport http.RoundTripper
}

// routes connects to the registries of all catalogs. Trusted catalogs share connections, and so do untrusted ones.
type routes struct {
	reach           *Reach
	trusted, others http.RoundTripper
}

func newRoutes(reach *Reach) routes {
	through := func(trusted bool) http.RoundTripper {
		transport := remote.DefaultTransport.(*http.Transport).Clone()
		transport.DialContext = route{Reach: reach, trusted: trusted}.dialer().DialContext
		return encrypted{reach: reach, base: bounded{transport}}
	}
	return routes{reach: reach, trusted: through(true), others: through(false)}
}

func (r routes) of(catalog types.NamespacedName) route {
	out := route{Reach: r.reach, namespace: catalog.Namespace, trusted: r.reach.Trusts(catalog), transport: r.others}
	if out.trusted {
		out.transport = r.trusted
	}
	return out
}

// dialer returns a dialer that checks each address after the lookup, so that neither a DNS name nor a redirect gets around the check.
func (r route) dialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error { return r.check(address) }}
}

const dialTimeout = 30 * time.Second

// check returns an Error with reason AddressNotAllowed if an address, as <ip>:<port>, must not be dialed.
func (r route) check(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return failure(v1alpha1.ReasonAddressNotAllowed, "%s is no address: %w", address, err)
	}
	addr := at.Addr().Unmap().WithZone("")
	if r.trusted || slices.ContainsFunc(r.Allowed, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return nil
	}
	what := ""
	switch {
	case addr.IsLoopback() || addr.IsUnspecified():
		what = "the manager's own host"
	case addr.IsLinkLocalUnicast() || addr.IsMulticast():
		what = "the manager's own network alone"
	case slices.Contains(r.APIServer, addr):
		what = "the API server"
	default:
		return nil
	}
	return failure(v1alpha1.ReasonAddressNotAllowed,
		"%s is an address of %s, where a catalog that is not trusted with the cluster may not point. To allow it: --catalog-allow-cidr of the manager",
		addr, what)
}

// plaintext returns an Error with reason PlaintextNotAllowed unless a host may be connected to without TLS.
func (r *Reach) plaintext(host string) error {
	name := nameOf(host)
	if slices.Contains(r.Plaintext, host) || slices.Contains(r.Plaintext, name) {
		return nil
	}
	return failure(v1alpha1.ReasonPlaintextNotAllowed,
		"%s would be spoken to without TLS, so that anybody on the way could say what is installed. To allow it: --catalog-plaintext=%s of the manager",
		host, name)
}

// plaintext returns an Error with reason PlaintextNotAllowed unless a host may be connected to without TLS for this catalog.
func (r route) plaintext(host string) error {
	if labels := strings.SplitN(strings.TrimSuffix(nameOf(host), "."), ".", 3); len(labels) > 1 && labels[1] == r.namespace &&
		(len(labels) == 2 || labels[2] == "svc" || strings.HasPrefix(labels[2], "svc.")) {
		return nil
	}
	return r.Reach.plaintext(host)
}

// nameOf returns a host without its port.
func nameOf(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return host
	}
	return name
}

// encrypted rejects requests without TLS, redirects included, unless the host may be connected to without it.
type encrypted struct {
	reach *Reach
	base  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (e encrypted) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" {
		if err := e.reach.plaintext(request.URL.Host); err != nil {
			return nil, err
		}
	}
	return e.base.RoundTrip(request)
}
