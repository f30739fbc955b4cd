package library_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
	"github.com/operator-status/operator-status/pkg/probe"
)

// TestServed verifies that an operator notices when Probes are served and when they no longer are, and that it rarely
// asks while they are not.
func TestServed(t *testing.T) {
	c := testcluster.Start(t)
	served := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "probes.operators.coreos.com"}}
	must(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(served), served))
	uninstall := func() {
		t.Helper()
		must(t, c.Client.Patch(t.Context(), served.DeepCopy(), client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+platformv1alpha1.AnnotationDeleteAnyway+`":"true"}}}`))))
		must(t, c.Client.Delete(t.Context(), served.DeepCopy()))
		c.AwaitGone(t, served.DeepCopy())
	}
	install := func() {
		t.Helper()
		c.Create(t, &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: served.Name}, Spec: served.Spec})
		c.AwaitCRD(t, served.Name)
	}
	o := start(t, c, types.NamespacedName{Namespace: c.Namespace(t, "served"), Name: "foo.v1"})
	set := func() error { return o.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", "") }
	// The discovery document follows a CustomResourceDefinition after a moment.
	await := func(what string, want error) {
		t.Helper()
		deadline := time.Now().Add(testcluster.Timeout)
		for err := set(); !errors.Is(err, want); err = set() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
			o.now = o.now.Add(probe.RecheckInterval)
		}
	}

	t.Log("a cluster without ClusterServiceVersions")
	alone := start(t, c, o.key)
	must(t, alone.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", ""))
	if p, err := alone.Get(t.Context()); err != nil || len(p.OwnerReferences) > 0 {
		t.Errorf("the Probe is %+v, %v", p, err)
	}

	uninstall()
	await("the group is not served", probe.ErrNotServed)
	for what, call := range map[string]func() error{
		"Get":         func() error { _, err := o.Get(t.Context()); return err },
		"Upgradeable": func() error { _, err := o.Upgradeable(t.Context()); return err },
		"Claim":       func() error { return o.Claim(t.Context()) },
		"Update":      func() error { return o.Update(t.Context(), func(*v1alpha1.Probe) {}) },
	} {
		if err := call(); !errors.Is(err, probe.ErrNotServed) {
			t.Errorf("%s: %v", what, err)
		}
	}

	t.Log("no request is sent for an operator without a ClusterServiceVersion")
	unknown := o.with(t, o.client, probe.WithName(""), probe.WithNamespace(""), probe.WithNamespaceFile("absent"))
	if err := unknown.Claim(t.Context()); !errors.Is(err, probe.ErrNotServed) {
		t.Error(err)
	}

	t.Log("the result is cached for the interval")
	before := time.Now()
	o.now = o.now.Add(probe.RecheckInterval)
	for range 5 {
		if err := set(); !errors.Is(err, probe.ErrNotServed) {
			t.Fatal(err)
		}
	}
	if asked := c.RequestsOf(t, before, o.config.UserAgent); len(asked) != 1 {
		t.Errorf("five calls within the interval sent %v", asked)
	}

	t.Log("the group is served by OLM, without Probes")
	c.InstallOLM(t)
	key := o.key
	c.Create(t, newCSV(key))
	await("OLM alone", probe.ErrNotServed)
	install()
	await("Probes are served", nil)
	uninstall()
	await("Probes are no longer served", probe.ErrNotServed)
	install()
	await("Probes are served again", nil)
	if served, err := o.Served(t.Context()); !served || err != nil {
		t.Errorf("Served returns %v, %v", served, err)
	}
}

