package catalog

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// ParseImage parses the reference of an image and spells it in one way: the registry's host in lower case, without a
// final dot, and as docker.io if it is Docker Hub; IP addresses and ports as short as possible. All code that compares,
// allows or pulls images uses it, so none takes an image for another. It returns an error if the registry is neither a
// host name nor an IP address, or the repository has components that servers may remove, such as "..".
func ParseImage(image string, options ...name.Option) (name.Reference, error) {
	reference, err := name.ParseReference(image, options...)
	if err != nil {
		return nil, err
	}
	registry, err := canonicalRegistry(reference.Context().RegistryStr())
	if err != nil {
		return nil, err
	}
	repository := reference.Context().RepositoryStr()
	if !repositoryPath.MatchString(repository) {
		return nil, fmt.Errorf("%q is not a valid repository name: its components begin and end with a lower-case letter or a digit", repository)
	}
	separator := ":"
	if _, byDigest := reference.(name.Digest); byDigest {
		separator = "@"
	}
	return name.ParseReference(registry+"/"+repository+separator+reference.Identifier(), options...)
}

// ImagePrefix is the start of the name of a repository.
type ImagePrefix struct {
	host string
	port string // empty for every port
	path string // empty for every repository
}

// ParseImagePrefix parses a host with or without a port, and optionally the first components of a repository's path. It
// spells them as ParseImage does.
func ParseImagePrefix(prefix string) (ImagePrefix, error) {
	registry, path, _ := strings.Cut(strings.TrimSuffix(prefix, "/"), "/")
	registry, err := canonicalRegistry(registry)
	if err != nil {
		return ImagePrefix{}, err
	}
	if path != "" && !repositoryPath.MatchString(path) {
		return ImagePrefix{}, fmt.Errorf("%q is not a valid prefix of a repository name", path)
	}
	host, port := splitPort(registry)
	return ImagePrefix{host: host, port: port, path: path}, nil
}

// Match returns how much of a repository's name the prefix determines, or 0 if it does not match. A prefix without a port
// is one of the repositories at every port. A component of Docker Hub is an organization, or the short name of an official image.
func (p ImagePrefix) Match(repository name.Repository) int {
	host, port := splitPort(repository.RegistryStr())
	if port == "" {
		port = "443"
	}
	path := repository.RepositoryStr()
	if host != p.host || p.port != "" && port != p.port {
		return 0
	}
	isOfficial := host == name.DefaultRegistry && path == "library/"+p.path
	if p.path != "" && path != p.path && !strings.HasPrefix(path, p.path+"/") && !isOfficial {
		return 0
	}
	return len(p.host) + len(p.port) + len(p.path)
}

// repositoryPath matches the name of a repository without its registry, as the OCI Distribution Specification defines it.
var repositoryPath = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// hostName matches host names, including those that endsInNumber matches, which some resolvers take for IPv4 addresses.
var (
	hostName     = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*$`)
	endsInNumber = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)
)

// dockerHub are the hosts of Docker Hub.
var dockerHub = map[string]bool{"docker.io": true, name.DefaultRegistry: true, "registry-1.docker.io": true, "registry.hub.docker.com": true}

// canonicalRegistry returns the one spelling of a registry.
func canonicalRegistry(registry string) (string, error) {
	host, port := splitPort(strings.ToLower(registry))
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		port = strconv.FormatUint(n, 10)
	} else if port != "" {
		return "", fmt.Errorf("%q is not a valid port", port)
	}
	host = strings.TrimSuffix(host, ".")
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	switch {
	case err == nil:
		host = addr.Unmap().String()
	case dockerHub[host]:
		host, port = name.DefaultRegistry, ""
	case !hostName.MatchString(host) || endsInNumber.MatchString(host):
		return "", fmt.Errorf("%q is neither a host name nor an IP address", host)
	}
	if port != "" {
		return net.JoinHostPort(host, port), nil
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]", nil
	}
	return host, nil
}

// splitPort splits a registry into its host and its port, which is empty if it has none.
func splitPort(registry string) (host, port string) {
	if host, port, err := net.SplitHostPort(registry); err == nil {
		return host, port
	}
	return strings.Trim(registry, "[]"), ""
}
