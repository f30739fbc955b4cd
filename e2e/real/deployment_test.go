package real

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
)

// TestDrain verifies that a drain evicts one pod of the manager at a time, and that pods have the priority of their class
// and limit Go's memory to 90% of the container's.
func TestDrain(t *testing.T) {
	d := deployManager(t, 2)
	pods := podsOf(t, d)
	if len(pods) != 2 {
		t.Fatalf("%d pods exist, want 2", len(pods))
	}
	for i := range pods {
		if got := ptr.Deref(pods[i].Spec.Priority, 0); got != 1000000 {
			t.Errorf("the priority of pod %s is %d, want that of the PriorityClass", pods[i].Name, got)
		}
		container := pods[i].Spec.Containers[0].Resources.Limits.Memory().Value()
		if got, want := memoryLimit(t, &pods[i]), float64(container/10*9); got < want-10 || got > want+10 {
			t.Errorf("Go's memory limit in pod %s is %.0f bytes, want %.0f", pods[i].Name, got, want)
		}
	}

	evict := func(pod *corev1.Pod) error {
		return cluster.Client.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{})
	}
	if err := evict(&pods[0]); err != nil {
		t.Fatalf("evicting the first pod: %v", err)
	}
	if err := evict(&pods[1]); !apierrors.IsTooManyRequests(err) {
		t.Fatalf("evicting the only remaining pod returned %v, want TooManyRequests", err)
	}
	awaitDeployments(t)
	cluster.Await(t, &pods[1], func() string {
		if pods[1].DeletionTimestamp != nil {
			return ""
		}
		if err := evict(&pods[1]); err != nil {
			return "the pod is not evicted: " + err.Error()
		}
		return ""
	})
}

// memoryLimit returns Go's memory limit in the manager of a pod, in bytes, as the metrics report it.
func memoryLimit(t *testing.T, pod *corev1.Pod) float64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+net.JoinHostPort(pod.Status.PodIP, "8443")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+cluster.Token(t, cluster.Account(t, cluster.Namespace(t, "metrics"), "reader", "operator-status-metrics-reader")))
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // it signs its certificate itself
	response, err := insecure.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it is read as a whole
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^go_gc_gomemlimit_bytes (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("pod %s reports no memory limit, but (%s) %.200s", pod.Name, response.Status, text)
	}
	limit, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// TestPodsOnDifferentNodes verifies that replicas are scheduled to different nodes if the cluster has several.
func TestPodsOnDifferentNodes(t *testing.T) {
	addFakeNode(t)
	nodes := map[string]bool{}
	for _, pod := range podsOf(t, deployManager(t, 2)) {
		nodes[pod.Spec.NodeName] = true
	}
	if len(nodes) != 2 {
		t.Errorf("the pods run on %v, want two nodes", nodes)
	}
}
