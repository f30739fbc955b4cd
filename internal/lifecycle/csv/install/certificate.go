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
	// certValidFor is how long a certificate is valid.
	certValidFor = 2 * 365 * 24 * time.Hour

	// certMinFresh is how long before its end it is replaced.
	certMinFresh = 24 * time.Hour

	// certBackdated is how far the API server's clock may be behind.
	certBackdated = time.Minute

	organization = "operator-status"
)

// Certificate is the serving certificate of a deployment, its key, and the certificate of the authority that signed it,
// all in PEM. The authority's own key is thrown away once it has signed.
type Certificate struct {
	CA, Cert, Key []byte

	// Made and RotateAt are when it was made and when it is to be replaced.
	Made, RotateAt time.Time

	// Renewed is true where it is not what was in the Secret before.
	Renewed bool
}

// Certificates are the serving certificates of deployments, by the deployment's name.
type Certificates map[string]Certificate

// Certify returns a certificate for each deployment of the CSV that serves webhooks. One in the Secret of the name
// SecretName is kept while it is good; read are the Secrets of the CSV's namespace, as many as are there.
func Certify(csv *v1alpha1.ClusterServiceVersion, read []corev1.Secret, now time.Time) (Certificates, error) {
	out := Certificates{}
	for _, d := range servingDeployments(csv) {
		hosts := hostnames(serviceName(d.Name), csv.Namespace)
		cert, ok := kept(read, SecretName(d.Name), hosts, now)
		if !ok {
			var err error
			if cert, err = newCertificate(hosts, now); err != nil {
				return nil, fmt.Errorf("making the certificate of deployment %s: %w", d.Name, err)
			}
		}
		out[d.Name] = cert
	}
	return out, nil
}

// complete says which certificate Certify would have made and was not asked for.
func (c Certificates) complete(csv *v1alpha1.ClusterServiceVersion) error {
	for _, d := range servingDeployments(csv) {
		if _, ok := c[d.Name]; !ok {
			return fmt.Errorf("deployment %s has no certificate", d.Name)
		}
	}
	return nil
}

// LastUpdated is when the newest certificate was made, and nil where there is none.
func (c Certificates) LastUpdated() *metav1.Time {
	var last *metav1.Time
	for _, cert := range c {
		if last == nil || cert.Made.After(last.Time) {
			last = &metav1.Time{Time: cert.Made}
		}
	}
	return last
}

// RotateAt is when the first certificate is to be replaced, and nil where there is none.
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

// kept is the certificate in the Secret of that name, if it is good.
func kept(read []corev1.Secret, name string, hosts []string, now time.Time) (Certificate, bool) {
	for _, secret := range read {
		if secret.Name == name {
			cert, err := fromSecret(secret, hosts, now)
			return cert, err == nil
		}
	}
	return Certificate{}, false
}

// fromSecret reads a certificate, and says why it is good no more.
func fromSecret(secret corev1.Secret, hosts []string, now time.Time) (Certificate, error) {
	out := Certificate{CA: secret.Data[caKey], Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	pair, err := tls.X509KeyPair(out.Cert, out.Key)
	if err != nil {
		return out, err
	}
	block, _ := pem.Decode(out.CA)
	if block == nil {
		return out, errors.New("there is no authority")
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
		return out, errors.New("it is about to expire")
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

// newCertificate is signed by an authority that is made for it alone.
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

// keyPair is a certificate and its key.
type keyPair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign makes a key, and a certificate for it after the template, signed by an authority or, without one, by itself.
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
		// A name of its own for each authority, or one that was replaced would be taken for the one that replaced it.
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
