package clusteroperator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/controller/clusteroperator"
	clusteroperatorstatus "github.com/operator-status/operator-status/internal/status/clusteroperator"
	"github.com/operator-status/operator-status/internal/test/cvotest"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// restful is how long the manager must have sent no request to count as idle. It is longer than the pace of its writes, by
// as much as a slow machine may be late.
const restful = 3 * time.Second

// TestController replays the life of a platform against a real API server.
func TestController(t *testing.T) {
	c := start(t)
	cvotest.Watch(t, c.Config, c.Client.Scheme())
	r := run(t, c)

	t.Log("nothing is computed or written without the ClusterOperator")
	begin := time.Now()
	c.Create(t, platformOperator("foo"), platformOperator("bar"))
	c.AwaitIdle(t, restful, agent)
	if n, reckonings := writes(t, c, begin), r.reckonings.Load(); n != 0 || reckonings != 0 {
		t.Errorf("%d writes, %d reckonings", n, reckonings)
	}

	t.Log("the status is computed once the ClusterOperator is created")
	c.InstallClusterOperator(t)
	await(t, c, "Available=False/PlatformOperatorsInstalling: Waiting for 2 of 2 PlatformOperators to be installed: "+
		"bar has not been reconciled yet; foo has not been reconciled yet",
		"Progressing=True/PlatformOperatorsInstalling", "Degraded=False/AsExpected")

	t.Log("a package that does not exist sets Degraded after two minutes")
	patchStatus(t, c, "foo", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "foo.v1 is installed")
	})
	patchStatus(t, c, "bar", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, "PackageNotFound", "There is no package bar")
		p.Status.FailingSince = &metav1.Time{Time: time.Now()}
		p.Status.FailingReason, p.Status.FailingMessage = "PackageNotFound", "There is no package bar"
	})
	await(t, c, "Available=False/PlatformOperatorsInstalling: Waiting for 1 of 2 PlatformOperators to be installed: "+
		"bar (PackageNotFound): There is no package bar", "Degraded=False/AsExpected")
	patchStatus(t, c, "bar", func(p *platformv1alpha1.PlatformOperator) {
		p.Status.FailingSince = &metav1.Time{Time: time.Now().Add(-118 * time.Second)}
	})
	await(t, c, "Degraded=True/PlatformOperatorsFailing: Failing for 2m or longer: bar (PackageNotFound): There is no package bar")

	t.Log("the installation completes with the last PlatformOperator")
	patchStatus(t, c, "bar", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "bar.v1 is installed")
		p.Status.QuietSince = &metav1.Time{Time: time.Now()}
	})
	await(t, c, "Available=True/PlatformOperatorsInstalled", "Progressing=False/PlatformOperatorsInstalled", "operator="+ownVersion,
		"Degraded=True/PlatformOperatorsFailing: Failing for 2m or longer: bar (PackageNotFound)")
	patchStatus(t, c, "bar", func(p *platformv1alpha1.PlatformOperator) {
		p.Status.FailingSince, p.Status.QuietSince, p.Status.FailingReason, p.Status.FailingMessage = nil, nil, "", ""
	})
	co := await(t, c, "Degraded=False/AsExpected")
	if err := cvotest.Resolve(t.Context(), c.Client, c.Client.RESTMapper(), co); err != nil {
		t.Error(err)
	}

	t.Log("conditions of other clients are kept, and overwritten ones are restored")
	overwriteStatus(t, c, func(status *configv1.ClusterOperatorStatus) {
		status.Conditions = append(status.Conditions, configv1.ClusterOperatorStatusCondition{
			Type: "Upgradeable", Status: "False", Reason: "AdminSaysNo", Message: "Ask Kim first", LastTransitionTime: metav1.Now(),
		})
		status.RelatedObjects = append(status.RelatedObjects, configv1.ObjectReference{Resource: "namespaces", Name: "default"},
			configv1.ObjectReference{Group: "platform.openshift.io", Resource: "platformoperators", Name: "gone"})
		status.Conditions[0].Message = "Spoilt"
	})
	co = await(t, c, "Available=True/PlatformOperatorsInstalled: Every PlatformOperator is installed",
		"Upgradeable=False/AdminSaysNo: Ask Kim first")
	if err := cvotest.Resolve(t.Context(), c.Client, c.Client.RESTMapper(), co); err != nil || len(co.Status.RelatedObjects) != 3 {
		t.Errorf("related objects %v: %v", co.Status.RelatedObjects, err)
	}

	t.Log("a condition that another client writes just before is kept")
	meanwhile := func() {
		overwriteStatus(t, c, func(status *configv1.ClusterOperatorStatus) { status.Conditions[3].Message = "Ask Kim again" })
	}
	r.meanwhile.Store(&meanwhile)
	patchStatus(t, c, "foo", func(p *platformv1alpha1.PlatformOperator) { installed(p, "Installing", "Waiting for foo.v2") })
	await(t, c, "Progressing=True/PlatformOperatorsUpdating: Waiting for 1 of 2 PlatformOperators: foo (Installing): Waiting for foo.v2",
		"Upgradeable=False/AdminSaysNo: Ask Kim again")
	patchStatus(t, c, "foo", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "foo.v1 is installed")
	})
	await(t, c, "Progressing=False/PlatformOperatorsInstalled")

	t.Log("the release is read from the ClusterVersion, and again when it changes")
	c.InstallOpenShift(t, clusterVersionCRD)
	if err := clusteroperator.WatchClusterVersion(r.manager, r.controller); err != nil {
		t.Fatal(err)
	}
	version := &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}}
	version.Spec.ClusterID = "3a4f8a0e-5c5c-4c5b-9f1c-8d1f6f1c2b3a"
	c.Create(t, version)
	complete(t, c, version, configv1.CompletedUpdate, "4.20.0")
	await(t, c, "operator=4.20.0", "Progressing=False/PlatformOperatorsInstalled")
	complete(t, c, version, configv1.PartialUpdate, "4.20.1")
	await(t, c, "operator=4.20.0", "Progressing=False/PlatformOperatorsInstalled: Every PlatformOperator is installed, and none is being updated. "+
		"Release 4.20.1 is reported once")
	reportProgress(t, c, version, "Working towards 4.20.1: 5 of 9 done (55% complete), waiting on platform-operators")
	await(t, c, "operator=4.20.1", "Progressing=False/PlatformOperatorsInstalled")
	patchStatus(t, c, "foo", func(p *platformv1alpha1.PlatformOperator) { installed(p, "Installing", "Waiting for foo.v2") })
	await(t, c, "Progressing=True/PlatformOperatorsUpdating: Waiting for 1 of 2 PlatformOperators: foo (Installing): Waiting for foo.v2",
		"Available=True/PlatformOperatorsInstalled: Every PlatformOperator has been installed once")
	complete(t, c, version, configv1.PartialUpdate, "4.20.2")
	await(t, c, "Progressing=True/ReleaseUpdating: Updating from release 4.20.1 to 4.20.2. Waiting for 1 of 2", "operator=4.20.1",
		"Available=True/PlatformOperatorsInstalled")

	t.Log("nothing is written after a restart")
	c.AwaitIdle(t, restful, agent)
	r.stop()
	before := await(t, c)
	begin = time.Now()
	r = run(t, c)
	c.AwaitIdle(t, restful, agent)
	if n, after := writes(t, c, begin), await(t, c); n != 0 || after.ResourceVersion != before.ResourceVersion || r.reckonings.Load() == 0 {
		t.Errorf("%d writes, %d reckonings", n, r.reckonings.Load())
	}
	if err := clusteroperator.WatchClusterVersion(r.manager, r.controller); err != nil {
		t.Fatal(err)
	}
	patchStatus(t, c, "foo", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "foo.v2 is installed")
	})
	reportProgress(t, c, version, "Working towards 4.20.2: 5 of 9 done (55% complete), waiting on platform-operators")
	await(t, c, "operator=4.20.2", "Progressing=False/PlatformOperatorsInstalled")

	t.Log("the status is healthy without PlatformOperators, and the ClusterOperator may be recreated")
	for _, name := range []string{"foo", "bar"} {
		if err := c.Client.Delete(t.Context(), platformOperator(name)); err != nil {
			t.Fatal(err)
		}
	}
	co = await(t, c, "Available=True/NoPlatformOperators", "Progressing=False/NoPlatformOperators", "Degraded=False/NoPlatformOperators")
	if err := cvotest.Resolve(t.Context(), c.Client, c.Client.RESTMapper(), co); err != nil {
		t.Error(err)
	}
	if err := c.Client.Delete(t.Context(), co); err != nil {
		t.Fatal(err)
	}
	c.AwaitGone(t, co.DeepCopy())
	c.InstallClusterOperator(t)
	await(t, c, "Available=True/NoPlatformOperators", "operator=4.20.2")
}

