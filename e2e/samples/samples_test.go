package samples_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/e2e/samples"
	foov1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(testcluster.Run(m, func(c *testcluster.Cluster) { cluster = c }))
}

// TestBundles verifies that the bundles are complete and differ as they should.
func TestBundles(t *testing.T) {
	for sample, annotation := range map[string]string{samples.Annotated: "!Migrating", samples.Direct: ""} {
		t.Run(sample, func(t *testing.T) {
			p, err := samples.Package(sample, func(version string) string { return "registry.example.com/" + sample + "@" + version }, samples.Versions()...)
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != sample || p.Channel != "stable" || len(p.Bundles) != 2 {
				t.Errorf("the package is %s with %d bundles in channel %s", p.Name, len(p.Bundles), p.Channel)
			}
			for i, b := range p.Bundles {
				version := samples.Versions()[i]
				if b.CSV.Name != samples.CSV(sample, version) || b.Version.String() != version {
					t.Errorf("%s has version %s", b.CSV.Name, b.Version)
				}
				deployment := b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
				if got := deployment.Spec.Template.Spec.Containers[0].Image; got != "registry.example.com/"+sample+"@"+version {
					t.Errorf("the image of %s is %s", b.CSV.Name, got)
				}
				if got := crdOf(t, b).GetAnnotations()[v1alpha1.AnnotationUpgradeable]; got != annotation {
					t.Errorf("the annotation of %s is %q", b.CSV.Name, got)
				}
			}
			if got := p.Bundles[1].CSV.Spec.Replaces; got != p.Bundles[0].CSV.Name {
				t.Errorf("the second version replaces %q", got)
			}
		})
	}
	if err := samples.Write(t.TempDir(), samples.Direct, "9.0.0", ""); err == nil {
		t.Error("writing version 9.0.0, which does not exist, succeeded")
	}
	folder := t.TempDir()
	if err := samples.Write(folder, samples.Direct, "1.0.0", ""); err != nil {
		t.Fatal(err)
	}
	const csv = "manifests/direct.clusterserviceversion.yaml"
	want, err := os.ReadFile(filepath.Join("direct", "bundle", "1.0.0", csv))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, csv))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("without an image the manifest is changed (-want +got):\n%s", diff)
	}
}

func crdOf(t *testing.T, b testcatalog.Bundle) *unstructured.Unstructured {
	t.Helper()
	for _, o := range b.Objects {
		if o.GetKind() == "CustomResourceDefinition" {
			return o
		}
	}
	t.Fatalf("%s has no CustomResourceDefinition", b.CSV.Name)
	return nil
}

