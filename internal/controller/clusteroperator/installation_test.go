package clusteroperator_test

import (
	"path/filepath"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/controller/clusteroperator"
	"github.com/operator-status/operator-status/internal/test/cvotest"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestInstallation replays the first installation of a cluster, and the update after it, in the order of the Cluster
// Version Operator: it creates the ClusterOperator, applies the PlatformOperators of the release, and checks the
// ClusterOperator at once.
func TestInstallation(t *testing.T) {
	c := start(t)
	c.InstallOpenShift(t, clusterVersionCRD)
	version := &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}}
	version.Spec.ClusterID = "3a4f8a0e-5c5c-4c5b-9f1c-8d1f6f1c2b3a"
	c.Create(t, version)
	complete(t, c, version, configv1.PartialUpdate, "1.0.0")
	cvotest.Watch(t, c.Config, c.Client.Scheme())
	r := run(t, c)
	if err := clusteroperator.WatchClusterVersion(r.manager, r.controller); err != nil {
		t.Fatal(err)
	}

	release, err := cvotest.ReadPayload(filepath.Join(testcluster.Root(), "config", "samples", "release"), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	co := precreate(t, c, release)
	for _, name := range release.Objects {
		c.Create(t, platformOperator(name))
	}
	if err := release.Check(current(t, c, co), true); err == nil {
		t.Fatalf("the installation completes at once:\n%s", testcluster.Print(co))
	}
	await(t, c, "Available=False/PlatformOperatorsInstalling: Waiting for 2 of 2 PlatformOperators to be installed")
	patchStatus(t, c, "foo", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "foo.v1 is installed")
	})
	await(t, c, "Available=False/PlatformOperatorsInstalling: Waiting for 1 of 2 PlatformOperators to be installed: bar")

	t.Log("the installation waits for a PlatformOperator that was deleted")
	if err := c.Client.Delete(t.Context(), platformOperator("bar")); err != nil {
		t.Fatal(err)
	}
	await(t, c, "Available=False/PlatformOperatorsInstalling: Waiting for 1 of 2 PlatformOperators to be installed: "+
		"bar is part of the release, but does not exist")
	c.Create(t, platformOperator("bar"))
	patchStatus(t, c, "bar", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "bar.v1 is installed")
	})
	await(t, c, "Available=True/PlatformOperatorsInstalled", "operator=1.0.0")

	t.Log("a PlatformOperator that is no longer installed removes the version until the installation has completed")
	patchStatus(t, c, "bar", func(p *platformv1alpha1.PlatformOperator) { installed(p, "Installing", "Waiting for bar.v2") })
	await(t, c, "Available=False/PlatformOperatorsInstalling: Waiting for 1 of 2")
	if err := release.Check(current(t, c, co), true); err == nil {
		t.Errorf("the installation completes without bar:\n%s", testcluster.Print(co))
	}
	patchStatus(t, c, "bar", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "bar.v2 is installed")
	})
	await(t, c, "Available=True/PlatformOperatorsInstalled", "operator=1.0.0")
	if err := release.Check(current(t, c, co), true); err != nil {
		t.Errorf("the installation does not complete: %v", err)
	}
	complete(t, c, version, configv1.CompletedUpdate, "1.0.0")

	t.Log("an update waits for a PlatformOperator that the next release adds, and Available stays True")
	release = payload("2.0.0", "foo", "baz")
	complete(t, c, version, configv1.PartialUpdate, "2.0.0")
	c.Create(t, platformOperator("baz"))
	if err := c.Client.Delete(t.Context(), platformOperator("bar")); err != nil {
		t.Fatal(err)
	}
	await(t, c, "Available=True/PlatformOperatorsInstalled", "operator=1.0.0", "Updating from release 1.0.0 to 2.0.0. Waiting for 1 of 2 PlatformOperators: baz")
	if err := release.Check(current(t, c, co), false); err == nil {
		t.Errorf("the update does not wait for baz:\n%s", testcluster.Print(co))
	}
	patchStatus(t, c, "baz", func(p *platformv1alpha1.PlatformOperator) {
		installed(p, platformv1alpha1.ReasonInstalled, "baz.v1 is installed")
	})
	await(t, c, "operator=1.0.0", "Progressing=False/PlatformOperatorsInstalled")
	if err := release.Check(current(t, c, co), false); err == nil {
		t.Errorf("the update does not wait for the ClusterOperator:\n%s", testcluster.Print(co))
	}
	reportProgress(t, c, version, "Working towards 2.0.0: 7 of 9 done (77% complete), waiting on platform-operators")
	await(t, c, "operator=2.0.0", "Progressing=False/PlatformOperatorsInstalled")
	if err := release.Check(current(t, c, co), false); err != nil {
		t.Errorf("the update does not complete: %v", err)
	}
}

