package main

import (
	"context"
	"fmt"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// awaitCatalog waits until the current content of the catalog's ConfigMap has been read.
func (s *stage) awaitCatalog(ctx context.Context) error {
	catalog := &corev1.ConfigMap{}
	if err := s.admin.Get(ctx, catalogKey, catalog); err != nil {
		return fmt.Errorf("getting the ConfigMap of the catalog: %w", err)
	}
	source := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: catalogKey.Namespace, Name: catalogKey.Name}}
	want := "Healthy=True/CatalogRead, at resourceVersion " + catalog.ResourceVersion
	_, err := await(ctx, s, source, want, func(source *olm.CatalogSource) string {
		c := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionHealthy)
		if c == nil || source.Status.ConfigMapResource == nil {
			return "not read yet"
		}
		return fmt.Sprintf("%s=%s/%s, at resourceVersion %s", c.Type, c.Status, c.Reason, source.Status.ConfigMapResource.ResourceVersion)
	})
	return err
}

// awaitRunning waits until a version of foo-operator is installed and up to date, and checks that it is available.
func (s *stage) awaitRunning(ctx context.Context, version string) error {
	csv := csvOf(version).Name
	if _, err := s.awaitSubscription(ctx, fmt.Sprintf("wants %s, has %s, UpToDate=true, UpgradeHeld=False/NotHeld", csv, csv)); err != nil {
		return err
	}
	c := &v1alpha1.ClusterServiceVersion{}
	if err := s.admin.Get(ctx, csvOf(version), c); err != nil {
		return fmt.Errorf("getting the ClusterServiceVersion that is up to date: %w", err)
	}
	if c.Status.Phase != olm.CSVPhaseSucceeded {
		return &unexpected{what: "ClusterServiceVersion " + csv, want: string(olm.CSVPhaseSucceeded), saw: string(c.Status.Phase), object: withoutNoise(c)}
	}
	d := &appsv1.Deployment{}
	if err := s.admin.Get(ctx, deploymentKey, d); err != nil {
		return fmt.Errorf("getting the Deployment of the up-to-date operator: %w", err)
	}
	want := fmt.Sprintf("runs example.com/foo-operator:v%s for %s, 1 of 1 available", version, csv)
	if saw := stateOf(d); saw != want {
		return &unexpected{what: "Deployment " + d.Name, want: want, saw: saw, object: withoutNoise(d)}
	}
	return nil
}

func stateOf(d *appsv1.Deployment) string {
	if d.Status.ObservedGeneration != d.Generation {
		return "a spec that has not been reconciled yet"
	}
	owner := "no owner"
	if len(d.OwnerReferences) > 0 {
		owner = d.OwnerReferences[0].Name
	}
	return fmt.Sprintf("runs %s for %s, %d of %d available",
		d.Spec.Template.Spec.Containers[0].Image, owner, d.Status.AvailableReplicas, d.Status.Replicas)
}

// awaitHeld waits until the update is held because of the Foo and its InstallPlan requires approval.
func (s *stage) awaitHeld(ctx context.Context) error {
	sub, err := s.awaitSubscription(ctx, fmt.Sprintf("wants %s, has %s, UpToDate=false, UpgradeHeld=True/ProbeNotUpgradeable",
		csvOf(second).Name, csvOf(first).Name))
	if err != nil {
		return err
	}
	const why = "Waiting for Foo operators/foo-example: Migrating is True"
	if !strings.Contains(sub.Status.Message, why) {
		return &unexpected{what: "the Subscription's message", want: "that it contains: " + why, saw: sub.Status.Message, object: withoutNoise(sub)}
	}
	if sub.Status.InstallPlanRef == nil {
		return &unexpected{what: "the Subscription", want: "a reference to its InstallPlan", saw: "none", object: withoutNoise(sub)}
	}
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sub.Status.InstallPlanRef.Name}}
	_, err = await(ctx, s, plan, string(olm.InstallPlanPhaseRequiresApproval), func(plan *olm.InstallPlan) string {
		return string(plan.Status.Phase)
	})
	return err
}

// awaitSubscription waits until the Subscription has the status that want describes.
func (s *stage) awaitSubscription(ctx context.Context, want string) (*v1alpha1.Subscription, error) {
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: subscriptionKey.Namespace, Name: subscriptionKey.Name}}
	return await(ctx, s, sub, want, func(sub *v1alpha1.Subscription) string {
		held := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
		return fmt.Sprintf("wants %s, has %s, UpToDate=%v, %s=%s/%s",
			sub.Status.CurrentCSV, sub.Status.InstalledCSV, sub.Status.UpToDate, held.Type, held.Status, held.Reason)
	})
}

// awaitReport waits until the conditions of a version's ClusterServiceVersion are those in want.
func (s *stage) awaitReport(ctx context.Context, version, want string) error {
	key := csvOf(version)
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	_, err := await(ctx, s, csv, want, func(csv *v1alpha1.ClusterServiceVersion) string {
		var out []string
		for _, c := range csv.Status.Conditions {
			out = append(out, fmt.Sprintf("%s=%s", c.Type, c.Status))
		}
		return strings.Join(out, " ")
	})
	return err
}

// awaitProbe waits until the Probe of a version has the author's expression, and conditions and custom resources as in want.
func (s *stage) awaitProbe(ctx context.Context, version, want string) (*v1alpha1.Probe, error) {
	key := csvOf(version)
	p := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return await(ctx, s, p, fmt.Sprintf("[%s] %s", expression, want), func(p *v1alpha1.Probe) string {
		if p.Spec == nil || p.Status.ObservedGeneration != p.Generation {
			return "a spec without a status of its own"
		}
		var expressions []string
		for _, r := range p.Spec.ProbeResources {
			expressions = append(expressions, r.Upgradeable)
		}
		out := []string{fmt.Sprintf("%v %s", expressions, formatConditions(p.Status.Conditions))}
		for _, r := range p.Status.ProbeResources {
			out = append(out, fmt.Sprintf("%s %s/%s %v", r.Kind, r.Namespace, r.Name, r.Reasons))
		}
		return strings.Join(out, ", ")
	})
}

func formatConditions(conditions []metav1.Condition) string {
	var out []string
	for _, c := range conditions {
		out = append(out, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(out, " ")
}

// updatable describes the objects that an update changes: the ClusterServiceVersions, the Deployment and the CRD.
func (s *stage) updatable(ctx context.Context) (string, error) {
	csvs := &v1alpha1.ClusterServiceVersionList{}
	if err := s.admin.List(ctx, csvs, client.InNamespace(namespace)); err != nil {
		return "", fmt.Errorf("listing the ClusterServiceVersions: %w", err)
	}
	d := &appsv1.Deployment{}
	if err := s.admin.Get(ctx, deploymentKey, d); err != nil {
		return "", fmt.Errorf("getting the Deployment of foo-operator: %w", err)
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := s.admin.Get(ctx, crdKey, crd); err != nil {
		return "", fmt.Errorf("getting the CRD of Foos: %w", err)
	}
	var out strings.Builder
	for _, csv := range csvs.Items {
		fmt.Fprintf(&out, "ClusterServiceVersion %s generation %d, ", csv.Name, csv.Generation)
	}
	fmt.Fprintf(&out, "Deployment generation %d %s, CRD resourceVersion %s", d.Generation, stateOf(d), crd.ResourceVersion)
	return out.String(), nil
}

// expectUnchanged returns an error if the description of the installed objects differs from before.
func (s *stage) expectUnchanged(ctx context.Context, before string) error {
	now, err := s.updatable(ctx)
	if err != nil {
		return err
	}
	return expect("the installed objects", before, now)
}
