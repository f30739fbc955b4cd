package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// step is one step of the story. It fails where something is not as until says.
type step struct {
	title string
	until string
	do    func(*stage, context.Context) error
}

// story is that of the operator-status enhancement.
var story = []step{
	{
		"A control plane starts: etcd and an API server, without nodes and without OLM",
		"the API server is ready", (*stage).startControlPlane,
	}, {
		"operator-status is installed: config/default, as on any cluster",
		"its kind is served, and the two kinds of OLM's that it works with", (*stage).install,
	}, {
		"The manager starts, as a process here, with the token of its service account",
		"it has read the cluster, with no more rights than config/rbac gives", (*stage).startLimitedManager,
	}, {
		"foo-operator.v1.0.0 is installed, and opts in by two annotations on its CRD",
		"its Probe appears by itself: there is no Foo, so nothing holds an update", (*stage).installOperator,
	}, {
		"A user creates a Foo, and foo-operator writes there that it is migrating",
		"the Probe has the status that the enhancement prints: do not update now", (*stage).migrate,
	}, {
		"OLM reads the OperatorCondition before it updates an operator",
		"it says no, and names the Foo to wait for", (*stage).holdUpdate,
	}, {
		"The manager may not read Foos itself: it reads them as foo-operator",
		"it may not, foo-operator may, and the audit log shows whose rights it used", (*stage).limitRights,
	}, {
		"The manager is killed with kill -9, and the migration ends meanwhile",
		"the update still waits, for nobody has said otherwise", (*stage).killAndFinish,
	}, {
		"The manager starts again, and remembers nothing",
		"Probe and OperatorCondition say yes: the update may go ahead", (*stage).startAgain,
	}, {
		`The author mistypes the annotation: "!Migrating &&"`,
		"the Probe says that it cannot read it, and where; nothing is held", (*stage).mistype,
	}, {
		"The author mends it",
		"the Probe is as it was", (*stage).mend,
	},
}

// migrating is what the Probe says while the Foo migrates.
const migrating = "Upgradeable=False/NotUpgradeable Important=True/ConditionsTrue Synced=True/Synced, " +
	"Foo operators/foo-example [!Migrating UnhealthyDatabase BadConnectivity]"

// The cast. The name is that of the ClusterServiceVersion, its Probe and its OperatorCondition.
var (
	operator        = types.NamespacedName{Namespace: "operators", Name: "foo-operator.v1.0.0"}
	operatorAccount = types.NamespacedName{Namespace: "operators", Name: "foo-operator"}
)

func (s *stage) install(ctx context.Context) error {
	s.narrator.note("There is no OLM here: the demo does by hand what OLM would.")
	ours, err := s.configDefault(ctx)
	if err != nil {
		return err
	}
	olms, err := kindsOfOLM()
	if err != nil {
		return err
	}
	return s.create(ctx, append(ours, olms...))
}