// TestSettling verifies that a release does not count as installed at once if its ClusterOperator names nothing.
func TestSettling(t *testing.T) {
	c := start(t)
	c.InstallOpenShift(t, clusterVersionCRD)
	version := &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}}
	version.Spec.ClusterID = "3a4f8a0e-5c5c-4c5b-9f1c-8d1f6f1c2b3a"
	c.Create(t, version)
	complete(t, c, version, configv1.PartialUpdate, "1.0.0")
	run(t, c)

	release := payload("1.0.0", "")
	co := precreate(t, c, release)
	await(t, c, "Available=False/PlatformOperatorsInstalling: Waiting for the PlatformOperators of the release to be created")
	if err := release.Check(current(t, c, co), true); err == nil {
		t.Errorf("the installation completes at once:\n%s", testcluster.Print(co))
	}
}

// payload returns a release whose ClusterOperator names these PlatformOperators.
func payload(version string, names ...string) cvotest.Payload {
	out := cvotest.Payload{Objects: names}
	out.Manifest.Name = platformv1alpha1.ClusterOperatorName
	out.Manifest.Status.Versions = []configv1.OperandVersion{{Name: platformv1alpha1.OperatorVersionName, Version: version}}
	for _, name := range names {
		out.Manifest.Status.RelatedObjects = append(out.Manifest.Status.RelatedObjects,
			configv1.ObjectReference{Group: platformv1alpha1.GroupVersion.Group, Resource: "platformoperators", Name: name})
	}
	return out
}

// precreate creates the ClusterOperator of a release, and its status in a second request, which must not conflict.
func precreate(t testing.TB, c *testcluster.Cluster, p cvotest.Payload) *configv1.ClusterOperator {
	t.Helper()
	co := p.Create()
	c.Create(t, &co)
	p.WriteStatus(&co)
	if err := c.Client.Status().Update(t.Context(), &co); err != nil {
		t.Fatalf("another client has updated the ClusterOperator: %v", err)
	}
	return &co
}

func current(t testing.TB, c *testcluster.Cluster, co *configv1.ClusterOperator) *configv1.ClusterOperator {
	t.Helper()
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(co), co); err != nil {
		t.Fatal(err)
	}
	return co
}

// complete records in the ClusterVersion that a release is in progress or completed.
func complete(t testing.TB, c *testcluster.Cluster, version *configv1.ClusterVersion, state configv1.UpdateState, release string) {
	t.Helper()
	entry := configv1.UpdateHistory{State: state, Version: release, Image: "example.com/release:" + release, StartedTime: metav1.Now()}
	if state == configv1.CompletedUpdate {
		entry.CompletionTime = new(metav1.Now())
	}
	if h := version.Status.History; len(h) > 0 && h[0].Version == release {
		h[0] = entry
	} else {
		version.Status.History = append([]configv1.UpdateHistory{entry}, h...)
	}
	version.Status.Desired = configv1.Release{Version: release, Image: entry.Image}
	version.Status.VersionHash = "hash"
	reportProgress(t, c, version, "Working towards "+release+": 1 of 9 done (11% complete)")
}

// reportProgress records the progress of the Cluster Version Operator in the ClusterVersion.
func reportProgress(t testing.TB, c *testcluster.Cluster, version *configv1.ClusterVersion, progress string) {
	t.Helper()
	version.Status.Conditions = []configv1.ClusterOperatorStatusCondition{{
		Type: configv1.OperatorProgressing, Status: configv1.ConditionTrue, Message: progress, LastTransitionTime: metav1.Now(),
	}}
	if err := c.Client.Status().Update(t.Context(), version); err != nil {
		t.Fatalf("updating the ClusterVersion: %v", err)
	}
}
