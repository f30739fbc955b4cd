package tenant

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestCatalogAtInternalAddress verifies that a tenant's CatalogSource does not make the manager connect to an address that
// only the manager can reach, and that the status does not contain the server's response.
func TestCatalogAtInternalAddress(t *testing.T) {
	requests := make(chan string, 100)
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.String()
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "db_password=s3cr3t")
	}))
	defer inside.Close()
	at := strings.TrimPrefix(inside.URL, "http://")
	n := newTenant(t, "pointer", "")
	image := func(host string) olm.CatalogSourceSpec {
		return olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Image: host + "/x:y"}
	}
	address := func(host string) olm.CatalogSourceSpec {
		return olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Address: host}
	}
	for name, tc := range map[string]struct {
		reason string
		spec   olm.CatalogSourceSpec
		flags  []string
		want   string
		asks   bool
	}{
		"image":     {"An image on the manager's loopback address is not pulled.", image(at), nil, v1alpha1.ReasonAddressNotAllowed, false},
		"name":      {"An image on a host name that resolves to loopback is not pulled.", image(strings.Replace(at, "127.0.0.1", "localhost", 1)), nil, v1alpha1.ReasonAddressNotAllowed, false},
		"address":   {"A registry on the manager's loopback address is not queried.", address(at), nil, v1alpha1.ReasonAddressNotAllowed, false},
		"plaintext": {"A registry without TLS is not queried.", address(at), []string{"--catalog-plaintext="}, v1alpha1.ReasonPlaintextNotAllowed, false},
		"allowed": {"A status does not quote the response of an allowed address.", image(at), []string{"--catalog-allow-cidr=127.0.0.0/8"},
			v1alpha1.ReasonImagePullFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			for len(requests) > 0 {
				<-requests // requests by the manager of the previous case, which has exited
			}
			cluster.StartManager(t, append([]string{"--catalog-dir=" + t.TempDir()}, tc.flags...)...)
			cs := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: name}, Spec: tc.spec}
			if err := n.Create(t.Context(), cs); err != nil {
				t.Fatal(err)
			}
			cluster.Await(t, cs, func() string {
				if c := meta.FindStatusCondition(cs.Status.Conditions, v1alpha1.ConditionHealthy); c == nil || c.Reason != tc.want {
					return fmt.Sprintf("%s The condition Healthy is %+v, want reason %s", tc.reason, c, tc.want)
				}
				return ""
			})
			if strings.Contains(cs.Status.Message, "s3cr3t") {
				t.Errorf("the status contains the server's response: %s", cs.Status.Message)
			}
			select {
			case url := <-requests:
				if !tc.asks {
					t.Errorf("the manager sent a request for %s", url)
				}
			default:
				if tc.asks {
					t.Error("the manager sent no request")
				}
			}
			deleteAndWait(t, cs)
		})
	}
}