func (s *stage) startLimitedManager(ctx context.Context) error {
	if err := s.startManager(ctx); err != nil {
		return err
	}
	manager, err := s.as(ctx, managerAccount)
	if err != nil {
		return err
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := manager.Create(ctx, review); err != nil {
		return fmt.Errorf("asking who the manager is: %w", err)
	}
	s.narrator.note("pid %d, known to the API server as %s", s.manager.cmd.Process.Pid, review.Status.UserInfo.Username)
	return expect("who the manager is", userName(managerAccount), review.Status.UserInfo.Username)
}

func (s *stage) installOperator(ctx context.Context) error {
	for _, name := range []string{"rights.yaml", "crd.yaml", "csv.yaml"} {
		objects, err := scene(name)
		if err != nil {
			return err
		}
		if err := s.create(ctx, objects); err != nil {
			return err
		}
	}
	s.narrator.note("See hack/demo/story. The API server lets what is of a kind that is new to it wait for 2 s.")
	created := time.Now()
	p, err := s.awaitProbe(ctx, "!Migrating", "Upgradeable=True/NoResources Important=False/NothingImportant Synced=True/Synced")
	if err != nil {
		return err
	}
	s.narrator.note("The Probe said so %s after the ClusterServiceVersion was there.", duration(time.Since(created)))
	if err := expect("the Probe's spec", toYAML(&v1alpha1.ProbeSpec{
		Manager: v1alpha1.ManagerCRDAnnotations,
		ProbeResources: []v1alpha1.ProbeResource{{
			Name: "foos.example.com", Upgradeable: "!Migrating", Important: "BadConnectivity || UnhealthyDatabase",
		}},
	}), toYAML(p.Spec)); err != nil {
		return err
	}
	return s.getProbes(ctx)
}

func (s *stage) migrate(ctx context.Context) error {
	foo, err := scene("foo-migrating.yaml")
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
	p, err := s.awaitProbe(ctx, "!Migrating", migrating)
	if err != nil {
		return err
	}
	s.narrator.note("The Probe said so %s after foo-operator began to write.", duration(time.Since(wrote)))
	if err := s.getProbes(ctx); err != nil {
		return err
	}
	s.narrator.show("of its status", v1alpha1.ProbeStatus{
		Conditions:     only(p.Status.Conditions, v1alpha1.ConditionUpgradeable),
		ProbeResources: p.Status.ProbeResources,
	})
	if strings.Contains(toYAML(p.Status), "SomethingUnrelated") {
		return &unexpected{what: "the Probe", want: "nothing about SomethingUnrelated", saw: "that condition in its status", object: p.Status}
	}
	return nil
}

func (s *stage) holdUpdate(ctx context.Context) error {
	c, err := s.awaitOperatorCondition(ctx, "Upgradeable=False/ProbeNotUpgradeable: "+
		"Probe foo-operator.v1.0.0: Waiting for Foo operators/foo-example: Migrating is True")
	if err != nil {
		return err
	}
	s.narrator.show("OperatorCondition foo-operator.v1.0.0", map[string]any{"spec": map[string]any{"conditions": c.Spec.Conditions}})
	return nil
}

func (s *stage) limitRights(ctx context.Context) error {
	for _, ask := range []struct {
		account types.NamespacedName
		want    string
	}{
		{managerAccount, "no"},
		{operatorAccount, "yes"},
	} {
		output, err := s.kubectl(ctx, "auth", "can-i", "list", "foos.example.com", "-n", operator.Namespace, "--as="+userName(ask.account))
		if err != nil && !errors.As(err, new(*exec.ExitError)) { // "no" is an exit code too
			return err
		}
		if err := expect("whether "+userName(ask.account)+" may list Foos", ask.want, strings.TrimSpace(output)); err != nil {
			return err
		}
	}
	users, err := s.readersOfFoos()
	if err != nil {
		return err
	}
	s.narrator.note("Of the manager's requests for Foos, the audit log says: as %s", strings.Join(users, ", "))
	return expect("whom the manager reads Foos as", userName(operatorAccount), strings.Join(users, ", "))
}

func (s *stage) killAndFinish(ctx context.Context) error {
	if err := s.manager.kill(); err != nil {
		return err
	}
	if _, err := s.operatorWrites(ctx, "foo-migrated.yaml"); err != nil {
		return err
	}
	_, err := s.awaitProbe(ctx, "!Migrating", migrating)
	return err
}

func (s *stage) startAgain(ctx context.Context) error {
	if err := s.startManager(ctx); err != nil {
		return err
	}
	if err := s.awaitFree(ctx); err != nil {
		return err
	}
	if _, err := s.awaitOperatorCondition(ctx, "Upgradeable=True/ProbeUpgradeable: "+
		"Probe foo-operator.v1.0.0 says that the operator may be updated"); err != nil {
		return err
	}
	return s.getProbes(ctx)
}

func (s *stage) mistype(ctx context.Context) error {
	if err := s.annotate(ctx, "!Migrating &&"); err != nil {
		return err
	}
	p, err := s.awaitProbe(ctx, "", "Upgradeable=True/SomeUnknown Important=False/NothingImportant Synced=False/InvalidExpression")
	if err != nil {
		return err
	}
	s.narrator.show("of its status", v1alpha1.ProbeStatus{Conditions: only(p.Status.Conditions, v1alpha1.ConditionSynced)})
	return nil
}

func (s *stage) mend(ctx context.Context) error {
	if err := s.annotate(ctx, "!Migrating"); err != nil {
		return err
	}
	return s.awaitFree(ctx)
}

// awaitFree returns when no Foo has anything to say.
func (s *stage) awaitFree(ctx context.Context) error {
	_, err := s.awaitProbe(ctx, "!Migrating", "Upgradeable=True/AllUpgradeable Important=False/NothingImportant Synced=True/Synced")
	return err
}

// awaitProbe returns when the Probe asks for that expression to be true, and says that: its conditions, and the custom
// resources it names with their reasons.
func (s *stage) awaitProbe(ctx context.Context, expression, want string) (*v1alpha1.Probe, error) {
	p := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: operator.Name}}
	return await(ctx, s, p, fmt.Sprintf("[%s] %s", expression, want), func(p *v1alpha1.Probe) string {
		if p.Spec == nil || p.Status.ObservedGeneration != p.Generation {
			return "a spec without a status of its own"
		}
		var expressions, conditions []string
		for _, r := range p.Spec.ProbeResources {
			expressions = append(expressions, r.Upgradeable)
		}
		for _, c := range p.Status.Conditions {
			conditions = append(conditions, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
		}
		out := []string{fmt.Sprintf("%v %s", expressions, strings.Join(conditions, " "))}
		for _, r := range p.Status.ProbeResources {
			out = append(out, fmt.Sprintf("%s %s/%s %v", r.Kind, r.Namespace, r.Name, r.Reasons))
		}
		return strings.Join(out, ", ")
	})
}

// awaitOperatorCondition returns when its Upgradeable says that.
func (s *stage) awaitOperatorCondition(ctx context.Context, want string) (*operatorsv2.OperatorCondition, error) {
	o := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: operator.Name}}
	return await(ctx, s, o, want, func(o *operatorsv2.OperatorCondition) string {
		c := meta.FindStatusCondition(o.Spec.Conditions, operatorsv2.Upgradeable)
		if c == nil {
			return "nothing about Upgradeable in spec.conditions"
		}
		return fmt.Sprintf("%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message)
	})
}

// operatorWrites has foo-operator, with its own token, give a Foo the status it has in a scene. It tells when the write
// began.
func (s *stage) operatorWrites(ctx context.Context, name string) (began time.Time, err error) {
	objects, err := scene(name)
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

// annotate states in the CRD when the operator is upgradeable.
func (s *stage) annotate(ctx context.Context, expression string) error {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := s.admin.Get(ctx, types.NamespacedName{Name: "foos.example.com"}, crd); err != nil {
		return fmt.Errorf("getting the CRD of Foos: %w", err)
	}
	before := crd.DeepCopy()
	metav1.SetMetaDataAnnotation(&crd.ObjectMeta, v1alpha1.AnnotationUpgradeable, expression)
	if err := s.admin.Patch(ctx, crd, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotating the CRD of Foos: %w", err)
	}
	return nil
}

func (s *stage) getProbes(ctx context.Context) error {
	_, err := s.kubectl(ctx, "get", "probes", "-n", operator.Namespace)
	return err
}

// only are the conditions of that type.
func only(conditions []metav1.Condition, conditionType string) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type != conditionType })
}