// TestClaim verifies which Probes an operator takes over, and which error it gets for others.
func TestClaim(t *testing.T) {
	resources := []v1alpha1.ProbeResource{{Name: "foos.example.com", Upgradeable: "!Migrating"}}
	held := v1alpha1.ProbeStatus{ObservedGeneration: 1, ProbeResources: []v1alpha1.ProbeResourceStatus{{Resource: "foos.example.com", Name: "a", Blocking: true}}}
	cases := map[string]struct {
		reason string
		create bool
		spec   *v1alpha1.ProbeSpec
		status v1alpha1.ProbeStatus
		want   error
	}{
		"Absent":    {reason: "A missing Probe is created."},
		"NoSpec":    {reason: "A Probe without a spec is claimed.", create: true},
		"EmptySpec": {reason: "A Probe with an empty spec is claimed.", create: true, spec: &v1alpha1.ProbeSpec{}},
		"Other":     {reason: "Other fields of the spec are kept.", create: true, spec: &v1alpha1.ProbeSpec{ServiceAccountName: "foo"}},
		"Claimed":   {reason: "A Probe that an earlier pod claimed is used unchanged.", create: true, spec: &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator}},
		"Policy": {reason: "A Probe that operator-status created from policies is claimed without their fields and their status.", create: true,
			spec: &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerPolicy, ProbeResources: resources, Isolation: v1alpha1.IsolationPod,
				Settle: &metav1.Duration{Duration: time.Hour}}, status: held},
		"Annotations": {reason: "A Probe that operator-status created from annotations is refused.", create: true,
			spec: &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerCRDAnnotations, ProbeResources: resources}, want: probe.ErrCRDAnnotations},
		"AnnotationsEmpty": {reason: "A Probe created from annotations is refused even if it has no resources.", create: true,
			spec: &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerCRDAnnotations}, want: probe.ErrCRDAnnotations},
		"Users": {reason: "A Probe with resources of a user is refused.", create: true, spec: &v1alpha1.ProbeSpec{ProbeResources: resources},
			want: probe.ErrProbeResources},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			key := csv(t)
			if tc.create {
				p := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: tc.spec.DeepCopy()}
				cluster.Create(t, p)
				p.Status = tc.status
				must(t, cluster.Client.Status().Update(t.Context(), p))
			}
			o := start(t, cluster, key)
			before := time.Now()
			err := o.Claim(t.Context())
			if !errors.Is(err, tc.want) {
				t.Fatalf("%s: got %v, want %v", tc.reason, err, tc.want)
			}
			got := actual(t, key)
			if tc.want != nil {
				if diff := cmp.Diff(tc.spec, got.Spec); diff != "" {
					t.Errorf("%s: the Probe was changed (-before +after):\n%s", tc.reason, diff)
				}
				if !strings.Contains(err.Error(), key.String()) {
					t.Errorf("the error does not contain the Probe: %v", err)
				}
				if err := o.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", ""); !errors.Is(err, tc.want) {
					t.Errorf("SetUpgradeable returns %v", err)
				}
				return
			}
			want := &v1alpha1.ProbeSpec{}
			if tc.spec != nil && tc.spec.Manager != v1alpha1.ManagerPolicy {
				want = tc.spec.DeepCopy()
			}
			want.Manager = v1alpha1.ManagerOperator
			if diff := cmp.Diff(want, got.Spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(v1alpha1.ProbeStatus{}, got.Status); diff != "" {
				t.Errorf("%s The status (-want +got):\n%s", tc.reason, diff)
			}
			if !tc.create && !metav1.IsControlledBy(got, ownerOf(t, key)) {
				t.Errorf("the Probe is not deleted with its ClusterServiceVersion: %+v", got.OwnerReferences)
			}
			if tc.spec != nil && tc.spec.Manager == v1alpha1.ManagerOperator {
				if diff := cmp.Diff([]string{"get probes 200"}, o.requests(t, before)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

func ownerOf(t *testing.T, key types.NamespacedName) *v1alpha1.ClusterServiceVersion {
	t.Helper()
	out := &v1alpha1.ClusterServiceVersion{}
	must(t, cluster.Client.Get(t.Context(), key, out))
	return out
}

// TestNoCSV verifies that no Probe without an owner is created, since nothing would delete it, and that a user's Probe
// is used.
func TestNoCSV(t *testing.T) {
	cluster.InstallOLM(t)
	o := start(t, cluster, types.NamespacedName{Namespace: cluster.Namespace(t, "no-csv"), Name: "gone.v1"})
	if err := o.Claim(t.Context()); !errors.Is(err, probe.ErrNoCSV) {
		t.Errorf("got %v", err)
	}
	if _, err := o.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("Get returns %v", err)
	}
	if c, err := o.Upgradeable(t.Context()); c != nil || err != nil {
		t.Errorf("Upgradeable returns %v, %v", c, err)
	}
	cluster.Create(t, &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: o.key.Namespace, Name: o.key.Name}})
	must(t, o.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", ""))
}

// TestSetUpgradeable verifies the requests and the condition of each call.
func TestSetUpgradeable(t *testing.T) {
	o := start(t, cluster, csv(t))
	began := metav1.NewTime(o.now)
	const get, write = "get probes 200", "patch probes/status 200"
	later := metav1.NewTime(began.Add(3 * time.Hour))
	other := metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Theirs", LastTransitionTime: began}
	steps := []struct {
		reason          string
		before          func()
		status          metav1.ConditionStatus
		why, message    string
		want            metav1.Time // of the last transition
		requests        []string
		othersMustExist bool
	}{
		{
			reason: "The first call creates the Probe with its owner.", status: metav1.ConditionFalse, why: "Migrating", message: "Foo default/a",
			want: began, requests: []string{"get probes 404", "get clusterserviceversions 200", "create probes 201", write},
		},
		{
			reason: "A condition that did not change is not written.", status: metav1.ConditionFalse, why: "Migrating", message: "Foo default/a",
			want: began, requests: []string{get},
		},
		{
			reason: "A change of the message keeps the transition time.", status: metav1.ConditionFalse, why: "Migrating", message: "Foo default/b",
			want: began, requests: []string{get, write},
		},
		{
			reason: "A change of the reason keeps the transition time.", status: metav1.ConditionFalse, why: "BackingUp", message: "Foo default/b",
			want: began, requests: []string{get, write},
		},
		{
			reason: "Other conditions are kept.",
			before: func() {
				p := actual(t, o.key)
				p.Status.Conditions = append([]metav1.Condition{other}, p.Status.Conditions...)
				must(t, cluster.Client.Status().Update(t.Context(), p))
			},
			status: metav1.ConditionTrue, why: "Idle", message: "",
			want: later, requests: []string{get, write}, othersMustExist: true,
		},
		{
			reason: "The observed generation is updated after a change of the spec.",
			before: func() {
				p := actual(t, o.key)
				p.Spec.ServiceAccountName = "other"
				must(t, cluster.Client.Update(t.Context(), p))
			},
			status: metav1.ConditionTrue, why: "Idle", message: "",
			want: later, requests: []string{get, write}, othersMustExist: true,
		},
		{
			reason: "A Probe that was deleted is recreated.",
			before: func() { must(t, cluster.Client.Delete(t.Context(), actual(t, o.key))) },
			status: metav1.ConditionTrue, why: "Idle", message: "",
			want: later, requests: []string{"get probes 404", "get clusterserviceversions 200", "create probes 201", write},
		},
	}
	for i, s := range steps {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if s.before != nil {
				s.before()
			}
			o.now = s.want.Time
			if i < 4 {
				o.now = began.Add(time.Duration(i) * time.Hour)
			}
			since := time.Now()
			must(t, o.SetUpgradeable(t.Context(), s.status, s.why, s.message))
			if diff := cmp.Diff(s.requests, o.requests(t, since)); diff != "" {
				t.Errorf("%s: requests (-want +got):\n%s", s.reason, diff)
			}
			got := actual(t, o.key)
			want := metav1.Condition{Type: v1alpha1.ConditionUpgradeable, Status: s.status, Reason: s.why, Message: s.message,
				LastTransitionTime: s.want, ObservedGeneration: got.Generation}
			if diff := cmp.Diff(want, upgradeable(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.reason, diff)
			}
			if got.Status.ObservedGeneration != got.Generation {
				t.Errorf("observedGeneration is %d of %d", got.Status.ObservedGeneration, got.Generation)
			}
			if found := meta.FindStatusCondition(got.Status.Conditions, other.Type); s.othersMustExist && (found == nil || !cmp.Equal(*found, other)) {
				t.Errorf("%s: it is %+v", s.reason, found)
			}
			read, err := o.Upgradeable(t.Context())
			must(t, err)
			if diff := cmp.Diff(&want, read); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConcurrently verifies that a call succeeds if the Probe is changed, deleted or created after it was read.
func TestConcurrently(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		absent   bool
		change   func(*testing.T, types.NamespacedName)
		requests []string
		keeps    bool
	}{
		"Changed": {
			reason: "A concurrent change of another condition is kept.",
			change: func(t *testing.T, key types.NamespacedName) {
				p := actual(t, key)
				meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Theirs"})
				must(t, cluster.Client.Status().Update(t.Context(), p))
			},
			requests: []string{"get probes 200", "patch probes/status 409", "get probes 200", "patch probes/status 200"}, keeps: true,
		},
		"Deleted": {
			reason: "A Probe that was deleted after it was read is recreated.",
			change: func(t *testing.T, key types.NamespacedName) {
				must(t, cluster.Client.Delete(t.Context(), actual(t, key)))
			},
			requests: []string{"get probes 200", "patch probes/status 404", "get probes 404", "get clusterserviceversions 200", "create probes 201",
				"patch probes/status 200"},
		},
		"Created": {
			reason: "A Probe that another pod created in the meantime is used.",
			absent: true,
			change: func(t *testing.T, key types.NamespacedName) {
				cluster.Create(t, &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
			},
			requests: []string{"get probes 404", "get clusterserviceversions 200", "create probes 409", "get probes 200", "patch probes 200", "patch probes/status 200"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := start(t, cluster, csv(t))
			if !tc.absent {
				must(t, o.Claim(t.Context()))
			}
			watching, err := client.NewWithWatch(o.config, client.Options{Scheme: o.client.Scheme()})
			must(t, err)
			changed := false
			concurrent := o.with(t, interceptor.NewClient(watching, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					err := c.Get(ctx, key, obj, opts...)
					if !changed && obj.GetObjectKind().GroupVersionKind().Kind == v1alpha1.ProbeKind {
						changed = true
						tc.change(t, key)
					}
					return err
				},
			}))
			since := time.Now()
			must(t, concurrent.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", "Foo default/a"))
			if diff := cmp.Diff(tc.requests, o.requests(t, since)); diff != "" {
				t.Errorf("%s: requests (-want +got):\n%s", tc.reason, diff)
			}
			got := actual(t, o.key)
			if c := upgradeable(got); c.Status != metav1.ConditionFalse {
				t.Errorf("%s: %+v", tc.reason, got.Status)
			}
			if tc.keeps && meta.FindStatusCondition(got.Status.Conditions, "Other") == nil {
				t.Errorf("%s: %+v", tc.reason, got.Status)
			}
		})
	}
}

// TestUpdate verifies that only the status is written, and only if it changes.
func TestUpdate(t *testing.T) {
	o := start(t, cluster, csv(t))
	change := func(p *v1alpha1.Probe) {
		p.Spec, p.Labels = nil, map[string]string{"a": "b"}
		p.Status.Summary = &v1alpha1.ProbeSummary{Total: 2, NotUpgradeable: 1}
	}
	must(t, o.Update(t.Context(), change))
	want := &v1alpha1.Probe{
		Spec:   &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator},
		Status: v1alpha1.ProbeStatus{ObservedGeneration: 1, Summary: &v1alpha1.ProbeSummary{Total: 2, NotUpgradeable: 1}},
	}
	got, err := o.Get(t.Context())
	must(t, err)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(metav1.TypeMeta{}), cmpopts.IgnoreFields(v1alpha1.Probe{}, "ObjectMeta")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Labels) > 0 {
		t.Errorf("the labels are %v", got.Labels)
	}
	since := time.Now()
	must(t, o.Update(t.Context(), change))
	if diff := cmp.Diff([]string{"get probes 200"}, o.requests(t, since)); diff != "" {
		t.Errorf("the second time (-want +got):\n%s", diff)
	}
}