// TestSamples verifies that each operator, as a process with the rights in its bundle, holds its updates while it
// migrates a Foo: in its Probe, and in the OperatorCondition, which is the gate beside OLM. The one that imports pkg/probe is
// also built with the oldest releases of controller-runtime that the library works with.
func TestSamples(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.WithoutHoldPolicy(t) // so that the OperatorCondition reports the Probe
	cluster.StartManager(t)
	for name, tc := range map[string]struct {
		sample    string
		libraries string
		manager   v1alpha1.ProbeManager
	}{
		"Annotated":              {sample: samples.Annotated, libraries: "go.mod", manager: v1alpha1.ManagerCRDAnnotations},
		"Direct":                 {sample: samples.Direct, libraries: "go.mod", manager: v1alpha1.ManagerOperator},
		"DirectWithOldest":       {sample: samples.Direct, libraries: "e2e/samples/libraries/controller-runtime-v0.16.0.mod", manager: v1alpha1.ManagerOperator},
		"DirectWithSecondOldest": {sample: samples.Direct, libraries: "e2e/samples/libraries/controller-runtime-v0.17.0.mod", manager: v1alpha1.ManagerOperator},
	} {
		t.Run(name, func(t *testing.T) {
			sample := tc.sample
			binary := samples.BuildWith(t, sample, tc.libraries)
			p, err := samples.Package(sample, nil, "1.0.0")
			if err != nil {
				t.Fatal(err)
			}
			key := types.NamespacedName{Namespace: cluster.Namespace(t, sample), Name: p.Bundles[0].CSV.Name}
			install(t, key, p.Bundles[0])
			account := types.NamespacedName{Namespace: key.Namespace, Name: samples.Account(sample)}
			samples.Start(t, cluster, binary, account, "OPERATOR_CONDITION_NAME="+key.Name)
			probe := awaitUpgradeable(t, key, metav1.ConditionTrue)
			if probe.Spec.Manager != tc.manager {
				t.Errorf("the manager of the Probe is %q", probe.Spec.Manager)
			}

			first, second := samples.NewFoo(t, cluster, key.Namespace, "first"), samples.NewFoo(t, cluster, key.Namespace, "second")
			for _, foo := range []*foov1.Foo{first, second} {
				samples.AwaitFoo(t, cluster, foo, "1.0.0", metav1.ConditionFalse)
				samples.Change(t, cluster, foo, func(spec *foov1.FooSpec) { spec.Version, spec.Hold = "2.0.0", true })
				samples.AwaitFoo(t, cluster, foo, "1.0.0", metav1.ConditionTrue)
			}
			probe = awaitUpgradeable(t, key, metav1.ConditionFalse)
			if c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable); !strings.Contains(c.Message, first.Name) {
				t.Errorf("the message does not name the Foo: %s", c.Message)
			}
			samples.Change(t, cluster, first, func(spec *foov1.FooSpec) { spec.Hold = false })
			samples.AwaitFoo(t, cluster, first, "2.0.0", metav1.ConditionFalse)
			awaitUpgradeable(t, key, metav1.ConditionFalse, second.Name)
			samples.Change(t, cluster, second, func(spec *foov1.FooSpec) { spec.Hold, spec.MigrationSeconds = false, 1 })
			samples.AwaitFoo(t, cluster, second, "2.0.0", metav1.ConditionFalse)
			awaitUpgradeable(t, key, metav1.ConditionTrue)

			samples.Change(t, cluster, first, func(spec *foov1.FooSpec) { spec.Version, spec.Hold = "3.0.0", true })
			awaitUpgradeable(t, key, metav1.ConditionFalse, first.Name)
			if err := client.IgnoreNotFound(cluster.Client.Delete(t.Context(), samples.Dynamic(t, first))); err != nil {
				t.Fatal(err)
			}
			awaitUpgradeable(t, key, metav1.ConditionTrue)
		})
	}
}

// install creates the objects of a bundle, as OLM does, except for the Deployment.
func install(t *testing.T, key types.NamespacedName, b testcatalog.Bundle) {
	t.Helper()
	crd := crdOf(t, b)
	cluster.Create(t, crd)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), crd); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	cluster.AwaitCRD(t, crd.GetName())
	strategy := b.CSV.Spec.InstallStrategy.StrategySpec
	for _, p := range strategy.Permissions {
		in := metav1.ObjectMeta{Namespace: key.Namespace, Name: p.ServiceAccountName}
		cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: in}, &rbacv1.Role{ObjectMeta: in, Rules: p.Rules}, &rbacv1.RoleBinding{
			ObjectMeta: in, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: in.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: in.Namespace, Name: in.Name}},
		})
	}
	cluster.Create(t, &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	for _, o := range b.Objects {
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			o.SetNamespace(key.Namespace)
			o.SetAnnotations(map[string]string{"olm.targetNamespaces": key.Namespace})
			cluster.Create(t, o)
		}
	}
}

// awaitUpgradeable waits until the Probe and the OperatorCondition have Upgradeable with a status, and the message of the
// Probe contains the words.
func awaitUpgradeable(t *testing.T, key types.NamespacedName, status metav1.ConditionStatus, words ...string) *v1alpha1.Probe {
	t.Helper()
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	cluster.Await(t, probe, func() string {
		c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
		if c == nil || c.Status != status {
			return "want Upgradeable=" + string(status)
		}
		for _, w := range words {
			if !strings.Contains(c.Message, w) {
				return "the message does not contain " + w
			}
		}
		return ""
	})
	gate := &operatorsv2.OperatorCondition{ObjectMeta: probe.ObjectMeta}
	cluster.Await(t, gate, func() string {
		// A gate that never had to hold has no condition.
		if c := meta.FindStatusCondition(gate.Spec.Conditions, operatorsv2.Upgradeable); c != nil && c.Status != status || c == nil &&
			status == metav1.ConditionFalse {
			return "want Upgradeable=" + string(status)
		}
		return ""
	})
	return probe
}
