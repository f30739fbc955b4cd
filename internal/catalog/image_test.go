package catalog

import (
	"strings"
	"testing"
)

func TestParseImage(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	tests := map[string]struct {
		reason, image string
		want          string // the reference, or a part of the error after "error: "
	}{
		"Plain":       {"nothing to change", "quay.io/acme/foo:v1", "quay.io/acme/foo:v1"},
		"Digest":      {"a digest stays", "quay.io/acme/foo" + digest, "quay.io/acme/foo" + digest},
		"Both":        {"the digest decides", "quay.io/acme/foo:v1" + digest, "quay.io/acme/foo" + digest},
		"Case":        {"DNS ignores case", "QUAY.IO/acme/foo:v1", "quay.io/acme/foo:v1"},
		"Dot":         {"a final dot only ends the search", "quay.io./acme/foo:v1", "quay.io/acme/foo:v1"},
		"DotPort":     {"also before a port", "quay.io.:8443/acme/foo:v1", "quay.io:8443/acme/foo:v1"},
		"Port":        {"ports have leading zeros", "quay.io:0443/acme/foo:v1", "quay.io:443/acme/foo:v1"},
		"Hub":         {"Docker Hub has several names", "docker.io/foo:v1", "index.docker.io/library/foo:v1"},
		"HubCase":     {"also in another case", "INDEX.docker.io/acme/foo:v1", "index.docker.io/acme/foo:v1"},
		"HubMirror":   {"the host that serves it", "registry-1.docker.io/library/foo:v1", "index.docker.io/library/foo:v1"},
		"HubPort":     {"and a port", "docker.io:443/acme/foo:v1", "index.docker.io/acme/foo:v1"},
		"Short":       {"Docker Hub is the default", "foo", "index.docker.io/library/foo:latest"},
		"Localhost":   {"case of hosts without a domain", "LocalHost:5000/foo:v1", "localhost:5000/foo:v1"},
		"Service":     {"a namespace may begin with a digit", "registry.2nd:5000/foo:v1", "registry.2nd:5000/foo:v1"},
		"IPv4":        {"an address", "127.0.0.1:5000/foo:v1", "127.0.0.1:5000/foo:v1"},
		"IPv6":        {"an address in a long form", "[2001:DB8:0:0::1]:5000/foo:v1", "[2001:db8::1]:5000/foo:v1"},
		"Mapped":      {"an IPv4 address as IPv6", "[::ffff:192.0.2.1]:5000/foo:v1", "192.0.2.1:5000/foo:v1"},
		"Numbers":     {"some resolvers complete them", "127.1:5000/foo:v1", "error: neither a host name nor an IP address"},
		"Hexadecimal": {"or read other bases", "0x7f.0.0.0x1:5000/foo:v1", "error: neither a host name nor an IP address"},
		"Dots":        {"an HTTP client makes dots of these", "quay。io/acme/foo:v1", "error: "},
		"Wide":        {"and letters of these", "ｑuay.io/acme/foo:v1", "error: neither a host name nor an IP address"},
		"Parent":      {"a server may remove it", "quay.io/public/../acme/foo:v1", "error: not a valid repository name"},
		"Self":        {"a server may remove it", "quay.io/./acme/foo:v1", "error: not a valid repository name"},
		"Empty":       {"a server may remove it", "quay.io//acme/foo:v1", "error: not a valid repository name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseImage(tt.image)
			if part, wantError := strings.CutPrefix(tt.want, "error: "); wantError {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Fatalf("%s: ParseImage(%q) = %v, %v; want %s", tt.reason, tt.image, got, err, tt.want)
				}
				return
			}
			if err != nil || got.Name() != tt.want {
				t.Fatalf("%s: ParseImage(%q) = %v, %v; want %s", tt.reason, tt.image, got, err, tt.want)
			}
			if again, err := ParseImage(got.Name()); err != nil || again.Name() != tt.want {
				t.Errorf("parsed again, %s is %v, %v", tt.want, again, err)
			}
		})
	}
}

func TestImagePrefix(t *testing.T) {
	tests := map[string]struct {
		reason, prefix, image string
		want                  bool
	}{
		"Host":        {"all of a registry", "quay.io", "quay.io/acme/foo", true},
		"Path":        {"whole components", "quay.io/acme", "quay.io/acme/foo", true},
		"Part":        {"half a component is none", "quay.io/ac", "quay.io/acme/foo", false},
		"Whole":       {"the repository itself", "quay.io/acme/foo/", "quay.io/acme/foo", true},
		"Case":        {"the policy in another case", "QUAY.io./acme", "quay.io/acme/foo", true},
		"ImageCase":   {"the image in another case", "quay.io/acme", "QUAY.IO/acme/foo", true},
		"AnyPort":     {"without a port, every one", "quay.io/acme", "quay.io:443/acme/foo", true},
		"DefaultPort": {"the port of TLS need not be named", "quay.io:443/acme", "quay.io/acme/foo", true},
		"OtherPort":   {"a port", "quay.io:5000/acme", "quay.io/acme/foo", false},
		"Hub":         {"a name of Docker Hub", "docker.io/library", "foo", true},
		"HubOther":    {"for another", "index.docker.io", "registry-1.docker.io/acme/foo", true},
		"Localhost":   {"a host without a domain", "localhost:5000", "LOCALHOST:5000/foo", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			prefix, err := ParseImagePrefix(tt.prefix)
			if err != nil {
				t.Fatal(err)
			}
			image, err := ParseImage(tt.image)
			if err != nil {
				t.Fatal(err)
			}
			if got := prefix.Match(image.Context()) > 0; got != tt.want {
				t.Errorf("%s: %s matches %s: %t", tt.reason, tt.prefix, tt.image, got)
			}
		})
	}
	for _, prefix := range []string{"", "https://quay.io/acme", "quay.io/acme:v1", "quay.io/../acme", "127.1", "-"} {
		if got, err := ParseImagePrefix(prefix); err == nil {
			t.Errorf("ParseImagePrefix(%q) = %v; want an error", prefix, got)
		}
	}
}
