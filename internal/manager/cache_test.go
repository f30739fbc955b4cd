package manager

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestStripSecrets(t *testing.T) {
	const own = "operator-status-system"
	large := bytes.Repeat([]byte("x"), 1<<20)
	for _, c := range []struct {
		name   string
		secret corev1.Secret
		want   []string
		reason string
	}{
		{
			name:   "Record",
			secret: corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: own}, Data: map[string][]byte{"record.json.gz": large}},
			want:   []string{"record.json.gz"},
			reason: "Data of a Secret in the manager's namespace is kept, since tenants cannot write there.",
		},
		{
			name:   "Opaque",
			secret: corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant"}, Data: map[string][]byte{"tls.crt": []byte("x"), "text": []byte("x")}},
			reason: "Data of a Secret without a certificate is removed.",
		},
		{
			name: "Certificate",
			secret: corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "tenant"}, Type: corev1.SecretTypeTLS,
				Data: map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("x"), "olmCAKey": []byte("x"), "text": large},
			},
			want:   []string{"olmCAKey", "tls.crt", "tls.key"},
			reason: "Other data of a Secret with a certificate is removed, and the certificate is kept, so it is not renewed.",
		},
		{
			name: "LargeCertificate",
			secret: corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "tenant"}, Type: corev1.SecretTypeTLS,
				Data: map[string][]byte{"tls.crt": large, "tls.key": []byte("x")},
			},
			want:   []string{"tls.key"},
			reason: "A certificate that is too large is removed, so it is renewed.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := stripSecrets(own)(&c.secret); err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(c.secret.Data)); !slices.Equal(got, c.want) {
				t.Errorf("kept %v, want %v: %s", got, c.want, c.reason)
			}
		})
	}
}

func TestStripLastApplied(t *testing.T) {
	for _, o := range []client.Object{&corev1.Secret{}, &v1alpha1.Subscription{}, &v1alpha1.ClusterServiceVersion{}, &olm.InstallPlan{}, &v1alpha1.Probe{}} {
		o.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "read": "a"})
		if _, err := strip(o); err != nil {
			t.Fatal(err)
		}
		if got := o.GetAnnotations(); len(got) != 1 || got["read"] != "a" {
			t.Errorf("%T: annotations %v, want all but that of kubectl", o, got)
		}
	}
}

func TestStripSubscription(t *testing.T) {
	for _, c := range []struct {
		config *olm.SubscriptionConfig
		want   bool
	}{
		{nil, false},
		{&olm.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "A", Value: "a"}}}, true},
	} {
		sub := &v1alpha1.Subscription{Spec: &olm.SubscriptionSpec{Config: c.config}}
		if _, err := strip(sub); err != nil {
			t.Fatal(err)
		}
		if got := sub.Spec.Config; (got != nil) != c.want || got != nil && len(got.Env) > 0 {
			t.Errorf("of %v was kept %v, want only whether it is set", c.config, got)
		}
	}
}
