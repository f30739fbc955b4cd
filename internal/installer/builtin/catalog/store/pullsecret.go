package store

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// pullSecrets reads the Secrets that a CatalogSource names.
type pullSecrets struct {
	reader    client.Reader
	namespace string
	names     []string
}

// read returns the usable Secrets, and a message for each of the others.
func (s pullSecrets) read(ctx context.Context) (out []catalog.PullSecret, problems []string) {
	for _, name := range s.names {
		secret, err := s.one(ctx, types.NamespacedName{Namespace: s.namespace, Name: name})
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		out = append(out, secret)
	}
	return out, problems
}

func (s pullSecrets) one(ctx context.Context, key types.NamespacedName) (catalog.PullSecret, error) {
	secret := &corev1.Secret{}
	if err := s.reader.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return catalog.PullSecret{}, fmt.Errorf("pull secret %s of spec.secrets not found", key)
		}
		return catalog.PullSecret{}, fmt.Errorf("reading Secret %s of spec.secrets: %w", key, err)
	}
	text, err := dockerConfig(secret)
	if err != nil {
		return catalog.PullSecret{}, fmt.Errorf("pull secret %s of spec.secrets %w", key, err)
	}
	return catalog.PullSecret{Name: key.String(), Config: text}, nil
}

// dockerConfig returns the credentials of a Secret as docker's config.json, the newer of the two formats of Kubernetes.
func dockerConfig(secret *corev1.Secret) (string, error) {
	if secret.Type == corev1.SecretTypeDockerConfigJson {
		return string(secret.Data[corev1.DockerConfigJsonKey]), nil
	}
	if secret.Type == corev1.SecretTypeDockercfg {
		text, err := json.Marshal(map[string]json.RawMessage{"auths": secret.Data[corev1.DockerConfigKey]})
		if err != nil {
			return "", fmt.Errorf("has no valid JSON in %s", corev1.DockerConfigKey)
		}
		return string(text), nil
	}
	return "", fmt.Errorf("is of type %q: it must be %s or %s", secret.Type, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg)
}
