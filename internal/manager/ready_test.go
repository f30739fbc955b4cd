package manager

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// syncing is a cache that is synced once it is closed.
type syncing chan struct{}

func (s syncing) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-s:
		return true
	case <-ctx.Done():
		return false
	}
}

// TestSynced verifies that the readiness check fails, within the time that a probe allows, until the caches are synced.
func TestSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informers := make(syncing)
		check := synced(informers)
		begin := time.Now()
		if err := check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)); err == nil {
			t.Error("ready although the caches are not synced")
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the check took %s; the kubelet waits for a second", took)
		}
		close(informers)
		if err := check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)); err != nil {
			t.Errorf("the caches are synced: %v", err)
		}
	})
}

// TestServed verifies that a manager is not ready on a cluster without the kinds that hold updates.
func TestServed(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	definition := func(name, version string) client.Object {
		return &apiextensions.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       apiextensions.CustomResourceDefinitionSpec{Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: version, Served: true}}},
			Status: apiextensions.CustomResourceDefinitionStatus{Conditions: []apiextensions.CustomResourceDefinitionCondition{
				{Type: apiextensions.Established, Status: apiextensions.ConditionTrue},
			}},
		}
	}
	var all []client.Object
	for _, name := range holdDefinitions {
		all = append(all, definition(name, holdv1alpha1.GroupVersion.Version))
	}
	for name, tc := range map[string]struct {
		reason string
		crds   []client.Object
		want   string
	}{
		"All":     {"Updates are held.", all, ""},
		"Missing": {"The manifests without CustomResourceDefinitions were applied.", all[1:], "not installed: upgradeholds.operatorstatus.io; apply"},
		"Older":   {"So are those of another version.", append([]client.Object{definition(holdDefinitions[0], "v1")}, all[1:]...), "not installed: upgradeholds"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.crds...).Build()
			err := served(c, logr.Discard())(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s got %v", tc.reason, err)
			}
		})
	}
}
