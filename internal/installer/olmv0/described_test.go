package olmv0

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/operator"
)

// description is a recorded description of a cluster.
type description struct {
	Reason    string              `json:"reason"`
	Operators []describedOperator `json:"operators"`
	Trees     [][]string          `json:"trees"` // of each operator, as lines
}

type describedOperator struct {
	Namespace        string                 `json:"namespace"`
	Name             string                 `json:"name"`
	PlatformOperator string                 `json:"platformOperator,omitempty"`
	Package          string                 `json:"package,omitempty"`
	Channel          string                 `json:"channel,omitempty"`
	Catalog          string                 `json:"catalog,omitempty"`
	State            operator.State         `json:"state"`
	CSV              string                 `json:"csv,omitempty"`
	Version          string                 `json:"version,omitempty"`
	UpToDate         metav1.ConditionStatus `json:"upToDate"`
	Update           string                 `json:"update,omitempty"`
	Upgradeable      metav1.ConditionStatus `json:"upgradeable"`
	Approval         *describedApproval     `json:"approval,omitempty"`
	Blockers         []describedBlocker     `json:"blockers"`
	Unread           []string               `json:"unread,omitempty"`
}

type describedApproval struct {
	Plan     string   `json:"plan"`
	Installs []string `json:"installs"`
}

type describedBlocker struct {
	Impact operator.Impact `json:"impact"`
	By     string          `json:"by"`
	Reason string          `json:"reason"`
	Since  metav1.Time     `json:"since,omitzero"`
	Cause  string          `json:"cause"`
	Steps  []describedStep `json:"steps"`
}

type describedStep struct {
	To      string `json:"to"`
	Command string `json:"command"`
}

// descriptionOf returns the description of a cluster with all fields of its operators.
func descriptionOf(reason string, c Cluster, deployments ...appsv1.Deployment) description {
	out := description{Reason: reason, Operators: []describedOperator{}}
	tree := Trees(c, withDeployments(deployments))
	for _, o := range Operators(c) {
		to := describedOperator{
			o.Namespace, o.Name, o.PlatformOperator, o.Package, o.Channel, o.Catalog, o.State, o.Installed, o.Version, o.UpToDate, o.Update, o.Upgradeable, nil,
			[]describedBlocker{}, o.Unread,
		}
		if o.Approval != nil {
			to.Approval = &describedApproval{o.Approval.Plan, append([]string{}, o.Approval.Installs...)}
		}
		for _, b := range o.Blockers {
			blocker := describedBlocker{b.Impact, b.By, b.Reason, b.Since, b.Cause, []describedStep{}}
			for _, s := range b.Steps {
				blocker.Steps = append(blocker.Steps, describedStep(s))
			}
			to.Blockers = append(to.Blockers, blocker)
		}
		out.Operators = append(out.Operators, to)
		out.Trees = append(out.Trees, lines(tree(o)))
	}
	return out
}

// TestRandomClusters verifies invariants for random clusters.
func TestRandomClusters(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 0))}
	for i := range 1000 {
		in := r.cluster()
		if r.seldom() {
			in = r.unread(in)
		}
		for _, o := range Operators(in) {
			name := fmt.Sprintf("seed %d, cluster %d: %s/%s", seed, i, o.Namespace, o.Name)
			if (o.State == operator.NotInstalled || o.State == operator.Unknown) != (o.Installed == "") || (o.Installed == "") != (o.Version == "") {
				t.Fatalf("%s is %s with ClusterServiceVersion %q of version %q", name, o.State, o.Installed, o.Version)
			}
			for _, b := range o.Blockers {
				if b.By == "" || b.Cause == "" && b.Reason == "" {
					t.Fatalf("%s has a blocker without a cause: %+v", name, b)
				}
			}
			Trees(in, withDeployments(nil))(o)
		}
	}
}

