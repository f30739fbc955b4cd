package reader

import (
	"slices"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// pullSecrets are the usable pull secrets of a CatalogSource, and why others are not usable.
type pullSecrets struct {
	all      []catalog.PullSecret
	problems []string
}

// credentials returns the credentials for a repository in the order of the Secrets, or else anonymous ones, and why
// Secrets are not usable.
func (s pullSecrets) credentials(repository name.Repository) (out []authn.Authenticator, problems []string) {
	problems = slices.Clone(s.problems)
	for _, secret := range s.all {
		found, err := config.LoadFromReader(strings.NewReader(secret.Config))
		if err != nil { // the error may quote credentials
			problems = append(problems, "pull secret "+secret.Name+" of spec.secrets has no credentials in the format of Docker's config.json")
			continue
		}
		if c := match(found, repository); c != nil {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = []authn.Authenticator{authn.Anonymous}
	}
	return out, problems
}

// match returns the credentials of a Secret for a repository: those of the longest key that is the repository, a parent
// path or the registry. Credential stores and helpers are ignored, since they would run in the manager.
func match(file *configfile.ConfigFile, repository name.Repository) authn.Authenticator {
	auths := map[string]authn.AuthConfig{}
	for key, c := range file.AuthConfigs {
		auths[registryKey(key)] = authn.AuthConfig{
			Username: c.Username, Password: c.Password, Auth: c.Auth, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
		}
	}
	parts := strings.Split(repository.RegistryStr()+"/"+repository.RepositoryStr(), "/")
	for n := len(parts); n > 0; n-- {
		if c, ok := auths[strings.Join(parts[:n], "/")]; ok {
			return authn.FromConfig(c)
		}
	}
	return nil
}

// registryKey normalizes a key of docker's config.json.
func registryKey(key string) string {
	for _, scheme := range []string{"https://", "http://"} {
		key = strings.TrimPrefix(key, scheme)
	}
	key = strings.TrimRight(key, "/")
	for _, version := range []string{"/v1", "/v2"} {
		key = strings.TrimSuffix(key, version)
	}
	if slices.Contains([]string{"docker.io", "registry-1.docker.io"}, key) {
		return name.DefaultRegistry
	}
	return key
}
