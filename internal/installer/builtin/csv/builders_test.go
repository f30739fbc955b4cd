package csv

import (
	"slices"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

type option func(*v1alpha1.ClusterServiceVersion)

// csv returns a CSV in namespace default. All are created at the same time, so v1 precedes v2 by name.
func csv(name string, options ...option) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Unix(1000, 0),
	}}
	out.Spec.InstallStrategy.StrategyName = olm.InstallStrategyNameDeployment
	for _, o := range options {
		o(out)
	}
	return out
}

func replaces(name string) option {
	return func(c *v1alpha1.ClusterServiceVersion) { c.Spec.Replaces = name }
}

func phase(p olm.ClusterServiceVersionPhase) option {
	return func(c *v1alpha1.ClusterServiceVersion) { c.Status.Phase = p }
}

// ran is the phase of a CSV that has Succeeded before.
func ran(p olm.ClusterServiceVersionPhase) option {
	return func(c *v1alpha1.ClusterServiceVersion) {
		c.Status.Phase = p
		c.Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: olm.CSVPhaseSucceeded}}
	}
}

func reason(r olm.ConditionReason) option {
	return func(c *v1alpha1.ClusterServiceVersion) { c.Status.Reason = r }
}

func created(seconds int64) option {
	return func(c *v1alpha1.ClusterServiceVersion) { c.CreationTimestamp = metav1.Unix(seconds, 0) }
}

func elsewhere(c *v1alpha1.ClusterServiceVersion) { c.Namespace = "other" }

// targets returns the OperatorGroup of namespace other.
func targets(names ...string) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "theirs"},
		Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: names}}
}

func owning(crds ...string) option {
	return func(c *v1alpha1.ClusterServiceVersion) {
		for _, name := range crds {
			c.Spec.CustomResourceDefinitions.Owned = append(c.Spec.CustomResourceDefinitions.Owned, olm.CRDDescription{Name: name, Version: "v1", Kind: "Foo"})
		}
	}
}

func deploying(names ...string) option {
	return func(c *v1alpha1.ClusterServiceVersion) {
		for _, name := range names {
			specs := &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
			*specs = append(*specs, olm.StrategyDeploymentSpec{Name: name})
		}
	}
}

func terminating(c *v1alpha1.ClusterServiceVersion) {
	now := metav1.Unix(2000, 0)
	c.DeletionTimestamp, c.Finalizers = &now, []string{"example.com/holds"}
}

func copied(c *v1alpha1.ClusterServiceVersion) {
	c.Labels = map[string]string{olm.CopiedLabelKey: "elsewhere"}
}

// about returns the situation of the first CSV.
func about(all ...*v1alpha1.ClusterServiceVersion) *situation {
	out := &situation{
		csv: all[0], csvs: map[string]*v1alpha1.ClusterServiceVersion{}, targets: []string{"default"},
		group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}},
	}
	for _, c := range all {
		out.csvs[c.Name] = c
	}
	return out
}

func reconciler(t *testing.T, objects ...client.Object) *Reconciler {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, operatorsv1.AddToScheme, operatorsv2.AddToScheme, v1alpha1.AddToScheme, apiextensions.AddToScheme,
	} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	kinds := apimeta.NewDefaultRESTMapper(nil)
	for kind := range known.AllKnownTypes() {
		kinds.Add(kind, apimeta.RESTScopeNamespace)
	}
	builder := fake.NewClientBuilder().WithScheme(known).WithRESTMapper(kinds).WithObjects(objects...).
		WithIndex(&operatorsv1.OperatorGroup{}, IndexStatic, staticOf)
	for field, keys := range indexes {
		builder.WithIndex(&v1alpha1.ClusterServiceVersion{}, field, keys)
	}
	c := builder.Build()
	return &Reconciler{
		Client: c, Reader: c, Records: &record.Store{Client: c, Live: c, Namespace: "system"}, Recorder: events.NewFakeRecorder(9),
		Now: func() time.Time { return time.Unix(3000, 0) },
	}
}

func objects(csvs ...*v1alpha1.ClusterServiceVersion) (out []client.Object) {
	for _, c := range csvs {
		out = append(out, c)
	}
	return out
}

func word(v *Verdict) string {
	if v == nil {
		return ""
	}
	return string(v.Phase) + "/" + v.Reason + ": " + v.Message
}

// verdictOf returns the verdict of the first of the named checks that objects, or nil.
func verdictOf(t *testing.T, r *Reconciler, s *situation, names ...string) *Verdict {
	t.Helper()
	for _, c := range r.checks() {
		if !slices.Contains(names, c.name) {
			continue
		}
		if verdict, err := c.run(t.Context(), s); err != nil {
			t.Fatal(err)
		} else if verdict != nil {
			return verdict
		}
	}
	return nil
}
