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

// TestPointedInside verifies that a tenant's CatalogSource does not make the manager connect to an address that only
// the manager can reach, and that the status does not contain the server's response.
func TestPointedInside(t *testing.T) {
	asked := make(chan string, 100)
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
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
		"image":     {"The host of the manager is its own.", image(at), nil, v1alpha1.ReasonAddressNotAllowed, false},
		"name":      {"By name too.", image(strings.Replace(at, "127.0.0.1", "localhost", 1)), nil, v1alpha1.ReasonAddressNotAllowed, false},
		"address":   {"So it is of a registry's address.", address(at), nil, v1alpha1.ReasonAddressNotAllowed, false},
		"plaintext": {"Without TLS no request is sent.", address(at), []string{"--catalog-plaintext="}, v1alpha1.ReasonPlaintextNotAllowed, false},
		"allowed": {"Where the admin lets it be asked, the answer stays there.", image(at), []string{"--catalog-allow-cidr=127.0.0.0/8"},
			v1alpha1.ReasonImagePullFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			for len(asked) > 0 {
				<-asked // requests by the manager of the previous case, which has exited
			}
			cluster.StartManager(t, append([]string{"--catalog-dir=" + t.TempDir()}, tc.flags...)...)
			cs := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: name}, Spec: tc.spec}
			if err := n.Create(t.Context(), cs); err != nil {
				t.Fatal(err)
			}
			cluster.Await(t, cs, func() string {
				if c := meta.FindStatusCondition(cs.Status.Conditions, v1alpha1.ConditionHealthy); c == nil || c.Reason != tc.want {
					return fmt.Sprintf("%s: %+v", tc.reason, c)
				}
				return ""
			})
			if strings.Contains(cs.Status.Message, "s3cr3t") {
				t.Errorf("the tenant reads what was answered: %s", cs.Status.Message)
			}
			select {
			case url := <-asked:
				if !tc.asks {
					t.Errorf("the manager has asked for %s", url)
				}
			default:
				if tc.asks {
					t.Error("nothing was asked")
				}
			}
			deletes(t, cs)
		})
	}
}