// TestUnread verifies for random clusters that all conclusions drawn without some kinds also hold with them.
func TestUnread(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 0))}
	for i := range 5000 {
		whole := r.cluster()
		if impossible(whole) {
			continue
		}
		part := r.unread(whole)
		for what, describe := range map[string]func(Cluster) []operator.Operator{"Operators": Operators, "Check": Check} {
			truth, subs := map[string]operator.Operator{}, map[string]*v1alpha1.Subscription{}
			for i := range whole.Subscriptions {
				subs[whole.Subscriptions[i].Name] = &whole.Subscriptions[i]
			}
			for _, o := range describe(whole) {
				truth[o.Name] = o
			}
			for _, o := range describe(part) {
				if wrong := contradicts(o, truth[o.Name], subs[o.Name]); wrong != "" {
					t.Fatalf("seed %d, cluster %d, %s without %v: %s: %s\ngot  %+v\nwant %+v", seed, i, what, part.Unread, o.Name, wrong, o, truth[o.Name])
				}
			}
		}
	}
}

// impossible reports whether an InstallPlan of a random cluster waits for approval while OLM holds an approved update, or a
// Subscription reports that its InstallPlan waits although the version that it installs runs.
func impossible(c Cluster) bool {
	heldByOLM := func(csv v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Reason == olm.CSVReasonOperatorConditionNotUpgradeable
	}
	if slices.ContainsFunc(c.InstallPlans, func(plan olm.InstallPlan) bool { return bridge.Waits(&plan) }) &&
		slices.ContainsFunc(c.ClusterServiceVersions, heldByOLM) {
		return true
	}
	spaces := byNamespace(c)
	return slices.ContainsFunc(c.Subscriptions, func(sub v1alpha1.Subscription) bool {
		n, ref := spaces[sub.Namespace], sub.Status.InstallPlanRef
		return ref != nil && bridge.Superseded(n.plans[ref.Name], &sub, n.CSVs) &&
			sub.Status.GetCondition(v1alpha1.SubscriptionInstallPlanAwaitingManualApproval).Status == corev1.ConditionTrue
	})
}

// contradicts returns the first false claim of an operator that was described without some kinds, or "". A blocker may
// quote a condition of its Subscription.
func contradicts(o, truth operator.Operator, sub *v1alpha1.Subscription) string {
	switch {
	case o.State != operator.Unknown && o.State != truth.State:
		return "its state is another"
	case o.UpToDate != metav1.ConditionUnknown && o.UpToDate != truth.UpToDate && (truth.UpToDate != metav1.ConditionUnknown || !reported(sub)):
		return "whether it is up to date is not so"
	case o.Upgradeable != metav1.ConditionUnknown && o.Upgradeable != truth.Upgradeable:
		return "whether it is upgradeable is not so"
	case len(o.Unread) == 0 && (truth.Blocked() == operator.Broken && o.Blocked() != operator.Broken || truth.Blocked() == operator.Held && o.Blocked() == ""):
		return "more blocks it, and nothing that it depends on is unread"
	}
	for _, b := range o.Blockers {
		same := func(other operator.Blocker) bool {
			return b.Impact == other.Impact && (b.Impact == operator.Held || b.Reason == other.Reason)
		}
		if !slices.ContainsFunc(truth.Blockers, same) && !quotes(b, sub) {
			return "it has not the blocker " + b.Reason
		}
	}
	return ""
}

// quotes reports whether a blocker quotes a condition of a Subscription, which may be nil.
func quotes(b operator.Blocker, sub *v1alpha1.Subscription) bool {
	return sub != nil && slices.ContainsFunc(sub.Status.Conditions, func(c v1alpha1.SubscriptionCondition) bool {
		return c.Reason == b.Reason && strings.HasPrefix(c.Message, b.Cause)
	})
}

// unread returns a cluster some of whose kinds may not be read.
func (r random) unread(c Cluster) Cluster {
	for _, kind := range []string{ClusterServiceVersions, InstallPlans, Probes, OperatorConditions, CatalogSources} {
		if r.maybe() {
			continue
		}
		c.Unread = append(c.Unread, kind)
		switch kind {
		case ClusterServiceVersions:
			c.ClusterServiceVersions = nil
		case InstallPlans:
			c.InstallPlans = nil
		case Probes:
			c.Probes = nil
		case OperatorConditions:
			c.OperatorConditions = nil
		case CatalogSources:
			c.CatalogSources = nil
		}
	}
	return c
}

// random generates objects that could be those of one namespace, and some that could not.
type random struct{ *rand.Rand }

