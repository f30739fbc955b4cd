package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// serviceRange is the address range of Services; the first address is the API server's.
const (
	serviceRange      = "10.0.0.0/16"
	firstServiceIP    = "10.0.0.1"
	certificateLasts  = 365 * 24 * time.Hour
	clockMayRunBehind = time.Hour
)

// authority is the CA of a cluster.
type authority struct {
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	files pair
}

// pair is a certificate and its key in PEM.
type pair struct{ cert, key []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("creating the CA's key: %w", err)
	}
	template, err := certificate(pkix.Name{CommonName: "devcluster"})
	if err != nil {
		return nil, fmt.Errorf("creating the CA: %w", err)
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("creating the CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("creating the CA: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, fmt.Errorf("creating the CA: %w", err)
	}
	return &authority{cert: cert, key: key, files: pair{encode("CERTIFICATE", der), keyPEM}}, nil
}

// serving issues a server certificate for hosts, which are DNS names or IP addresses.
func (a *authority) serving(name string, hosts ...string) (pair, error) {
	template, err := certificate(pkix.Name{CommonName: name})
	if err != nil {
		return pair{}, fmt.Errorf("creating the certificate of %s: %w", name, err)
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template)
}

// client issues a client certificate for a user and its groups.
func (a *authority) client(user string, groups ...string) (pair, error) {
	template, err := certificate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return pair{}, fmt.Errorf("creating the certificate of %s: %w", user, err)
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (pair, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("creating the key of %s: %w", name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("creating the certificate of %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("creating the key of %s: %w", name, err)
	}
	return pair{encode("CERTIFICATE", der), keyPEM}, nil
}

// serviceAccountKeys returns the key pair that signs and verifies service account tokens. Its cert is the public key.
func serviceAccountKeys() (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("creating the service account keys: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return pair{}, fmt.Errorf("creating the service account keys: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("creating the service account keys: %w", err)
	}
	return pair{encode("PUBLIC KEY", public), private}, nil
}

// write writes the pair to files that only the current user can read.
func (p pair) write(certPath, keyPath string) error {
	if err := os.WriteFile(certPath, p.cert, 0o600); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	if err := os.WriteFile(keyPath, p.key, 0o600); err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	return nil
}

func certificate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-clockMayRunBehind),
		NotAfter:     now.Add(certificateLasts),
	}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
