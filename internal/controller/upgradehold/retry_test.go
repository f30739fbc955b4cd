package upgradehold

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
)

// TestRetry verifies how often an installer that keeps to report a denied update is asked to try again after a release.
func TestRetry(t *testing.T) {
	elsewhere := reporting(denied, nil)
	elsewhere["status"].(map[string]any)["inventory"] = nil
	for name, tc := range map[string]struct {
		reason string
		object map[string]any
		lasts  time.Duration
		want   int
	}{
		"Waiting": {"An installer that waits is asked once it may update.", reporting(denied, nil), 5 * time.Second, 1},
		"Silent": {
			"One that does not react is asked after 10, 20, 40, 80 seconds and so on, since it may not be running.", reporting(denied, nil), 150 * time.Second, 4,
		},
		"Long":      {"In the end that is every ten minutes.", reporting(denied, nil), 24 * time.Hour, 149},
		"Suspended": {"One that is suspended is not asked: it tries again once it is resumed.", reporting(denied, map[string]any{"suspend": true}), time.Hour, 0},
		"Resumed":   {"One that was resumed is asked.", reporting(denied, map[string]any{"suspend": false}), 5 * time.Second, 1},
		"Foreign":   {"A Kustomization that the labels of a workload name, and that has not applied any, is none of its business.", elsewhere, time.Hour, 0},
		"Other":     {"A failure that is no denial is none of ours.", reporting("The update timed out", nil), time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				patched := 0
				object := &unstructured.Unstructured{Object: tc.object}
				c := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(object).WithInterceptorFuncs(interceptor.Funcs{
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
						patched++
						return c.Patch(ctx, o, p, options...)
					},
				}).Build()
				r := &Reconciler{Client: c, Live: c}
				of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: "foo", Name: "foo"}
				r.attempts.Store(of, attempt{held: true})
				how := &installer.Retry{Kind: kustomization, Object: types.NamespacedName{Namespace: "foo", Name: "foo"}, Annotations: []string{"reconcile"}}
				for until := time.Now().Add(tc.lasts); time.Now().Before(until); {
					result, err := r.retry(t.Context(), of, how)
					if err != nil {
						t.Fatal(err)
					}
					if result.RequeueAfter == 0 {
						break
					}
					time.Sleep(result.RequeueAfter)
				}
				if patched != tc.want {
					t.Errorf("%s It was asked %d times, want %d", tc.reason, patched, tc.want)
				}
			})
		})
	}
}

var kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}

const denied = "ValidatingAdmissionPolicy 'held' denied request: The update is held"

// reporting returns a Kustomization that is not ready.
func reporting(message string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": kustomization.GroupVersion().String(), "kind": kustomization.Kind, "metadata": map[string]any{"namespace": "foo", "name": "foo"},
		"spec": spec, "status": map[string]any{
			"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": message}},
			"inventory":  map[string]any{"entries": []any{map[string]any{"id": "foo_foo_apps_Deployment", "v": "v1"}}},
		},
	}
}
