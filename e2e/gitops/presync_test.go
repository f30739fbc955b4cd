package gitops

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// unscheduled is the scheduler of pods that this test runs, since pods on a fake node complete without running.
const unscheduled = "e2e"

// waiting is Argo CD with config/argocd/presync.yaml, which has a sync wait for the end of a hold.
type waiting struct{ *synced }

// Waiting returns what Argo CD reports meanwhile.
func (w waiting) Waiting(o story.Op) []string {
	return []string{"phase:Running", "waiting for completion of hook batch/Job/wait-for-" + o.Name}
}

func (w waiting) Own(o *unstructured.Unstructured) bool {
	return w.synced.Own(o) || o.GetKind() == "Job" || strings.HasPrefix(o.GetName(), "wait-for-")
}

// TestPreSync tells the story of an Application whose sync waits instead of failing.
func TestPreSync(t *testing.T) {
	hook, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "argocd", "presync.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o := story.New(t, cluster, filepath.Join(clusterDir, "kubeconfig"), "waiting")
	s := argued(t, o, newRepository(t), "ServerSideApply=true")
	s.files = func(o story.Op, version string) map[string]string {
		own := strings.NewReplacer("namespace: foo", "namespace: "+o.Namespace, "wait-for-foo", "wait-for-"+o.Name,
			"workload.foo.foo", s.Reference(o).HoldName(), "    spec:\n", "    spec:\n      schedulerName: "+unscheduled+"\n").Replace(string(hook))
		return map[string]string{"operator.yaml": o.Manifests(version) + "---\n" + own}
	}
	runHooks(t, o.Namespace)
	story.Tell(t, waiting{s}, o)
}

// runHooks runs the pods of Jobs in a namespace as a kubelet would, as processes with the tokens of their accounts.
func runHooks(t *testing.T, namespace string) {
	t.Helper()
	pods, err := cluster.Client.Watch(t.Context(), &corev1.PodList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended }) // after the context of the test ends
	go func() {
		defer close(ended)
		defer pods.Stop()
		running := map[types.UID]context.CancelFunc{}
		for {
			select {
			case <-t.Context().Done():
				return
			case event, open := <-pods.ResultChan():
				pod, ok := event.Object.(*corev1.Pod)
				if !open || !ok {
					t.Errorf("the watch of pods has ended: %v", event)
					return
				}
				stop := running[pod.UID]
				switch {
				case !pod.DeletionTimestamp.IsZero() && stop != nil:
					stop()
				case pod.Spec.SchedulerName == unscheduled && pod.DeletionTimestamp.IsZero() && stop == nil:
					ctx, stop := context.WithCancel(t.Context())
					running[pod.UID] = stop
					go runPod(ctx, t, pod)
				}
			}
		}
	}()
}

// runPod runs kubectl with the arguments of a pod's container, and reports the result in the pod.
func runPod(ctx context.Context, t *testing.T, pod *corev1.Pod) {
	account := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}
	command := exec.CommandContext(ctx, filepath.Join(testcluster.Root(), "bin", "controlplane", "kubectl"), pod.Spec.Containers[0].Args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig(t, account))
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		return // the pod was deleted, or the test has ended
	}
	phase := corev1.PodSucceeded
	if err != nil {
		phase = corev1.PodFailed
		t.Errorf("pod %s has failed: %v\n%s", pod.Name, err, out)
	}
	patch := fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase)
	if err := cluster.Client.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Errorf("reporting the result of pod %s: %v", pod.Name, err)
	}
}
