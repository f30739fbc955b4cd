package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pullSecrets are the Secrets that a CatalogSource names.
type pullSecrets struct {
	reader    client.Reader
	namespace string
	names     []string
}

// credentials are those that the Secrets hold for a repository, in the order of the Secrets, or none at all where they
// hold none. Secrets that are of no use are told of in problems.
func (s pullSecrets) credentials(ctx context.Context, repository name.Repository) (out []authn.Authenticator, problems []string) {
	for _, secretName := range s.names {
		key := types.NamespacedName{Namespace: s.namespace, Name: secretName}
		found, err := s.read(ctx, key)
		if err != nil {
			problems = append(problems, err.Error())
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

func (s pullSecrets) read(ctx context.Context, key types.NamespacedName) (*configfile.ConfigFile, error) {
	secret := &corev1.Secret{}
	if err := s.reader.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("pull secret %s, which spec.secrets names, is not there", key)
		}
		return nil, fmt.Errorf("reading Secret %s, which spec.secrets names: %w", key, err)
	}
	text, err := dockerConfig(secret)
	if err != nil {
		return nil, fmt.Errorf("pull secret %s, which spec.secrets names, %w", key, err)
	}
	out, err := config.LoadFromReader(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("pull secret %s, which spec.secrets names, holds no credentials in the form of docker's config.json", key) // the cause may quote them
	}
	return out, nil
}

// dockerConfig is the text of a Secret in the newer of the two formats that Kubernetes knows.
func dockerConfig(secret *corev1.Secret) (string, error) {
	if secret.Type == corev1.SecretTypeDockerConfigJson {
		return string(secret.Data[corev1.DockerConfigJsonKey]), nil
	}
	if secret.Type == corev1.SecretTypeDockercfg {
		text, err := json.Marshal(map[string]json.RawMessage{"auths": secret.Data[corev1.DockerConfigKey]})
		if err != nil {
			return "", fmt.Errorf("holds no JSON in %s", corev1.DockerConfigKey)
		}
		return string(text), nil
	}
	return "", fmt.Errorf("is of type %q: it has to be %s or %s", secret.Type, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg)
}

// match is what a Secret holds for a repository: under its own name, that of a part of its path, or its registry's. A
// credential store or helper that it names is no matter: it would run in the manager.
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

// registryKey is a key of docker's config.json without what differs between the ways to write one registry.
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
