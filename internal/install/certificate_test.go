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

// certified returns the Secret of a certificate that was created at the given time.
func certified(t *testing.T, made time.Time) corev1.Secret {
	t.Helper()
	in := plain(t, hooked(validating()))
	certs, err := Certify(in.CSV, nil, made)
	if err != nil {
		t.Fatal(err)
	}
	in.Certificates = certs
	return *found[*corev1.Secret](t, rendered(t, in), "foo-manager-service-cert")
}

func TestCertificateIsTrusted(t *testing.T) {
	secret := certified(t, now)
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["olmCAKey"]) {
		t.Fatal("the authority cannot be read")
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
		"new":             {reason: "What was just made is kept."},
		"a day and a bit": {reason: "It is kept until a day before its end.", after: certValidFor - certMinFresh - time.Second},
		"a day":           {reason: "A day before its end it is replaced.", after: certValidFor - certMinFresh + time.Second, renew: true},
		"over":            {reason: "One that has ended is replaced.", after: certValidFor + time.Hour, renew: true},
		"clock behind":    {reason: "Another manager's clock may have been a little ahead.", after: -30 * time.Second},
		"no authority": {
			reason: "Without the authority it is not trusted.",
			edit:   func(s *corev1.Secret) { delete(s.Data, "olmCAKey") }, renew: true,
		},
		"another authority": {
			reason: "It has to be signed by the authority beside it.",
			edit:   func(s *corev1.Secret) { s.Data["olmCAKey"] = certified(t, now).Data["olmCAKey"] }, renew: true,
		},
		"another key": {
			reason: "A certificate is of no use without its key.",
			edit:   func(s *corev1.Secret) { s.Data["tls.key"] = certified(t, now).Data["tls.key"] }, renew: true,
		},
		"nonsense": {
			reason: "What cannot be read is replaced.",
			edit: func(s *corev1.Secret) {
				s.Data["olmCAKey"] = []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
			}, renew: true,
		},
		"another Secret": {
			reason: "Another Secret is not the one.",
			edit:   func(s *corev1.Secret) { s.Name = "other" }, renew: true,
		},
	}
	csv := plain(t, hooked(validating())).CSV
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			secret := certified(t, now)
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
				t.Errorf("made %s, to be replaced %s", last, next)
			}
		})
	}
}

func TestNoCertificates(t *testing.T) {
	certs, err := Certify(fooCSV(), nil, now)
	if err != nil || len(certs) > 0 || certs.LastUpdated() != nil || certs.RotateAt() != nil {
		t.Errorf("an operator without webhooks has no certificate, but got %v, %v", certs, err)
	}
	in := plain(t, hooked(validating()))
	in.Certificates = nil
	if _, err := Render(in); err == nil {
		t.Error("a deployment was rendered without the certificate that it serves with")
	}
}