func (r random) maybe() bool { return r.IntN(2) == 0 }

func (r random) seldom() bool { return r.IntN(5) == 0 }

func pick[T any](r random, values ...T) T { return values[r.IntN(len(values))] }

func (r random) csvName() string { return pick(r, "", "foo.v1", "foo.v2", "foo.v3", "bar.v1") }

func (r random) cluster() Cluster {
	var out Cluster
	for _, name := range []string{"foo", "bar", "baz"}[:1+r.IntN(3)] {
		out.Subscriptions = append(out.Subscriptions, r.subscription(name))
	}
	for _, name := range []string{"foo.v1", "foo.v2", "foo.v3", "bar.v1"} {
		if r.maybe() {
			out.ClusterServiceVersions = append(out.ClusterServiceVersions, r.csv(name))
		}
		if r.maybe() {
			out.Probes = append(out.Probes, r.probe(name))
		}
		if r.maybe() {
			out.OperatorConditions = append(out.OperatorConditions, r.operatorCondition(name))
		}
	}
	for _, name := range []string{"install-1", "install-2"} {
		if !r.seldom() {
			out.InstallPlans = append(out.InstallPlans, r.plan(name))
		}
	}
	if !r.seldom() {
		c := catalog()
		c.Status.GRPCConnectionState.LastObservedState = pick(r, "READY", "READY", "TRANSIENT_FAILURE", "SHUTDOWN", "CONNECTING")
		c.Status.GRPCConnectionState.Address = pick(r, "", "catalog.olm.svc:50051")
		out.CatalogSources = append(out.CatalogSources, c)
	}
	return out
}

func (r random) subscription(name string) v1alpha1.Subscription {
	const anyway = ". To update anyway: "
	out := sub(r.csvName(), r.csvName())
	out.Name, out.Spec.Package = name, name
	out.Status.InstallPlanRef = pick(r, nil, &corev1.ObjectReference{Namespace: "default", Name: "install-1"},
		&corev1.ObjectReference{Namespace: "default", Name: "install-2"})
	if r.seldom() {
		out.Spec = nil
	} else if r.maybe() {
		out = manual(out)
	}
	if r.maybe() {
		out.Labels = map[string]string{v1alpha1.LabelGate: v1alpha1.GateApproval}
	}
	if r.seldom() {
		out.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: r.csvName()}
	}
	if r.seldom() {
		for _, t := range append(slices.Clone(broken), v1alpha1.SubscriptionUpgradeHeld, v1alpha1.SubscriptionUpToDate,
			v1alpha1.SubscriptionInstallPlanAwaitingManualApproval) {
			if r.maybe() {
				out.Status.Conditions = append(out.Status.Conditions, condition(t, pick(r, corev1.ConditionTrue, corev1.ConditionFalse),
					pick(r, v1alpha1.ReasonProbeNotUpgradeable, v1alpha1.ReasonOperatorConditionNotUpgradeable, v1alpha1.ReasonApprovalMissing, "Installing"),
					pick(r, "It waits",
						"It waits"+anyway+"kubectl annotate subscription.operators.coreos.com -n default "+pick(r, "foo", "other")+" operatorstatus.io/allow-upgrade="+r.csvName()+". Then wait",
						"It waits"+anyway+"kubectl annotate subscription.operators.coreos.com -n default "+name+" operatorstatus.io/allow-upgrade="+out.Status.CurrentCSV,
						"It waits"+anyway+"set Upgradeable=True in spec.overrides of OperatorCondition default/foo.v1",
						"It waits"+anyway+"curl example.com | sh"+anyway+"set Upgradeable=True in spec.overrides of OperatorCondition default/foo.v1",
						"It waits"+anyway+"curl example.com | sh")))
			}
		}
	} else if r.maybe() {
		out.Status.Conditions = append(out.Status.Conditions, condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue, "ConstraintsNotSatisfiable",
			r.resolverMessage()))
	}
	if r.seldom() {
		out.Status.Conditions = append(out.Status.Conditions, condition(pick(r, v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpacking),
			v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed)), corev1.ConditionTrue, "Unpack", "The bundle is invalid"))
	}
	return out
}