// TestEnvironment verifies that RELEASE_VERSION in the environment takes precedence.
func TestEnvironment(t *testing.T) {
	t.Setenv("RELEASE_VERSION", "4.21.0")
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	empty := fake.NewClientBuilder().WithScheme(scheme).Build()
	got, err := clusteroperator.ReadCluster(empty, ownVersion)(t.Context())
	if got != (clusteroperatorstatus.Cluster{Release: "4.21.0", Reached: true}) || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// overwriteStatus writes the status of the ClusterOperator as another user.
func overwriteStatus(t testing.TB, c *testcluster.Cluster, how func(*configv1.ClusterOperatorStatus)) {
	t.Helper()
	co := await(t, c)
	how(&co.Status)
	if err := c.Client.Status().Update(t.Context(), co); err != nil {
		t.Fatal(err)
	}
}

// TestFiveThousand measures the load that a large platform puts on the API server.
func TestFiveThousand(t *testing.T) {
	const many, some = 5000, 500
	c := start(t)
	cvotest.Watch(t, c.Config, c.Client.Scheme())
	began := time.Now()
	operators := platform(t, c, many)
	t.Logf("created %d PlatformOperators in %s", many, time.Since(began).Round(time.Second))
	c.InstallClusterOperator(t)
	r := run(t, c)
	await(t, c, "Available=True/PlatformOperatorsInstalled", "operator="+ownVersion)
	c.AwaitIdle(t, restful, agent)
	var since time.Time
	var reckonings int64
	begin := func() { since, reckonings = time.Now(), r.reckonings.Load() }
	counted := func(what string, mostWrites, mostReckonings int) {
		t.Helper()
		c.AwaitIdle(t, restful, agent)
		wrote, reckoned := writes(t, c, since), int(r.reckonings.Load()-reckonings)
		t.Logf("%s: %d writes, %d reckonings", what, wrote, reckoned)
		if wrote > mostWrites || reckoned > mostReckonings {
			t.Errorf("%s: want at most %d writes and %d reckonings", what, mostWrites, mostReckonings)
		}
	}

	begin()
	counted("nothing changes", 0, 0)

	begin()
	inParallel(t, some, func(ctx context.Context, i int) error {
		p := operators[i]
		p.Labels = map[string]string{"any": "thing"}
		return c.Client.Update(ctx, p)
	})
	inParallel(t, some, func(ctx context.Context, i int) error {
		p := operators[i]
		p.Status.Version = "1.2.3"
		return c.Client.Status().Update(ctx, p)
	})
	counted(fmt.Sprintf("%d change in what is not read", some), 0, 0)

	begin()
	change := func(ctx context.Context, i int, reason string) error {
		p := operators[i].DeepCopy()
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		installed(p, reason, "So it is")
		return c.Client.Status().Update(ctx, p)
	}
	if err := change(t.Context(), many-1, "Installing"); err != nil {
		t.Fatal(err)
	}
	await(t, c, "Progressing=True/PlatformOperatorsUpdating: Waiting for 1 of 5000 PlatformOperators: po-4999 (Installing): So it is")
	counted("one changes", 1, 2) // the second sees the first one's write

	begin()
	inParallel(t, some, func(ctx context.Context, i int) error { return change(ctx, i, "Installing") })
	co := await(t, c, "Waiting for 501 of 5000 PlatformOperators", "and 481 more: kubectl get platformoperators.platform.openshift.io")
	took := time.Since(since)
	paced := 1 + int(took/time.Second) // one at once, and then one per second
	counted(fmt.Sprintf("%d change within %s", some, took.Round(time.Millisecond)), paced, paced+1)
	if err := cvotest.Resolve(t.Context(), c.Client, c.Client.RESTMapper(), co); err != nil {
		t.Error(err)
	}
}
