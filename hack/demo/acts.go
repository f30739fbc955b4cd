package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// expression is the value of the annotation on the CRD of Foos.
const expression = "!Migrating"

// The Probe's states: while the Foo migrates, while an update is held because of it, and without anything to report.
const (
	migrating = notNow + theFoo
	holding   = notNow + " Holding=True/ApprovalGate" + theFoo

	notNow = "Upgradeable=False/NotUpgradeable Important=True/ConditionsTrue Synced=True/Synced"
	theFoo = ", Foo operators/foo-example [!Migrating UnhealthyDatabase BadConnectivity]"

	free = "Upgradeable=True/AllUpgradeable Important=False/NothingImportant Synced=True/Synced"
)

func (s *stage) install(ctx context.Context) error {
	objects, err := s.configLifecycle(ctx)
	if err != nil {
		return err
	}
	s.narrator.note("All of it but the Deployments: the managers run here.")
	return s.create(ctx, objects)
}

func (s *stage) startManagerAsItself(ctx context.Context) error {
	if err := s.startManagers(ctx); err != nil {
		return err
	}
	manager, err := s.as(ctx, managerAccount)
	if err != nil {
		return err
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := manager.Create(ctx, review); err != nil {
		return fmt.Errorf("getting the identity of the manager: %w", err)
	}
	s.narrator.note("pids %s, known to the API server as %s, and as %s for the built-in loops",
		s.managers.pids(), review.Status.UserInfo.Username, serviceaccount.MakeUsername(lifecycleAccount.Namespace, lifecycleAccount.Name))
	return expect("who the manager is", serviceaccount.MakeUsername(managerAccount.Namespace, managerAccount.Name), review.Status.UserInfo.Username)
}

func (s *stage) offerFirst(ctx context.Context) error {
	source, err := manifestsIn("catalog.yaml")
	if err != nil {
		return err
	}
	catalog := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: catalogKey.Namespace, Name: catalogKey.Name}}
	if err := s.admin.Create(ctx, catalog); err != nil {
		return fmt.Errorf("creating the ConfigMap of the catalog: %w", err)
	}
	if err := s.offer(ctx, in(fooPackage, first)); err != nil {
		return err
	}
	if err := s.create(ctx, source); err != nil {
		return err
	}
	s.narrator.note("A file-based catalog in a ConfigMap, of the manifests in hack/demo/story/foo-operator. The author has\n" +
		"annotated the CRD: olm.operatorframework.io/condition.Upgradeable: \"!Migrating\"")
	return s.awaitCatalog(ctx)
}

// offer replaces the contents of the catalog with packages.
func (s *stage) offer(ctx context.Context, packages ...offered) error {
	text, err := fileBasedCatalog(packages...)
	if err != nil {
		return err
	}
	catalog := &corev1.ConfigMap{}
	if err := s.admin.Get(ctx, catalogKey, catalog); err != nil {
		return fmt.Errorf("getting the ConfigMap of the catalog: %w", err)
	}
	catalog.Data = map[string]string{"catalog.yaml": text}
	if err := s.admin.Update(ctx, catalog); err != nil {
		return fmt.Errorf("updating the ConfigMap of the catalog: %w", err)
	}
	return nil
}

func (s *stage) subscribe(ctx context.Context) error {
	objects, err := manifestsIn("subscription.yaml")
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.create(ctx, objects); err != nil {
		return err
	}
	if err := s.awaitRunning(ctx, first); err != nil {
		return err
	}
	s.narrator.note("The Subscription reported it %s after its creation.", duration(time.Since(began)))
	p, err := s.awaitProbe(ctx, first, "Upgradeable=True/NoResources Important=False/NothingImportant Synced=True/Synced")
	if err != nil {
		return err
	}
	if err := expect("the Probe's spec", toYAML(&v1alpha1.ProbeSpec{
		Manager: v1alpha1.ManagerCRDAnnotations,
		ProbeResources: []v1alpha1.ProbeResource{{
			Name: crdKey.Name, Upgradeable: expression, Important: "BadConnectivity || UnhealthyDatabase",
		}},
	}), toYAML(p.Spec)); err != nil {
		return err
	}
	if err := s.awaitReport(ctx, first, "Available=True Progressing=False Upgradeable=True"); err != nil {
		return err
	}
	return s.get(ctx, "subscriptions,csv,probes,deployments")
}

func (s *stage) migrate(ctx context.Context) error {
	foo, err := manifestsIn("foo-migrating.yaml")
	if err != nil {
		return err
	}
	if err := s.create(ctx, foo); err != nil {
		return err
	}
	wrote, err := s.operatorWrites(ctx, "foo-migrating.yaml")
	if err != nil {
		return err
	}
	p, err := s.awaitProbe(ctx, first, migrating)
	if err != nil {
		return err
	}
	s.narrator.note("The Probe reported it %s after foo-operator began to write.", duration(time.Since(wrote)))
	s.narrator.show("of its status", v1alpha1.ProbeStatus{
		Conditions:     only(p.Status.Conditions, v1alpha1.ConditionUpgradeable),
		ProbeResources: p.Status.ProbeResources,
	})
	if strings.Contains(toYAML(p.Status), "SomethingUnrelated") {
		return &unexpected{what: "the Probe", want: "nothing about SomethingUnrelated", saw: "that condition in its status", object: p.Status}
	}
	return nil
}