func (r random) resolverMessage() string {
	return pick(r,
		"constraints not satisfiable: no operators found in package foo in the catalog referenced by subscription foo, subscription foo exists",
		"constraints not satisfiable: no operators found in channel stable of package foo in the catalog referenced by subscription foo",
		"constraints not satisfiable: no operators found with name  in channel stable of package foo in the catalog referenced by subscription foo",
		"constraints not satisfiable: no operators found from catalog catalog in namespace olm referenced by subscription foo",
		"clusterserviceversion foo.v1 exists and is not referenced by a subscription, clusterserviceversion foo.v2 exists and is not referenced by a subscription",
		"subscription foo-bar exists; subscription bar", "@existing/default//foo.v1 and @existing/default//foo.v2 originate from package foo")
}

func (r random) csv(name string) v1alpha1.ClusterServiceVersion {
	out := csv(name, pick(r, "", "", r.csvName()),
		pick(r, olm.CSVPhaseSucceeded, olm.CSVPhaseSucceeded, olm.CSVPhaseFailed, olm.CSVPhasePending, olm.CSVPhaseReplacing,
			olm.CSVPhaseInstalling, olm.CSVPhaseNone))
	if out.Status.Phase == olm.CSVPhasePending && r.maybe() {
		out = heldBack(out)
	}
	switch r.IntN(6) {
	case 0:
		out.Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: olm.CSVPhaseSucceeded}}
	case 1:
		out.Status.Conditions = []v1alpha1.ClusterServiceVersionCondition{{Phase: olm.CSVPhaseSucceeded}}
	case 2: // OLM keeps 20
		out.Status.Conditions = make([]v1alpha1.ClusterServiceVersionCondition, 20)
	case 3:
		out.Labels = pick(r, nil, map[string]string{olm.CopiedLabelKey: "olm"})
	}
	return out
}

func (r random) probe(name string) v1alpha1.Probe {
	out := probe(pick(r, "", "", v1alpha1.ReasonForbidden, "Other"))
	out.Name, out.Generation, out.Status.ObservedGeneration = name, 2, pick(r, int64(1), 2, 2)
	out.Status.Reader = pick(r, "", "", "manager-1")
	out.Spec.Manager = pick(r, v1alpha1.ManagerCRDAnnotations, v1alpha1.ManagerOperator, "")
	out.Spec.Isolation = pick(r, "", "", v1alpha1.IsolationPod)
	if r.seldom() {
		out.Spec = nil
	}
	if r.seldom() {
		out.Status.ProbeResources[1].Blocking = false
	}
	if r.maybe() {
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionUpgradeable, LastTransitionTime: began,
			Status:  pick(r, metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown),
			Message: pick(r, "", "Waiting for Foo apps/example. ")})
	}
	if r.seldom() {
		out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionPodReady, LastTransitionTime: began,
			Status: pick(r, metav1.ConditionTrue, metav1.ConditionFalse), Message: "The pod is being created"})
	}
	return out
}

func (r random) operatorCondition(name string) operatorsv2.OperatorCondition {
	out := operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	upgradeable := func(reasons ...string) []metav1.Condition {
		return []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: pick(r, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown),
			Reason: pick(r, reasons...), Message: pick(r, "", "It rebalances."), LastTransitionTime: began}}
	}
	if r.maybe() {
		out.Spec.Conditions = upgradeable("Busy", v1alpha1.ReasonProbeNotUpgradeable)
	}
	if r.seldom() {
		out.Spec.Overrides = upgradeable("Approved")
	}
	return out
}

func (r random) plan(name string) olm.InstallPlan {
	out := plan(pick(r, olm.InstallPlanPhaseRequiresApproval, olm.InstallPlanPhaseRequiresApproval, olm.InstallPlanPhaseComplete, olm.InstallPlanPhaseFailed,
		olm.InstallPlanPhaseInstalling), slices.DeleteFunc([]string{r.csvName(), r.csvName()}, func(s string) bool { return s == "" })...)
	out.Name, out.Spec.Approval, out.Spec.Approved = name, pick(r, olm.ApprovalManual, olm.ApprovalManual, olm.ApprovalAutomatic), r.seldom()
	if r.seldom() {
		out.DeletionTimestamp = &began
	}
	return out
}
