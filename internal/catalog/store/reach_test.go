package store

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/catalog"
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
		"Elsewhere":          {"A registry may be anywhere.", "tenant", "", "192.0.2.1:443", ""},
		"InTheCluster":       {"So may a Service.", "tenant", "", "10.96.7.7:443", ""},
		"Loopback":           {"Only the manager reaches what listens there.", "tenant", "", "127.0.0.1:5000", "own host"},
		"Loopback6":          {"There too.", "tenant", "", "[::1]:5000", "own host"},
		"Mapped":             {"By any name.", "tenant", "", "[::ffff:127.0.0.1]:5000", "own host"},
		"Unspecified":        {"Which Linux takes for loopback.", "tenant", "", "0.0.0.0:5000", "own host"},
		"Metadata":           {"The cloud's credentials are there.", "tenant", "", "169.254.169.254:80", "own network"},
		"LinkLocal6":         {"Also with a zone.", "tenant", "", "[fe80::1%eth0]:80", "own network"},
		"APIServer":          {"It may treat the manager's address differently from others.", "tenant", "", "10.96.0.1:443", "the API server"},
		"APIServerMapped":    {"By any name.", "tenant", "", "[64:ff9b::10.96.0.1]:443", "the API server"},
		"MetadataNAT64":      {"A gateway forwards to the IPv4 address.", "tenant", "", "[64:ff9b::169.254.169.254]:80", "own network"},
		"MetadataLocalNAT64": {"So does one with a prefix for private use.", "tenant", "", "[64:ff9b:1::a9fe:a9fe]:80", "own network"},
		"Metadata6to4":       {"So does a relay.", "tenant", "", "[2002:a9fe:a9fe::1]:80", "own network"},
		"Compatible":         {"An old way to write IPv4 addresses.", "tenant", "", "[::127.0.0.1]:80", "own host"},
		"Amazon6":            {"Not all metadata services are link-local.", "tenant", "", "[fd00:ec2::254]:80", "metadata"},
		"Google6":            {"Nor is this.", "tenant", "", "[fd20:ce::254]:80", "metadata"},
		"Alibaba":            {"Nor is this.", "tenant", "", "100.100.100.200:80", "metadata"},
		"Azure":              {"Nor is this.", "tenant", "", "168.63.129.16:80", "metadata"},
		"Oracle":             {"Nor is this.", "tenant", "", "192.0.0.192:80", "metadata"},
		"Private6":           {"Other private addresses may have registries.", "tenant", "", "[fd00::1]:443", ""},
		"Allowed":            {"The admin may open some.", "tenant", "127.0.0.0/8", "127.0.0.1:5000", ""},
		"AllowedOthers":      {"And only those.", "tenant", "127.0.0.0/8", "[::1]:5000", "--catalog-allow-cidr"},
		"Trusted":            {"A trusted catalog points anywhere.", "olm", "", "127.0.0.1:5000", ""},
		"NoAddress":          {"What is none is not dialled.", "tenant", "", "localhost:5000", "is not a valid address"},
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
		"Host":          {"A host is meant with every port.", "registry.example.com", "registry.example.com:50051", true},
		"HostAndPort":   {"Or with one.", "a:1,registry.example.com:50051", "registry.example.com:50051", true},
		"OtherPort":     {"And no other.", "registry.example.com:50052", "registry.example.com:50051", false},
		"OwnService":    {"OLM's registry pods speak nothing else.", "", "foo.tenant.svc:50051", true},
		"OwnServiceDNS": {"By its long name.", "", "foo.tenant.svc.cluster.local:50051", true},
		"OwnShort":      {"By its short name.", "", "foo.tenant:50051", true},
		"OtherService":  {"That of another namespace is another's.", "", "foo.other.svc:50051", false},
		"LooksLikeOwn":  {"A host of the world is no Service.", "", "foo.tenant.example.com:50051", false},
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
