package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	olmcrds "github.com/operator-framework/api/crds"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestHandOver verifies that the loops stop when OLM is installed or the label on their CustomResourceDefinition is
// removed, and that they continue afterwards with everything that was requested meanwhile.
func TestHandOver(t *testing.T) {
	m := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	one := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "hand", Version: version} }
	other := testcatalog.Foo{Name: "over", Version: "1.0.0"}
	s := newStage(t, "handover", publish(t, one("1.0.0")), publish(t, other))
	sub := s.subscribe(t, "hand")
	s.awaitInstalled(t, sub, one("1.0.0").CSV())

	olmConfigs := olmcrds.OLMConfig()
	changeMode(t, m, lifecycle.ModeOLM, func() { cluster.Create(t, olmConfigs) })
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), olmConfigs); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	s.offer(t, publish(t, one("1.0.0"), one("1.1.0")), publish(t, other))
	meanwhile := s.subscribe(t, other.Name)
	s.checkUntouched(t, sub, one("1.0.0").CSV())
	s.checkUntouched(t, meanwhile, "")
	changeMode(t, m, lifecycle.ModeBuiltin, func() { remove(t, olmConfigs) })
	s.awaitInstalled(t, sub, one("1.1.0").CSV())
	s.awaitInstalled(t, meanwhile, other.CSV())
	if c := sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate); c.Message != one("1.1.0").CSV()+" is the newest, and runs" {
		t.Errorf("the condition that was set beside OLM is not updated: %+v", c)
	}

	changeMode(t, m, lifecycle.ModeOff, func() { setLifecycleLabel(t, nil) })
	s.offer(t, publish(t, one("1.0.0"), one("1.1.0"), one("1.2.0")), publish(t, other))
	s.checkUntouched(t, sub, one("1.1.0").CSV())
	builtin := v1alpha1.LifecycleBuiltin
	changeMode(t, m, lifecycle.ModeBuiltin, func() { setLifecycleLabel(t, &builtin) })
	s.awaitInstalled(t, sub, one("1.2.0").CSV())
	m.CheckAlive(t)
}

// TestTakenOverFromOLM verifies that an update removes fields of a Deployment that only OLM has set.
func TestTakenOverFromOLM(t *testing.T) {
	catalogs := "--catalog-dir=" + t.TempDir()
	manager := cluster.StartManager(t, catalogs)
	v1, v2 := testcatalog.Foo{Name: "taken", Version: "1.0.0"}, testcatalog.Foo{Name: "taken", Version: "1.1.0"}
	s := newStage(t, "taken", publish(t, v1))
	sub := s.subscribe(t, "taken")
	s.awaitInstalled(t, sub, v1.CSV())
	manager.Terminate(t)
	deployment := &appsv1.Deployment{}
	if err := cluster.Client.Get(t.Context(), s.key("taken-operator"), deployment); err != nil {
		t.Fatal(err)
	}
	deleteAndWait(t, deployment.DeepCopy())
	deployment.ResourceVersion, deployment.UID, deployment.ManagedFields = "", "", nil
	deployment.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "OF_BEFORE", Value: "yes"}}
	deployment.Spec.Template.Labels["of"] = "before"
	if err := cluster.Client.Create(t.Context(), deployment, client.FieldOwner("olm")); err != nil {
		t.Fatal(err)
	}

	s.offer(t, publish(t, v1, v2))
	cluster.StartManager(t, catalogs)
	s.awaitInstalled(t, sub, v2.CSV())
	if err := cluster.Client.Get(t.Context(), s.key("taken-operator"), deployment); err != nil {
		t.Fatal(err)
	}
	template := deployment.Spec.Template
	if env := template.Spec.Containers[0].Env; template.Labels["of"] != "" ||
		slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == "OF_BEFORE" }) {
		t.Errorf("the Deployment keeps fields that OLM set: labels %v, environment %v", template.Labels, env)
	}
}

const subscriptionsCRD = "subscriptions.operators.coreos.com"

// setLifecycleLabel sets the lifecycle label on the CustomResourceDefinition of Subscriptions; nil removes it.
func setLifecycleLabel(t *testing.T, value *string) {
	t.Helper()
	text := "null"
	if value != nil {
		text = fmt.Sprintf("%q", *value)
	}
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: subscriptionsCRD}}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, v1alpha1.LabelLifecycle, text)
	if err := cluster.Client.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// remove deletes an object until it is not found. Under load, an API server has left a CustomResourceDefinition
// terminating until the next request to delete it.
func remove(t *testing.T, o client.Object) {
	t.Helper()
	requests := 0
	err := wait.PollUntilContextTimeout(context.Background(), 5*time.Second, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
		requests++
		if err := cluster.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return false, err
		}
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 4*time.Second, true, func(ctx context.Context) (bool, error) {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o)), nil
		})
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%s\n%T %s still exists: %v", testcluster.Print(o), o, o.GetName(), err)
	}
	if requests > 1 {
		t.Logf("%T %s was deleted after %d requests", o, o.GetName(), requests)
	}
}

// changeMode makes a change that affects who runs the loops, and waits until the manager has logged that mode.
func changeMode(t *testing.T, m *testcluster.Manager, mode lifecycle.Mode, change func()) {
	t.Helper()
	m.AwaitLog(t, fmt.Sprintf(`"lifecycle":%q,"because"`, mode), change)
}

// checkUntouched waits until the manager is idle and verifies that the loops did not change the Subscription.
func (s *stage) checkUntouched(t *testing.T, sub *v1alpha1.Subscription, installed string) {
	t.Helper()
	cluster.AwaitIdle(t, 3*time.Second, manager.UserAgent)
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(sub), sub); err != nil {
		t.Fatal(err)
	}
	if sub.Status.InstalledCSV != installed || sub.Status.CurrentCSV != installed {
		t.Errorf("the loops changed the Subscription while they should not run: installedCSV %q, currentCSV %q", sub.Status.InstalledCSV, sub.Status.CurrentCSV)
	}
}