func (s *stage) checkReaders(context.Context) error {
	users, err := s.readersOfFoos()
	if err != nil {
		return err
	}
	s.narrator.note("Of the manager's requests for Foos, the audit log has: as %s", strings.Join(users, ", "))
	return expect("whom the manager reads Foos as", serviceaccount.MakeUsername(operatorAccount.Namespace, operatorAccount.Name), strings.Join(users, ", "))
}

func (s *stage) offerUpdate(ctx context.Context) error {
	before, err := s.updatable(ctx)
	if err != nil {
		return err
	}
	if err := s.offer(ctx, in(fooPackage, first, second)); err != nil {
		return err
	}
	if err := s.awaitHeld(ctx); err != nil {
		return err
	}
	if _, err := s.awaitProbe(ctx, first, holding); err != nil {
		return err
	}
	if err := s.awaitReport(ctx, first, "Available=True Progressing=False Upgradeable=False"); err != nil {
		return err
	}
	if err := s.get(ctx, "subscriptions,csv,probes"); err != nil {
		return err
	}
	return s.expectUnchanged(ctx, before)
}

func (s *stage) killAndFinish(ctx context.Context) error {
	before, err := s.updatable(ctx)
	if err != nil {
		return err
	}
	if err := s.kill(); err != nil {
		return err
	}
	if _, err := s.operatorWrites(ctx, "foo-migrated.yaml"); err != nil {
		return err
	}
	if _, err := s.awaitProbe(ctx, first, holding); err != nil {
		return err
	}
	if err := s.awaitHeld(ctx); err != nil {
		return err
	}
	return s.expectUnchanged(ctx, before)
}

func (s *stage) startAgain(ctx context.Context) error {
	began := time.Now()
	if err := s.startManagers(ctx); err != nil {
		return err
	}
	if err := s.awaitRunning(ctx, second); err != nil {
		return err
	}
	s.narrator.note("The Subscription reported it %s after the managers were started.", duration(time.Since(began)))
	for _, gone := range []client.Object{&v1alpha1.ClusterServiceVersion{}, &v1alpha1.Probe{}} {
		if err := s.awaitGone(ctx, gone, csvOf(first)); err != nil {
			return err
		}
	}
	if _, err := s.awaitProbe(ctx, second, free); err != nil {
		return err
	}
	if err := s.awaitReport(ctx, second, "Available=True Progressing=False Upgradeable=True"); err != nil {
		return err
	}
	if err := s.get(ctx, "subscriptions,csv,probes"); err != nil {
		return err
	}
	return s.get(ctx, "deployments", "-o", "wide")
}

func (s *stage) mistype(ctx context.Context) error {
	if err := s.annotate(ctx, "!Migrating &&"); err != nil {
		return err
	}
	p, err := s.awaitProbe(ctx, second, free+" AnnotationsDiffer=True/ChangedSinceInstallation")
	if err != nil {
		return err
	}
	s.narrator.show("of its status", v1alpha1.ProbeStatus{Conditions: only(p.Status.Conditions, v1alpha1.ConditionAnnotationsDiffer)})
	return nil
}

func (s *stage) mend(ctx context.Context) error {
	if err := s.annotate(ctx, expression); err != nil {
		return err
	}
	_, err := s.awaitProbe(ctx, second, free)
	return err
}

// operatorWrites updates the status of a Foo from a manifest as foo-operator. It returns when the update began.
func (s *stage) operatorWrites(ctx context.Context, name string) (began time.Time, err error) {
	objects, err := manifestsIn(name)
	if err != nil {
		return began, err
	}
	fooOperator, err := s.as(ctx, operatorAccount)
	if err != nil {
		return began, err
	}
	for _, foo := range objects {
		now := foo.DeepCopy()
		if err := fooOperator.Get(ctx, client.ObjectKeyFromObject(foo), now); err != nil {
			return began, fmt.Errorf("getting Foo %s as foo-operator: %w", foo.GetName(), err)
		}
		now.Object["status"] = foo.Object["status"]
		began = time.Now()
		if err := fooOperator.Status().Update(ctx, now); err != nil {
			return began, fmt.Errorf("writing the status of Foo %s as foo-operator: %w", foo.GetName(), err)
		}
	}
	return began, nil
}

// annotate sets the Upgradeable expression on the CRD.
func (s *stage) annotate(ctx context.Context, expression string) error {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := s.admin.Get(ctx, crdKey, crd); err != nil {
		return fmt.Errorf("getting the CRD of Foos: %w", err)
	}
	before := crd.DeepCopy()
	metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AnnotationUpgradeable, expression)
	if err := s.admin.Patch(ctx, crd, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotating the CRD of Foos: %w", err)
	}
	return nil
}

// get shows the output of kubectl get in the demo's namespace.
func (s *stage) get(ctx context.Context, args ...string) error {
	return s.kubectl(ctx, append([]string{"get", "-n", namespace}, args...)...)
}

// only returns the conditions of that type.
func only(conditions []metav1.Condition, conditionType string) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type != conditionType })
}
