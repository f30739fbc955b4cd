package store

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// Kinds of sources that AnnotationRegistryCA can name.
const (
	authoritySystem    = "system"
	authorityConfigMap = "configmap"
	authoritySecret    = "secret"

	defaultAuthorityKey = "ca.crt"
)

// authority is the certificate authority that a catalog's registries are verified with, in addition to those of the
// system.
type authority struct {
	kind, name, key string
}

// parseAuthority parses the value of AnnotationRegistryCA. It returns the zero authority for an empty value.
func parseAuthority(value string) (authority, error) {
	if value == "" || value == authoritySystem {
		return authority{kind: value}, nil
	}
	kind, rest, ok := strings.Cut(value, "/")
	name, key, _ := strings.Cut(rest, "#")
	if !ok || name == "" || kind != authorityConfigMap && kind != authoritySecret {
		return authority{}, fmt.Errorf("annotation %s is %q: it must be %s, %s/<name> or %s/<name>, with #<key> unless the key is %s",
			v1alpha1.AnnotationRegistryCA, value, authoritySystem, authorityConfigMap, authoritySecret, defaultAuthorityKey)
	}
	return authority{kind: kind, name: name, key: cmp.Or(key, defaultAuthorityKey)}, nil
}

// String returns the kind, name and key of the object.
func (a authority) String() string { return fmt.Sprintf("%s/%s#%s", a.kind, a.name, a.key) }

// pool reads the certificates. It returns nil, which means those of the system, if no object is named.
func (a authority) pool(ctx context.Context, reader client.Reader, namespace string) (*x509.CertPool, error) {
	if a.name == "" {
		return nil, nil
	}
	text, err := a.read(ctx, reader, namespace)
	if err != nil {
		return nil, catalog.Errorf(v1alpha1.ReasonCertificateAuthorityInvalid, "reading %s, which annotation %s names: %w", a, v1alpha1.AnnotationRegistryCA, err)
	}
	out, err := x509.SystemCertPool()
	if err != nil {
		out = x509.NewCertPool() // a system without certificates is no reason to reject these
	}
	if !out.AppendCertsFromPEM(text) {
		return nil, catalog.Errorf(v1alpha1.ReasonCertificateAuthorityInvalid, "%s, which annotation %s names, has no certificate in PEM format",
			a, v1alpha1.AnnotationRegistryCA)
	}
	return out, nil
}

func (a authority) read(ctx context.Context, reader client.Reader, namespace string) ([]byte, error) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: a.name}
	if a.kind == authoritySecret {
		secret := &corev1.Secret{ObjectMeta: meta}
		err := reader.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		return secret.Data[a.key], err
	}
	cm := &corev1.ConfigMap{ObjectMeta: meta}
	err := reader.Get(ctx, client.ObjectKeyFromObject(cm), cm)
	return []byte(cm.Data[a.key]), err
}

// certificateError returns an Error with reason CertificateAuthorityInvalid if a registry's certificate is not trusted.
func certificateError(host string, err error) error {
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return catalog.Errorf(v1alpha1.ReasonCertificateAuthorityInvalid,
			"connecting to %s with TLS: %w: set the certificate authority to trust in annotation %s of the CatalogSource",
			host, unknown, v1alpha1.AnnotationRegistryCA)
	}
	return fmt.Errorf("connecting to %s with TLS: %w", host, err)
}
