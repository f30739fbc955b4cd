package main

import (
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func TestCredentials(t *testing.T) {
	dir := folder(t.TempDir())
	const server = "https://127.0.0.1:6443"
	must(t, writeCredentials(dir, server))

	roots := x509.NewCertPool()
	ca, err := os.ReadFile(certPath(dir, "ca"))
	must(t, err)
	roots.AppendCertsFromPEM(ca)

	serving := parse(t, certPath(dir, "serving"))
	for _, host := range []string{"127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", firstServiceIP} {
		if _, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("called as %s: %v", host, err)
		}
	}
	for _, u := range users {
		config, err := clientcmd.BuildConfigFromFlags("", dir.path(u.file))
		must(t, err)
		block, _ := pem.Decode(config.CertData)
		cert, err := x509.ParseCertificate(block.Bytes)
		must(t, err)
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
			t.Errorf("the certificate of %s: %v", u.user, err)
		}
		got := []any{config.Host, string(config.CAData), cert.Subject.CommonName, cert.Subject.Organization}
		if diff := cmp.Diff([]any{server, string(ca), u.user, u.groups}, got); diff != "" {
			t.Errorf("kubeconfig of %s (-want +got):\n%s", u.user, diff)
		}
	}
	must(t, filepath.WalkDir(string(dir), func(path string, entry fs.DirEntry, err error) error {
		must(t, err)
		if info, err := entry.Info(); err == nil && !entry.IsDir() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600: it may hold a key", path, info.Mode().Perm())
		}
		return nil
	}))
}

func parse(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	block, _ := pem.Decode(content)
	cert, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return cert
}
