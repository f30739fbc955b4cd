package lifecycle

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// requireEachOther makes each version of these packages require the same version of the others.
func requireEachOther(t *testing.T, config declcfg.DeclarativeConfig, packages ...string) declcfg.DeclarativeConfig {
	t.Helper()
	for i := range config.Bundles {
		b := &config.Bundles[i]
		for _, other := range packages {
			if other == b.Package {
				continue
			}
			version, err := versionOf(b)
			if err != nil {
				t.Fatal(err)
			}
			b.Properties = append(b.Properties, property.Property{
				Type: property.TypePackageRequired, Value: json.RawMessage(fmt.Sprintf(`{"packageName":%q,"versionRange":%q}`, other, version)),
			})
		}
	}
	return config
}

func versionOf(b *declcfg.Bundle) (string, error) {
	props, err := property.Parse(b.Properties)
	if err != nil {
		return "", err
	}
	return props.Packages[0].Version, nil
}

// TestMutuallyRequiredPackages verifies that packages that require each other's version are updated in one plan, once both
// may be.
func TestMutuallyRequiredPackages(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	versions := func(versions ...string) declcfg.DeclarativeConfig {
		config := configOf(t, publish(t, testcatalog.Holding("left", versions...)...), publish(t, testcatalog.Holding("right", versions...)...))
		return requireEachOther(t, config, "left", "right")
	}
	s := newStage(t, "lockstep")
	s.offerConfig(t, versions("1.0.0"))
	left := s.subscribe(t, "left")
	s.awaitInstalled(t, left, "left-operator.v1.0.0")
	right := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "right-stable-" + s.catalog.Name + "-" + global}}
	s.awaitInstalled(t, right, "right-operator.v1.0.0")
	busy := s.custom(t, "right", "busy", `[{type: Migrating, status: "True"}]`)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "right-operator.v1.0.0"}}
	s.await(t, probe, func() string { return checkNotUpgradeable(probe) })

	s.offerConfig(t, versions("1.0.0", "1.1.0"))
	s.awaitTrue(t, left, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy", "Migrating")
	s.awaitTrue(t, right, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy", "Migrating")
	s.checkAbsent(t, s.csv("left-operator.v1.1.0"))
	finishMigration(t, busy)
	s.awaitInstalled(t, left, "left-operator.v1.1.0")
	s.awaitInstalled(t, right, "right-operator.v1.1.0")
	if left.Status.InstallPlanRef.Name != right.Status.InstallPlanRef.Name {
		t.Errorf("the packages were updated by two InstallPlans: %s and %s", left.Status.InstallPlanRef.Name, right.Status.InstallPlanRef.Name)
	}
}

// TestUserCreatedCSVAdopted verifies that a Subscription adopts and updates a ClusterServiceVersion that a user created.
func TestUserCreatedCSVAdopted(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	v1, v2 := testcatalog.Foo{Name: "adopted", Version: "1.0.0"}, testcatalog.Foo{Name: "adopted", Version: "1.1.0"}
	s := newStage(t, "adopted", publish(t, v1, v2))
	// The rights that an InstallPlan would have granted.
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: "adopted-operator"}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Subjects: []rbacv1.Subject{account}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	cluster.Create(t, binding, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: account.Name}})
	t.Cleanup(func() { deleteAndWait(t, binding) })
	for _, o := range publish(t, v1).Bundles[0].Objects {
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			o.SetNamespace(s.namespace)
		}
		cluster.Create(t, o.DeepCopy())
	}
	sub := s.subscribe(t, "adopted")
	s.awaitInstalled(t, sub, v2.CSV())
	cluster.AwaitGone(t, s.csv(v1.CSV()))
	s.checkDeployment(t, "adopted-operator", "example.com/adopted-operator:1.1.0", v2.CSV())
}

// TestInstalledNewerThanChannelHead verifies that a version that is newer than its channel's head is kept and not reported as
// up to date.
func TestInstalledNewerThanChannelHead(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	v1, v2 := testcatalog.Foo{Name: "older", Version: "1.0.0"}, testcatalog.Foo{Name: "older", Version: "2.0.0"}
	s := newStage(t, "older", publish(t, v1, v2))
	sub := s.subscribe(t, "older")
	s.awaitInstalled(t, sub, v2.CSV())
	s.offer(t, publish(t, v1))
	s.await(t, sub, func() string {
		c := sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate)
		if sub.Status.UpToDate || c.Status != "False" || sub.Status.InstalledCSV != v2.CSV() || sub.Status.Message == "" {
			return fmt.Sprintf("UpToDate %v, %+v, message %q", sub.Status.UpToDate, c, sub.Status.Message)
		}
		return ""
	})
}

// TestReplacementWithLowerVersion verifies that a version that replaces another by name is newer, regardless of its version
// number.
func TestReplacementWithLowerVersion(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	high, low := testcatalog.Foo{Name: "renumbered", Version: "20.0.0"}, testcatalog.Foo{Name: "renumbered", Version: "1.0.0"}
	s := newStage(t, "renumbered", publish(t, high))
	sub := s.subscribe(t, "renumbered")
	s.awaitInstalled(t, sub, high.CSV())
	s.offer(t, publish(t, high, low))
	s.awaitInstalled(t, sub, low.CSV())
	cluster.AwaitGone(t, s.csv(high.CSV()))
}

// TestDeprecations verifies that deprecations are reported on the Subscription and do not prevent installation.
func TestDeprecations(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	v1 := testcatalog.Foo{Name: "aged", Version: "1.0.0"}
	config := configOf(t, publish(t, v1))
	config.Deprecations = []declcfg.Deprecation{{Schema: declcfg.SchemaDeprecation, Package: "aged", Entries: []declcfg.DeprecationEntry{
		{Reference: declcfg.PackageScopedReference{Schema: declcfg.SchemaPackage}, Message: "aged is no longer maintained"},
		{Reference: declcfg.PackageScopedReference{Schema: declcfg.SchemaBundle, Name: v1.CSV()}, Message: "1.0.0 has a leak"},
	}}}
	s := newStage(t, "aged")
	s.offerConfig(t, config)
	sub := s.subscribe(t, "aged")
	s.awaitInstalled(t, sub, v1.CSV())
	s.awaitTrue(t, sub, v1alpha1.SubscriptionPackageDeprecated, v1alpha1.ReasonDeprecated, "aged is no longer maintained")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionBundleDeprecated, v1alpha1.ReasonDeprecated, "1.0.0 has a leak")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionDeprecated, v1alpha1.ReasonDeprecated, "no longer maintained", "has a leak")
}

// TestServiceWithoutAPIVersion verifies that a bundle whose Service has no apiVersion is installed, as in OLM.
func TestServiceWithoutAPIVersion(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	v1 := testcatalog.Foo{Name: "bare", Version: "1.0.0",
		More: []string{"{kind: Service, metadata: {name: bare}, spec: {ports: [{port: 80}], selector: {app: bare-operator}}}"}}
	s := newStage(t, "bare", publish(t, v1))
	s.awaitInstalled(t, s.subscribe(t, "bare"), v1.CSV())
	service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	if err := cluster.Client.Get(t.Context(), s.key("bare"), service); err != nil {
		t.Error(err)
	}
}
