package manager_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// awaitStatus gets a URL until the response has that status, and returns the body.
func awaitStatus(t *testing.T, url, token string, want int) string {
	t.Helper()
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // a self-signed certificate
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := insecure.Do(request)
		if err != nil {
			last = err.Error()
			return false, nil
		}
		defer func() { _ = response.Body.Close() }() // read as far as needed
		body, err := io.ReadAll(response.Body)
		last = fmt.Sprintf("%s\n%s", response.Status, body)
		return response.StatusCode == want, err
	})
	if err != nil {
		t.Fatalf("getting %s: want %d, got %s: %v", url, want, last, err)
	}
	return last
}

// TestServes verifies that the manager serves health to every client, and metrics only to authorized ones.
func TestServes(t *testing.T) {
	health, metrics := testcluster.FreeAddress(t), testcluster.FreeAddress(t)
	m := cluster.StartManager(t, "--health-probe-bind-address="+health, "--metrics-bind-address="+metrics)
	awaitStatus(t, "http://"+health+"/healthz", "", http.StatusOK)
	ready := awaitStatus(t, "http://"+health+"/readyz?verbose", "", http.StatusOK)
	for _, check := range []string{"[+]caches ok", "[+]lifecycle ok"} {
		if !strings.Contains(ready, check) {
			t.Errorf("readiness does not include %s:\n%s", check, ready)
		}
	}

	namespace := cluster.Namespace(t, "metrics")
	for _, name := range []string{"reader", "nobody"} {
		cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	cluster.Create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "operator-status-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "reader"}},
	})
	url := "https://" + metrics + "/metrics"
	awaitStatus(t, url, "", http.StatusUnauthorized)
	awaitStatus(t, url, cluster.Token(t, types.NamespacedName{Namespace: namespace, Name: "nobody"}), http.StatusForbidden)
	body := awaitStatus(t, url, cluster.Token(t, types.NamespacedName{Namespace: namespace, Name: "reader"}), http.StatusOK)
	if !strings.Contains(body, "\nrest_client_requests_total{") {
		t.Errorf("the metrics do not include the manager's requests:\n%s", body)
	}
	conn, err := tls.Dial("tcp", metrics, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}) // it is signed by itself
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if spoken := conn.ConnectionState().NegotiatedProtocol; spoken != "http/1.1" {
		t.Errorf("the metrics are served with %s", spoken)
	}
	m.CheckAlive(t)
}

// TestLeaderElection verifies that one of two managers acts, that the other is ready meanwhile, as a rollout requires, and that
// the first releases the Lease at once when it is terminated.
func TestLeaderElection(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	const flag = "--leader-election-namespace=operator-status-system"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "operator-status-system", Name: "operator-status"}}
	holder := func() string {
		if lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	first := cluster.StartManager(t, "--leader-elect", flag)
	cluster.Await(t, lease, func() string {
		if holder() == "" {
			return "the lease has no holder"
		}
		return ""
	})
	leader := holder()
	health := testcluster.FreeAddress(t)
	second := cluster.StartManager(t, "--leader-elect", flag, "--health-probe-bind-address="+health)
	awaitStatus(t, "http://"+health+"/readyz", "", http.StatusOK)
	if err := cluster.Client.Get(t.Context(), key(lease), lease); err != nil || holder() != leader {
		t.Errorf("the second manager is ready, and the lease is held by %q instead of %q (%v)", holder(), leader, err)
	}
	first.Terminate(t)
	cluster.Await(t, lease, func() string {
		if holder() == "" || holder() == leader {
			return "the second manager has not taken over"
		}
		return ""
	})
	namespace := cluster.Namespace(t, "leader")
	p := userProbe(namespace, "led", v1alpha1.ProbeResource{Name: "foos.not-there.example.com", Upgradeable: "!Migrating"})
	cluster.Create(t, p)
	awaitProbe(t, cluster, key(p), "Synced=False/ResourceNotFound")
	second.CheckAlive(t)
}
