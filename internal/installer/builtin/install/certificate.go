package install

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

const (
	// certValidFor is the validity of a certificate.
	certValidFor = 2 * 365 * 24 * time.Hour

	// certMinFresh is how long before its expiry a certificate is replaced.
	certMinFresh = 24 * time.Hour

	// certBackdated is how far the API server's clock may be behind.
	certBackdated = time.Minute

	organization = "operator-status"
)

// Certificate is the serving certificate of a Deployment with its key and its CA certificate, all in PEM. The CA's key
// is discarded after it has signed.
type Certificate struct {
	CA, Cert, Key []byte

	// Made is when the certificate was created, RotateAt when it has to be replaced.
	Made, RotateAt time.Time

	// Renewed is true if the certificate is not the one that was in the Secret.
	Renewed bool
}

// Certificates holds serving certificates by the name of their Deployment.
type Certificates map[string]Certificate

// Certify returns a certificate for each Deployment of the CSV that serves webhooks. It keeps the one in the Secret
// SecretName while that is valid. read holds the existing Secrets of the CSV's namespace.
func Certify(csv *v1alpha1.ClusterServiceVersion, read []corev1.Secret, now time.Time) (Certificates, error) {
	out := Certificates{}
	for _, d := range servingDeployments(csv) {
		hosts := hostnames(serviceName(d.Name), csv.Namespace)
		cert, ok := kept(read, SecretName(d.Name), hosts, now)
		if !ok {
			var err error
			if cert, err = newCertificate(hosts, now); err != nil {
				return nil, fmt.Errorf("creating the certificate of deployment %s: %w", d.Name, err)
			}
		}
		out[d.Name] = cert
	}
	return out, nil
}

// complete returns an error if a Deployment that serves webhooks has no certificate.
func (c Certificates) complete(csv *v1alpha1.ClusterServiceVersion) error {
	for _, d := range servingDeployments(csv) {
		if _, ok := c[d.Name]; !ok {
			return fmt.Errorf("deployment %s has no certificate", d.Name)
		}
	}
	return nil
}

// LastUpdated returns when the newest certificate was created, or nil.
func (c Certificates) LastUpdated() *metav1.Time {
	var last *metav1.Time
	for _, cert := range c {
		if last == nil || cert.Made.After(last.Time) {
			last = &metav1.Time{Time: cert.Made}
		}
	}
	return last
}

// RotateAt returns when the first certificate has to be replaced, or nil.
func (c Certificates) RotateAt() *metav1.Time {
	var first *metav1.Time
	for _, cert := range c {
		if first == nil || cert.RotateAt.Before(first.Time) {
			first = &metav1.Time{Time: cert.RotateAt}
		}
	}
	return first
}

func (c Certificate) hash() string {
	sum := sha256.Sum256(c.CA)
	return hex.EncodeToString(sum[:])
}

func hostnames(service, namespace string) []string {
	name := service + "." + namespace
	return []string{name, name + ".svc", name + ".svc.cluster.local"}
}

// kept returns the certificate in the named Secret, if it is valid.
func kept(read []corev1.Secret, name string, hosts []string, now time.Time) (Certificate, bool) {
	for _, secret := range read {
		if secret.Name == name {
			cert, err := fromSecret(secret, hosts, now)
			return cert, err == nil
		}
	}
	return Certificate{}, false
}

// maxServing limits each part of a kept serving certificate, in bytes. Its keys are of an elliptic curve.
const maxServing = 4 << 10

// ServingData returns the parts of the data of a Secret that Certify reads.
func ServingData(secret *corev1.Secret) map[string][]byte {
	if secret.Type != corev1.SecretTypeTLS {
		return nil
	}
	out := map[string][]byte{}
	for _, key := range []string{caKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if part, ok := secret.Data[key]; ok && len(part) <= maxServing {
			out[key] = part
		}
	}
	return out
}

// fromSecret returns the certificate in a Secret, or why it is no longer valid.
func fromSecret(secret corev1.Secret, hosts []string, now time.Time) (Certificate, error) {
	out := Certificate{CA: secret.Data[caKey], Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	pair, err := tls.X509KeyPair(out.Cert, out.Key)
	if err != nil {
		return out, err
	}
	block, _ := pem.Decode(out.CA)
	if block == nil {
		return out, errors.New("CA certificate not found")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return out, err
	}
	out.Made = pair.Leaf.NotBefore.Add(certBackdated)
	out.RotateAt = ca.NotAfter.Add(-certMinFresh)
	if end := pair.Leaf.NotAfter.Add(-certMinFresh); end.Before(out.RotateAt) {
		out.RotateAt = end
	}
	if now.After(out.RotateAt) {
		return out, errors.New("certificate is about to expire")
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	for _, host := range hosts {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// newCertificate returns a certificate that is signed by a new CA of its own.
func newCertificate(hosts []string, now time.Time) (Certificate, error) {
	authority, err := sign(x509.Certificate{
		Subject: pkix.Name{CommonName: "operator-status-selfsigned"},
		IsCA:    true, KeyUsage: x509.KeyUsageCertSign,
	}, now, nil)
	if err != nil {
		return Certificate{}, err
	}
	serving, err := sign(x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: hosts,
	}, now, authority)
	if err != nil {
		return Certificate{}, err
	}
	key, err := x509.MarshalECPrivateKey(serving.key)
	if err != nil {
		return Certificate{}, err
	}
	return Certificate{
		CA:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.cert.Raw}),
		Cert:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: serving.cert.Raw}),
		Key:      pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}),
		Made:     serving.cert.NotBefore.Add(certBackdated),
		RotateAt: serving.cert.NotAfter.Add(-certMinFresh),
		Renewed:  true,
	}, nil
}

type keyPair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign creates a key and a certificate for it from a template, signed by by, or self-signed if by is nil.
func sign(template x509.Certificate, now time.Time, by *keyPair) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	template.Subject.Organization = []string{organization}
	template.NotBefore, template.NotAfter = now.Add(-certBackdated), now.Add(certValidFor)
	template.BasicConstraintsValid = true
	if by == nil {
		// Each CA needs a unique name: clients could otherwise mistake a replaced CA for its replacement.
		template.Subject.CommonName = fmt.Sprintf("%s-%x", template.Subject.CommonName, template.SerialNumber)
		by = &keyPair{&template, key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(raw)
	return &keyPair{cert, key}, err
}
