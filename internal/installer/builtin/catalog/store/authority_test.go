package store

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

func TestParseAuthority(t *testing.T) {
	for value, want := range map[string]authority{
		"":                     {},
		"system":               {kind: "system"},
		"configmap/ca":         {"configmap", "ca", "ca.crt"},
		"secret/ca#tls.crt":    {"secret", "ca", "tls.crt"},
		"configmap/":           {},
		"ca":                   {},
		"deployment/ca#ca.crt": {},
	} {
		got, err := parseAuthority(value)
		if got != want || (err != nil) != (want == authority{} && value != "") {
			t.Errorf("%q: %+v, %v; want %+v", value, got, err, want)
		}
	}
}

// TestAuthority verifies which authorities are accepted for a server whose certificate the system does not trust.
func TestAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	meta := metav1.ObjectMeta{Namespace: "tenant", Name: "ca"}
	reader := fake.NewClientBuilder().WithObjects(
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"ca.crt": string(certificate), "none": "x"}},
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"tls.crt": certificate}},
	).Build()
	for name, tc := range map[string]struct {
		reason, value, want string // want is empty if it connects
	}{
		"Unknown":   {"A certificate of an unknown authority is refused.", "system", "set the certificate authority to trust in annotation operatorstatus.io/registry-ca of the CatalogSource"},
		"ConfigMap": {"The authority may be in a ConfigMap.", "configmap/ca", ""},
		"Secret":    {"The authority may be in a Secret.", "secret/ca#tls.crt", ""},
		"NoKey":     {"A key that does not exist is refused.", "secret/ca", "has no certificate in PEM format"},
		"NotPEM":    {"A key that is not in PEM format is refused.", "configmap/ca#none", "has no certificate in PEM format"},
		"NoObject":  {"An object that does not exist is reported.", "configmap/other", `configmaps "other" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := parseAuthority(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			to := tenants("127.0.0.0/8", "").of(types.NamespacedName{Namespace: "tenant"}).trusting(a, reader)
			conn, err := to.connect(context.Background(), sandbox.Address{Host: strings.TrimPrefix(server.URL, "https://"), Protocols: []string{"http/1.1"}})
			if tc.want == "" {
				if err != nil {
					t.Fatalf("%s %v", tc.reason, err)
				}
				defer func() { _ = conn.Close() }()
				if got := conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "http/1.1" {
					t.Errorf("got protocol %q", got)
				}
				return
			}
			refused, ok := errors.AsType[*sandbox.DialError](err)
			if !ok || refused.Code != v1alpha1.ReasonCertificateAuthorityInvalid || !strings.Contains(refused.Message, tc.want) {
				t.Errorf("%s %v", tc.reason, err)
			}
		})
	}
}

// TestProxy verifies that connections use the proxy from the environment.
func TestProxy(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	asked := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.Host
		if r.Host != "registry.example.com:443" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		inside, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "https://"))
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		pass(conn, inside)
	}))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("NO_PROXY", "")
	to := tenants("", "").of(types.NamespacedName{Namespace: "tenant"})
	conn, err := to.tunnel(t.Context(), "registry.example.com:443")
	if err != nil {
		t.Fatal(err)
	}
	if err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()); err != nil { // #nosec G402 -- the test's own server
		t.Error(err)
	}
	_ = conn.Close()
	if asked != "CONNECT registry.example.com:443" {
		t.Errorf("the proxy received %s", asked)
	}
	if _, err := to.tunnel(t.Context(), "other.example.com:443"); err == nil || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("%v", err)
	}
}

func pass(a, b net.Conn) {
	copied := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			defer func() { copied <- struct{}{} }()
			buffer := make([]byte, 4096)
			for {
				n, err := ends[1].Read(buffer)
				if _, werr := ends[0].Write(buffer[:n]); err != nil || werr != nil {
					_, _ = ends[0].Close(), ends[1].Close()
					return
				}
			}
		}()
	}
	<-copied
	<-copied
}
