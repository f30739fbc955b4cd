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

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

func TestCredentials(t *testing.T) {
	hosts := []string{"127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	cases := map[string]struct {
		reason  string
		network node.Network
		hosts   []string
		inNode  string // the URL of the API server for the programs of the real node
	}{
		"no real node": {reason: "The certificate of a cluster without a real node is valid for loopback and the Service.", hosts: append(hosts, firstServiceIP)},
		"a real node": {
			reason:  "The certificate of a cluster with a real node is valid for the Service, the gateway and the kubelet.",
			network: node.Network{N: 117},
			hosts:   append(hosts, "10.117.128.1", "10.117.0.1", "10.117.0.2"),
			inNode:  "https://10.117.0.1:6443",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := folder(t.TempDir())
			const server = "https://127.0.0.1:6443"
			must(t, writeCredentials(dir, server, tc.network))

			roots := x509.NewCertPool()
			ca, err := os.ReadFile(certPath(dir, "ca"))
			must(t, err)
			roots.AppendCertsFromPEM(ca)

			serving := parse(t, certPath(dir, "serving"))
			for _, host := range tc.hosts {
				if _, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
					t.Errorf("%s Verifying it for host %s: %v", tc.reason, host, err)
				}
			}
			for _, u := range users {
				url := server
				if u.inNode {
					url = tc.inNode
				}
				if url == "" {
					continue
				}
				checkKubeconfig(t, dir.path(u.file), roots, []any{url, string(ca), u.user, u.groups})
			}
			must(t, filepath.WalkDir(string(dir), func(path string, entry fs.DirEntry, err error) error {
				must(t, err)
				if info, err := entry.Info(); err == nil && !entry.IsDir() && info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %o, want 600, since it may contain a key", path, info.Mode().Perm())
				}
				return nil
			}))
		})
	}
}

// checkKubeconfig compares the server, its CA, the user and the groups of a kubeconfig.
func checkKubeconfig(t *testing.T, path string, roots *x509.CertPool, want []any) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	block, _ := pem.Decode(config.CertData)
	cert, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the certificate in %s: %v", path, err)
	}
	got := []any{config.Host, string(config.CAData), cert.Subject.CommonName, cert.Subject.Organization}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
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
