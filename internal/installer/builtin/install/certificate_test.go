package install

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// certificateSecret returns the Secret of a certificate that was created at the given time.
func certificateSecret(t *testing.T, made time.Time) corev1.Secret {
	t.Helper()
	in := plain(t, withWebhooks(validating()))
	certs, err := Certify(in.CSV, nil, made)
	if err != nil {
		t.Fatal(err)
	}
	in.Certificates = certs
	return *found[*corev1.Secret](t, rendered(t, in), "foo-manager-service-cert")
}

func TestCertificateIsTrusted(t *testing.T) {
	secret := certificateSecret(t, now)
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["olmCAKey"]) {
		t.Fatal("the certificate authority cannot be parsed")
	}
	for _, host := range []string{
		"foo-manager-service.operators", "foo-manager-service.operators.svc", "foo-manager-service.operators.svc.cluster.local",
	} {
		opts := x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}
		if _, err := pair.Leaf.Verify(opts); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		opts.CurrentTime = now.Add(certValidFor + time.Second)
		if _, err := pair.Leaf.Verify(opts); err == nil {
			t.Errorf("%s: trusted for more than two years", host)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "other.operators.svc", Roots: roots, CurrentTime: now}); err == nil {
		t.Error("trusted for another Service")
	}
}

func TestRotation(t *testing.T) {
	cases := map[string]struct {
		reason string
		after  time.Duration
		edit   func(*corev1.Secret)
		renew  bool
	}{
		"new":             {reason: "A new certificate is kept."},
		"a day and a bit": {reason: "A certificate is kept until a day before it expires.", after: certValidFor - certMinFresh - time.Second},
		"a day":           {reason: "A certificate is renewed a day before it expires.", after: certValidFor - certMinFresh + time.Second, renew: true},
		"over":            {reason: "An expired certificate is renewed.", after: certValidFor + time.Hour, renew: true},
		"clock behind":    {reason: "A certificate that is valid from a few seconds in the future is kept, since clocks differ.", after: -30 * time.Second},
		"no authority": {
			reason: "A certificate without its authority is renewed.",
			edit:   func(s *corev1.Secret) { delete(s.Data, "olmCAKey") }, renew: true,
		},
		"another authority": {
			reason: "A certificate of another authority is renewed.",
			edit:   func(s *corev1.Secret) { s.Data["olmCAKey"] = certificateSecret(t, now).Data["olmCAKey"] }, renew: true,
		},
		"another key": {
			reason: "A certificate without its key is renewed.",
			edit:   func(s *corev1.Secret) { s.Data["tls.key"] = certificateSecret(t, now).Data["tls.key"] }, renew: true,
		},
		"nonsense": {
			reason: "A certificate that cannot be parsed is renewed.",
			edit: func(s *corev1.Secret) {
				s.Data["olmCAKey"] = []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
			}, renew: true,
		},
		"another Secret": {
			reason: "A Secret of another name is not used.",
			edit:   func(s *corev1.Secret) { s.Name = "other" }, renew: true,
		},
	}
	csv := plain(t, withWebhooks(validating())).CSV
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			secret := certificateSecret(t, now)
			if tc.edit != nil {
				tc.edit(&secret)
			}
			certs, err := Certify(csv, []corev1.Secret{secret}, now.Add(tc.after))
			if err != nil {
				t.Fatal(err)
			}
			got := certs["foo-manager"]
			if got.Renewed != tc.renew || bytes.Equal(got.Cert, secret.Data["tls.crt"]) == tc.renew {
				t.Errorf("%s\nrenewed: %t", tc.reason, got.Renewed)
			}
			made := now
			if tc.renew {
				made = now.Add(tc.after)
			}
			if last, next := certs.LastUpdated(), certs.RotateAt(); !last.Equal(&metav1.Time{Time: made}) ||
				!next.Equal(&metav1.Time{Time: made.Add(certValidFor - certMinFresh)}) {
				t.Errorf("created at %s, to be renewed at %s", last, next)
			}
		})
	}
}

func TestNoCertificates(t *testing.T) {
	certs, err := Certify(fooCSV(), nil, now)
	if err != nil || len(certs) > 0 || certs.LastUpdated() != nil || certs.RotateAt() != nil {
		t.Errorf("an operator without webhooks has no certificate, but got %v, %v", certs, err)
	}
	in := plain(t, withWebhooks(validating()))
	in.Certificates = nil
	if _, err := Render(in); err == nil {
		t.Error("a deployment was rendered without the certificate that it serves with")
	}
}
