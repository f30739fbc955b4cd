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

// Reach is where CatalogSources may point. The manager reaches what their authors may not, such as its own node and the API server, so
// that it must not be had to ask there, nor to tell what is answered.
type Reach struct {
	// Trusts tells which catalogs are trusted with the cluster: they may point anywhere.
	Trusts func(types.NamespacedName) bool

	// Allowed are addresses that the others may point to as well.
	Allowed []netip.Prefix

	// Plaintext are the hosts, each with its port or for all, that are spoken to without TLS. A Service in the catalog's own namespace
	// is besides, since the registry pods of OLM speak nothing else.
	Plaintext []string

	// APIServer are the addresses of the API server.
	APIServer []netip.Addr
}

// ParseAllowed reads a list of CIDRs as a flag has it, with commas between.
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

// ParsePlaintext reads a list of hosts as a flag has it, with commas between.
func ParsePlaintext(list string) []string { return fields(list) }

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// route is how the content of one catalog is reached.
type route struct {
	*Reach
	namespace string
	trusted   bool
	transport http.RoundTripper
}

// routes are how the content of catalogs is reached. Those that are trusted share their connections, as do the others.
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

// dialer dials an address that has been looked up by then, so that no name and no redirect leads elsewhere than what is checked.
func (r route) dialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error { return r.check(address) }}
}

const dialTimeout = 30 * time.Second

// check is why an address is not dialled; nil where it is.
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

// plaintext is why a host is not spoken to without TLS; nil where it is.
func (r *Reach) plaintext(host string) error {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if slices.Contains(r.Plaintext, host) || slices.Contains(r.Plaintext, name) {
		return nil
	}
	return failure(v1alpha1.ReasonPlaintextNotAllowed,
		"%s would be spoken to without TLS, so that anybody on the way could say what is installed. To allow it: --catalog-plaintext=%s of the manager",
		host, name)
}

// plaintext is why a host is not spoken to without TLS for a catalog; nil where it is, as a Service of the catalog's own namespace.
func (r route) plaintext(host string) error {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if labels := strings.SplitN(strings.TrimSuffix(name, "."), ".", 3); len(labels) > 1 && labels[1] == r.namespace &&
		(len(labels) == 2 || labels[2] == "svc" || strings.HasPrefix(labels[2], "svc.")) {
		return nil
	}
	return r.Reach.plaintext(host)
}

// encrypted refuses requests without TLS, after a redirect too, but to the hosts that the admin names.
type encrypted struct {
	reach *Reach
	base  http.RoundTripper
}

// RoundTrip does a request.
func (e encrypted) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" {
		if err := e.reach.plaintext(request.URL.Host); err != nil {
			return nil, err
		}
	}
	return e.base.RoundTrip(request)
}
