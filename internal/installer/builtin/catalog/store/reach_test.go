package store

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// tenants returns a Reach that trusts the catalogs of namespace olm.
func tenants(allowed, plaintext string) *Reach {
	cidrs, err := ParseAllowed(allowed)
	if err != nil {
		panic(err)
	}
	return &Reach{
		Trusts:  func(catalog types.NamespacedName) bool { return catalog.Namespace == "olm" },
		Allowed: cidrs, Plaintext: ParsePlaintext(plaintext), APIServer: []netip.Addr{netip.MustParseAddr("10.96.0.1")},
	}
}

func TestReachAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, namespace, allowed, address string
		want                                string // empty if the address may be dialed
	}{
		"Elsewhere":          {"A public address is allowed.", "tenant", "", "192.0.2.1:443", ""},
		"InTheCluster":       {"The address of a Service in the cluster is allowed.", "tenant", "", "10.96.7.7:443", ""},
		"Loopback":           {"A loopback address is refused, since only the manager can reach it.", "tenant", "", "127.0.0.1:5000", "own host"},
		"Loopback6":          {"The loopback address of IPv6 is refused.", "tenant", "", "[::1]:5000", "own host"},
		"Mapped":             {"A loopback address is refused if it is mapped to IPv6.", "tenant", "", "[::ffff:127.0.0.1]:5000", "own host"},
		"Unspecified":        {"The unspecified address is refused, since Linux connects it to loopback.", "tenant", "", "0.0.0.0:5000", "own host"},
		"Metadata":           {"The metadata service is refused, since it returns credentials of the cloud.", "tenant", "", "169.254.169.254:80", "own network"},
		"LinkLocal6":         {"A link-local address with a zone is refused.", "tenant", "", "[fe80::1%eth0]:80", "own network"},
		"APIServer":          {"The API server is refused, since it may treat the manager's address differently from others.", "tenant", "", "10.96.0.1:443", "the API server"},
		"APIServerMapped":    {"The API server is refused by its NAT64 address.", "tenant", "", "[64:ff9b::10.96.0.1]:443", "the API server"},
		"MetadataNAT64":      {"The metadata service is refused by its NAT64 address.", "tenant", "", "[64:ff9b::169.254.169.254]:80", "own network"},
		"MetadataLocalNAT64": {"The metadata service is refused by a NAT64 address with a prefix for local use.", "tenant", "", "[64:ff9b:1::a9fe:a9fe]:80", "own network"},
		"Metadata6to4":       {"The metadata service is refused by its 6to4 address.", "tenant", "", "[2002:a9fe:a9fe::1]:80", "own network"},
		"Compatible":         {"A loopback address is refused if it is written as an IPv4-compatible address.", "tenant", "", "[::127.0.0.1]:80", "own host"},
		"Amazon6":            {"The IPv6 metadata service of Amazon, which is not link-local, is refused.", "tenant", "", "[fd00:ec2::254]:80", "metadata"},
		"Google6":            {"The IPv6 metadata service of Google, which is not link-local, is refused.", "tenant", "", "[fd20:ce::254]:80", "metadata"},
		"Alibaba":            {"The metadata service of Alibaba, which is not link-local, is refused.", "tenant", "", "100.100.100.200:80", "metadata"},
		"Azure":              {"The metadata service of Azure, which is not link-local, is refused.", "tenant", "", "168.63.129.16:80", "metadata"},
		"Oracle":             {"The metadata service of Oracle, which is not link-local, is refused.", "tenant", "", "192.0.0.192:80", "metadata"},
		"Private6":           {"Other private addresses of IPv6 are allowed.", "tenant", "", "[fd00::1]:443", ""},
		"Allowed":            {"An address in --catalog-allow-cidr is allowed.", "tenant", "127.0.0.0/8", "127.0.0.1:5000", ""},
		"AllowedOthers":      {"An address outside --catalog-allow-cidr is refused.", "tenant", "127.0.0.0/8", "[::1]:5000", "--catalog-allow-cidr"},
		"Trusted":            {"Every address is allowed for a trusted catalog.", "olm", "", "127.0.0.1:5000", ""},
		"NoAddress":          {"A host name is refused, since only resolved addresses are dialed.", "tenant", "", "localhost:5000", "is not a valid address"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tenants(tc.allowed, "").of(types.NamespacedName{Namespace: tc.namespace}).check(tc.address)
			if (err == nil) != (tc.want == "") || err != nil &&
				(catalog.AsError(err, "").Reason != v1alpha1.ReasonAddressNotAllowed || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: %v; want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestReachPlaintext(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, plaintext, host string
		want                    bool
	}{
		"Nobody":        {"Plaintext is not allowed by default.", "", "registry.example.com:50051", false},
		"Host":          {"A host without a port allows every port.", "registry.example.com", "registry.example.com:50051", true},
		"HostAndPort":   {"A host with a port allows that port.", "a:1,registry.example.com:50051", "registry.example.com:50051", true},
		"OtherPort":     {"A host with a port allows no other port.", "registry.example.com:50052", "registry.example.com:50051", false},
		"OwnService":    {"Plaintext is allowed to a Service of the same namespace, as registry pods of OLM use it.", "", "foo.tenant.svc:50051", true},
		"OwnServiceDNS": {"A Service of the same namespace may be written with its full DNS name.", "", "foo.tenant.svc.cluster.local:50051", true},
		"OwnShort":      {"A Service of the same namespace may be written with its short DNS name.", "", "foo.tenant:50051", true},
		"OtherService":  {"Plaintext is not allowed to a Service of another namespace.", "", "foo.other.svc:50051", false},
		"LooksLikeOwn":  {"Plaintext is not allowed to a host outside the cluster whose name resembles that of a Service.", "", "foo.tenant.example.com:50051", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := tenants("", tc.plaintext).of(types.NamespacedName{Namespace: "tenant"}).plaintext(tc.host)
			if (err == nil) != tc.want || err != nil && catalog.AsError(err, "").Reason != v1alpha1.ReasonPlaintextNotAllowed {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestRegistryScheme verifies that --catalog-plaintext also applies to the registries of images.
func TestRegistryScheme(t *testing.T) {
	for image, want := range map[string]string{
		"registry.example.com:5000/a:v1": "http",
		"registry.tenant.svc:5000/a:v1":  "http",
		"quay.io/a/b":                    "https",
		"registry.example.com/a:v1":      "https",
	} {
		got, err := tenants("", "registry.example.com:5000").of(types.NamespacedName{Namespace: "tenant"}).registry(image)
		if err != nil || got.Scheme() != want {
			t.Errorf("%s: got %s, %v, want %s", image, got.Scheme(), err, want)
		}
	}
}

func TestParseAllowed(t *testing.T) {
	if _, err := ParseAllowed("10.0.0.0/8, fd00::/8"); err != nil {
		t.Error(err)
	}
	if _, err := ParseAllowed("10.0.0.1"); err == nil || !strings.Contains(err.Error(), "10.0.0.0/8") {
		t.Errorf("got %v, want an error with an example of a CIDR", err)
	}
}
