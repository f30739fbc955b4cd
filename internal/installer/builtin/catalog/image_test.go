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
		"Plain":       {"A normal reference is unchanged.", "quay.io/acme/foo:v1", "quay.io/acme/foo:v1"},
		"Digest":      {"A digest is kept.", "quay.io/acme/foo" + digest, "quay.io/acme/foo" + digest},
		"Both":        {"A tag beside a digest is removed.", "quay.io/acme/foo:v1" + digest, "quay.io/acme/foo" + digest},
		"Case":        {"The host is converted to lower case.", "QUAY.IO/acme/foo:v1", "quay.io/acme/foo:v1"},
		"Dot":         {"A final dot of the host is removed.", "quay.io./acme/foo:v1", "quay.io/acme/foo:v1"},
		"DotPort":     {"A final dot before a port is removed.", "quay.io.:8443/acme/foo:v1", "quay.io:8443/acme/foo:v1"},
		"Port":        {"Leading zeros of the port are removed.", "quay.io:0443/acme/foo:v1", "quay.io:443/acme/foo:v1"},
		"Hub":         {"The host docker.io is replaced by index.docker.io.", "docker.io/foo:v1", "index.docker.io/library/foo:v1"},
		"HubCase":     {"The host of Docker Hub is recognized in any case.", "INDEX.docker.io/acme/foo:v1", "index.docker.io/acme/foo:v1"},
		"HubMirror":   {"The host registry-1.docker.io is replaced by index.docker.io.", "registry-1.docker.io/library/foo:v1", "index.docker.io/library/foo:v1"},
		"HubPort":     {"The host docker.io with port 443 is replaced by index.docker.io.", "docker.io:443/acme/foo:v1", "index.docker.io/acme/foo:v1"},
		"Short":       {"An image without a host is on Docker Hub.", "foo", "index.docker.io/library/foo:latest"},
		"Localhost":   {"A host without a domain is converted to lower case.", "LocalHost:5000/foo:v1", "localhost:5000/foo:v1"},
		"Service":     {"A component of the host may start with a digit.", "registry.2nd:5000/foo:v1", "registry.2nd:5000/foo:v1"},
		"IPv4":        {"An IPv4 address is unchanged.", "127.0.0.1:5000/foo:v1", "127.0.0.1:5000/foo:v1"},
		"IPv6":        {"An IPv6 address is converted to its shortest form.", "[2001:DB8:0:0::1]:5000/foo:v1", "[2001:db8::1]:5000/foo:v1"},
		"Mapped":      {"An IPv4 address that is mapped to IPv6 is converted to IPv4.", "[::ffff:192.0.2.1]:5000/foo:v1", "192.0.2.1:5000/foo:v1"},
		"Numbers":     {"An incomplete IPv4 address is refused, since some resolvers complete it.", "127.1:5000/foo:v1", "error: neither a host name nor an IP address"},
		"Hexadecimal": {"A hexadecimal IPv4 address is refused, since some resolvers accept it.", "0x7f.0.0.0x1:5000/foo:v1", "error: neither a host name nor an IP address"},
		"Dots":        {"A host with ideographic full stops is refused, since HTTP clients convert them to dots.", "quay。io/acme/foo:v1", "error: "},
		"Wide":        {"A host with fullwidth letters is refused, since HTTP clients convert them to ASCII.", "ｑuay.io/acme/foo:v1", "error: neither a host name nor an IP address"},
		"Parent":      {"A parent folder in the path is refused, since a server may resolve it.", "quay.io/public/../acme/foo:v1", "error: not a valid repository name"},
		"Self":        {"A dot in the path is refused, since a server may remove it.", "quay.io/./acme/foo:v1", "error: not a valid repository name"},
		"Empty":       {"An empty component of the path is refused, since a server may remove it.", "quay.io//acme/foo:v1", "error: not a valid repository name"},
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
		"Host":        {"A host matches all its repositories.", "quay.io", "quay.io/acme/foo", true},
		"Path":        {"A path matches at the end of a component.", "quay.io/acme", "quay.io/acme/foo", true},
		"Part":        {"A path does not match within a component.", "quay.io/ac", "quay.io/acme/foo", false},
		"Whole":       {"A path matches the repository itself.", "quay.io/acme/foo/", "quay.io/acme/foo", true},
		"Case":        {"The case of the policy's host is ignored.", "QUAY.io./acme", "quay.io/acme/foo", true},
		"ImageCase":   {"The case of the image's host is ignored.", "quay.io/acme", "QUAY.IO/acme/foo", true},
		"AnyPort":     {"A host without a port matches any port.", "quay.io/acme", "quay.io:443/acme/foo", true},
		"DefaultPort": {"Port 443 matches an image without a port.", "quay.io:443/acme", "quay.io/acme/foo", true},
		"OtherPort":   {"A host with another port does not match.", "quay.io:5000/acme", "quay.io/acme/foo", false},
		"Hub":         {"A prefix of Docker Hub matches an image without a host.", "docker.io/library", "foo", true},
		"HubShort":    {"An official image of Docker Hub has a short name.", "docker.io/foo", "foo:v1", true},
		"HubOrg":      {"So does an organization.", "docker.io/foo", "foo/bar", true},
		"HubAnother":  {"Another official image does not match.", "docker.io/foo", "bar", false},
		"NotHub":      {"Other registries have no short names.", "quay.io/foo", "quay.io/library/foo", false},
		"HubOther":    {"All hosts of Docker Hub match each other.", "index.docker.io", "registry-1.docker.io/acme/foo", true},
		"Localhost":   {"The case of a host without a domain is ignored.", "localhost:5000", "LOCALHOST:5000/foo", true},
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