// TestInvalidCondition verifies that conditions that the API server would reject are not sent, and that it accepts the
// others.
func TestInvalidCondition(t *testing.T) {
	o := start(t, cluster, csv(t))
	must(t, o.Claim(t.Context()))
	for name, tc := range map[string]struct {
		reason       string
		status       metav1.ConditionStatus
		why, message string
		want         string // part of the error, or empty
	}{
		"Valid":      {reason: "A reason in CamelCase is valid.", status: metav1.ConditionFalse, why: "MigratingDatabase2"},
		"Unknown":    {reason: "The status Unknown is valid.", status: metav1.ConditionUnknown, why: "Starting"},
		"Punctuated": {reason: "Punctuation that the schema allows is valid in a reason.", status: metav1.ConditionFalse, why: "a_b,c:d"},
		"Longest":    {reason: "Lengths are counted in characters.", status: metav1.ConditionFalse, why: strings.Repeat("a", 1024), message: strings.Repeat("ü", 32768)},
		"Status":     {reason: "A status other than True, False and Unknown is rejected.", status: "false", why: "A", want: `status is "false"`},
		"NoReason":   {reason: "An empty reason is rejected.", status: metav1.ConditionFalse, want: `reason is ""`},
		"Sentence":   {reason: "A reason with spaces is rejected.", status: metav1.ConditionFalse, why: "The database migrates", want: "CamelCase"},
		"Digit":      {reason: "A reason that starts with a digit is rejected.", status: metav1.ConditionFalse, why: "404", want: "CamelCase"},
		"Comma":      {reason: "A reason that ends with a comma is rejected.", status: metav1.ConditionFalse, why: "A,", want: "CamelCase"},
		"Line":       {reason: "A reason with a line break is rejected.", status: metav1.ConditionFalse, why: "A\n", want: "CamelCase"},
		"Long":       {reason: "A reason longer than the schema allows is rejected.", status: metav1.ConditionFalse, why: strings.Repeat("a", 1025), want: "1025"},
		"Message":    {reason: "A message longer than the schema allows is rejected.", status: metav1.ConditionFalse, why: "A", message: strings.Repeat("ü", 32769), want: "32769"},
	} {
		t.Run(name, func(t *testing.T) {
			since := time.Now()
			err := o.SetUpgradeable(t.Context(), tc.status, tc.why, tc.message)
			if tc.want == "" {
				must(t, err)
				return
			}
			if !errors.Is(err, probe.ErrInvalidCondition) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if sent := o.requests(t, since); len(sent) > 0 {
				t.Errorf("%s: sent %v", tc.reason, sent)
			}
			p := actual(t, o.key)
			p.Status.Conditions = []metav1.Condition{{Type: "Upgradeable", Status: tc.status, Reason: tc.why, Message: tc.message, LastTransitionTime: metav1.Now()}}
			if err := cluster.Client.Status().Update(t.Context(), p, client.DryRunAll); !apierrors.IsInvalid(err) {
				t.Errorf("%s: the API server accepts it: %v", tc.reason, err)
			}
		})
	}
}

// TestCanceled verifies that a call ends with its context.
func TestCanceled(t *testing.T) {
	o := start(t, cluster, csv(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.SetUpgradeable(ctx, metav1.ConditionFalse, "Migrating", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// as returns the operator's configuration as a service account.
func as(t *testing.T, account types.NamespacedName) *rest.Config {
	t.Helper()
	out := rest.AnonymousClientConfig(cluster.Config)
	out.BearerToken = cluster.Token(t, account)
	out.QPS = -1
	out.UserAgent = t.Name() + "/"
	return out
}
