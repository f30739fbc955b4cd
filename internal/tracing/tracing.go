// Package tracing computes the trace of an update from the statuses of a Subscription, its InstallPlan and its
// ClusterServiceVersion, so no loop has to measure, and OLM's work is covered as well. It is pure.
//
// A trace begins when the newest version of an operator no longer runs, and ends when it runs again: with an update, or
// a first install. Each span is computed when it ends, from the objects in the API server. Identifiers are hashes of their
// content, so another process can continue a trace.
package tracing

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TraceID identifies a trace, as in W3C Trace Context.
type TraceID [16]byte

// SpanID identifies a span of a trace.
type SpanID [8]byte

// Span is a part of an update that has ended.
type Span struct {
	Trace      TraceID
	ID, Parent SpanID // Parent is zero for the root
	Name       string
	Start, End time.Time
	Attributes []Attribute
	Events     []Event
	Error      string // empty if it succeeded
}

// Attribute is a property of a span.
type Attribute struct{ Key, Value string }

// Event is a point in time of a span.
type Event struct {
	Name       string
	Time       time.Time
	Attributes []Attribute
}

// Keys of attributes. Those of Kubernetes are OpenTelemetry's.
const (
	KeyNamespace        = "k8s.namespace.name"
	KeySubscription     = "olm.subscription.name"
	KeyPackage          = "olm.package.name"
	KeyChannel          = "olm.channel.name"
	KeyCSV              = "olm.csv.name"
	KeyReplaces         = "olm.csv.replaces"
	KeyInstallPlan      = "olm.install_plan.name"
	KeyPlatformOperator = "operatorstatus.platform_operator.name"
	KeyReason           = "operatorstatus.reason"
	KeyMessage          = "operatorstatus.message"
)

// Inputs are a Subscription before and after an update of its status, and the current objects that Reads names, or nil.
type Inputs struct {
	Before, After *v1alpha1.Subscription
	Plan          *olm.InstallPlan
	CSV           *v1alpha1.ClusterServiceVersion
}

// Needs are the names of the objects to read before Ended is called. Unneeded ones are empty.
type Needs struct{ Plan, CSV string }

// Reads returns the Needs of Ended for an update of a Subscription's status, and false if nothing has ended.
func Reads(before, after *v1alpha1.Subscription) (Needs, bool) {
	in := Inputs{Before: before, After: after}
	if in.since().IsZero() {
		return Needs{}, false
	}
	of := after
	switch {
	case in.becameTrue(v1alpha1.SubscriptionUpToDate), in.becameTrue(v1alpha1.SubscriptionInstallPlanFailed),
		in.becameTrue(v1alpha1.SubscriptionInstalledCSVFailed):
	case in.targetReplaced():
		of = before
	case in.noLongerTrue(v1alpha1.SubscriptionUpgradeHeld), in.noLongerTrue(v1alpha1.SubscriptionInstallPlanAwaitingManualApproval):
		return Needs{}, true
	default:
		return Needs{}, false
	}
	out := Needs{CSV: of.Status.CurrentCSV}
	if ref := of.Status.InstallPlanRef; ref != nil {
		out.Plan = ref.Name
	}
	return out, true
}

// Ended returns the spans that ended with an update of a Subscription's status.
func Ended(in Inputs) []Span {
	if in.since().IsZero() {
		return nil
	}
	var out []Span
	for _, concern := range []func(Inputs) []Span{
		held,
		awaitingApproval,
		planFailed,
		csvFailed,
		installed,
	} {
		out = append(out, concern(in)...)
	}
	if in.becameTrue(v1alpha1.SubscriptionUpToDate) {
		out = append(out, root(in, out)...) // last: it contains the others
	}
	return out
}

// held returns a span for a hold that ended, with the reason and message that it had.
func held(in Inputs) []Span {
	return in.condition(v1alpha1.SubscriptionUpgradeHeld, "held")
}

// awaitingApproval returns a span for the time in which an InstallPlan waited for a user.
func awaitingApproval(in Inputs) []Span {
	return in.condition(v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, "InstallPlan awaiting approval")
}

// planFailed returns a span for an InstallPlan that failed.
func planFailed(in Inputs) []Span {
	if !in.becameTrue(v1alpha1.SubscriptionInstallPlanFailed) || in.plan() == nil || in.Plan.Status.Phase != olm.InstallPlanPhaseFailed {
		return nil
	}
	return in.planSpan(in.After.Status.GetCondition(v1alpha1.SubscriptionInstallPlanFailed).Message)
}

// csvFailed returns a span for a ClusterServiceVersion whose installation failed.
func csvFailed(in Inputs) []Span {
	if !in.becameTrue(v1alpha1.SubscriptionInstalledCSVFailed) || in.CSV == nil {
		return nil
	}
	tried := attempts(in.CSV)
	if len(tried) == 0 || firstSucceeded(tried) >= 0 {
		return nil // it was installed before
	}
	return []Span{in.csvSpan(tried[len(tried)-1])}
}

// installed returns spans for an InstallPlan and a ClusterServiceVersion that have been installed.
func installed(in Inputs) []Span {
	attempt := in.targetInstalled()
	if attempt == nil {
		return nil
	}
	var out []Span
	if in.plan() != nil && in.Plan.Status.Phase == olm.InstallPlanPhaseComplete {
		out = in.planSpan("")
	}
	return append(out, in.csvSpan(attempt))
}

// root returns the span of the whole update, which contains the others. It returns none if UpToDate was False for another
// reason.
func root(in Inputs, parts []Span) []Span {
	from, to, problem := in.Before.Status.InstalledCSV, in.Before.Status.CurrentCSV, ""
	isUpdate := isTrue(in.Before, v1alpha1.SubscriptionInstalledCSVReplacementAvailable)
	switch isInstalled := in.targetInstalled() != nil; {
	case isInstalled && !isUpdate:
		from, to = "", in.CSV.Name
	case isInstalled && from == in.CSV.Name: // OLM names it before it runs
		from, to = in.CSV.Spec.Replaces, in.CSV.Name
	case isInstalled:
		to = in.CSV.Name
	case isUpdate && from != to:
		problem = to + " was withdrawn before it was installed"
	default:
		return nil
	}
	out := in.span("install "+to, in.since(), in.transition(v1alpha1.SubscriptionUpToDate))
	out.Attributes = append(out.Attributes, attributes(KeyCSV, to, KeyReplaces, from)...)
	if from != "" {
		out.Name = "update " + from + " -> " + to
	}
	for _, part := range parts {
		out.Start, out.End = earlier(out.Start, part.Start), later(out.End, part.End)
	}
	out.ID, out.Parent, out.Error = rootOf(out.Trace), SpanID{}, problem
	return []Span{out}
}

// condition returns a span for a condition of the Subscription that is no longer True.
func (in Inputs) condition(t v1alpha1.SubscriptionConditionType, name string) []Span {
	was := in.Before.Status.GetCondition(t)
	if !in.noLongerTrue(t) || was.LastTransitionTime == nil {
		return nil
	}
	out := in.span(name, was.LastTransitionTime.Time, in.transition(t))
	out.Attributes = append(out.Attributes, attributes(KeyCSV, in.Before.Status.CurrentCSV, KeyReason, was.Reason, KeyMessage, was.Message)...)
	if ref := in.Before.Status.InstallPlanRef; ref != nil {
		out.Attributes = append(out.Attributes, Attribute{KeyInstallPlan, ref.Name})
	}
	return []Span{out}
}

// planSpan returns a span for the time in which an InstallPlan was applied, or none.
func (in Inputs) planSpan(problem string) []Span {
	ended := in.Plan.Status.GetCondition(olm.InstallPlanInstalled).LastTransitionTime
	if in.Plan.Status.StartTime == nil || ended == nil {
		return nil
	}
	out := in.span("InstallPlan installing", in.Plan.Status.StartTime.Time, ended.Time)
	out.Attributes = append(out.Attributes, Attribute{KeyInstallPlan, in.Plan.Name})
	out.Error = problem
	return []Span{out}
}

// csvSpan returns a span for an attempt to install a ClusterServiceVersion.
func (in Inputs) csvSpan(a attempt) Span {
	out := in.span("ClusterServiceVersion "+in.CSV.Name, a.start(), a.end())
	out.Attributes = append(out.Attributes, attributes(KeyCSV, in.CSV.Name, KeyReplaces, in.CSV.Spec.Replaces)...)
	for _, t := range a {
		out.Events = append(out.Events, Event{string(t.Phase), t.LastTransitionTime.Time, attributes(KeyReason, string(t.Reason))})
	}
	if last := a[len(a)-1]; last.Phase == olm.CSVPhaseFailed {
		out.Error = string(last.Reason) + ": " + last.Message
	}
	return out
}

// span returns a child of the root. Its identifier depends on everything that distinguishes it from others.
func (in Inputs) span(name string, start, end time.Time) Span {
	trace := in.trace()
	return Span{
		Trace: trace, Parent: rootOf(trace), ID: SpanID(hash(string(trace[:]), name, in.Before.Status.CurrentCSV, stamp(start))[:8]),
		Name: name, Start: start, End: later(start, end), Attributes: in.attributes(),
	}
}

// attributes returns those that all spans of a trace have.
func (in Inputs) attributes() []Attribute {
	sub := in.After
	out := attributes(KeyNamespace, sub.Namespace, KeySubscription, sub.Name)
	if sub.Spec != nil {
		out = append(out, attributes(KeyPackage, sub.Spec.Package, KeyChannel, sub.Spec.Channel)...)
	}
	if owner := metav1.GetControllerOf(sub); owner != nil && owner.Kind == "PlatformOperator" {
		out = append(out, Attribute{KeyPlatformOperator, owner.Name})
	}
	return out
}

// attributes returns attributes from keys and values, without those whose value is empty.
func attributes(pairs ...string) (out []Attribute) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, Attribute{pairs[i], pairs[i+1]})
		}
	}
	return out
}

// since returns when the newest version ceased to run, or zero if it runs or the time is unknown.
func (in Inputs) since() time.Time {
	for _, sub := range []*v1alpha1.Subscription{in.Before, in.After} {
		if c := sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate); c.Status == corev1.ConditionFalse && c.LastTransitionTime != nil {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func isTrue(sub *v1alpha1.Subscription, t v1alpha1.SubscriptionConditionType) bool {
	return sub.Status.GetCondition(t).Status == corev1.ConditionTrue
}

func (in Inputs) becameTrue(t v1alpha1.SubscriptionConditionType) bool {
	return !isTrue(in.Before, t) && isTrue(in.After, t)
}

func (in Inputs) noLongerTrue(t v1alpha1.SubscriptionConditionType) bool {
	return isTrue(in.Before, t) && !isTrue(in.After, t)
}

// targetReplaced reports whether the Subscription got a further target before it was up to date, since another version replaces
// the former.
func (in Inputs) targetReplaced() bool {
	was, is := in.Before.Status, in.After.Status
	return was.GetCondition(v1alpha1.SubscriptionUpToDate).Status == corev1.ConditionFalse && was.CurrentCSV != "" && was.CurrentCSV != is.CurrentCSV
}

// transition returns when a condition got its new status: the time of the status for a condition that was removed.
func (in Inputs) transition(t v1alpha1.SubscriptionConditionType) time.Time {
	if c := in.After.Status.GetCondition(t); c.LastTransitionTime != nil {
		return c.LastTransitionTime.Time
	}
	return in.After.Status.LastUpdated.Time
}

// plan returns the InstallPlan if it installs the ClusterServiceVersion that Reads names, or nil.
func (in Inputs) plan() *olm.InstallPlan {
	if needs, _ := Reads(in.Before, in.After); in.Plan == nil || !slices.Contains(in.Plan.Spec.ClusterServiceVersionNames, needs.CSV) {
		return nil
	}
	return in.Plan
}

// targetInstalled returns the attempt that installed the ClusterServiceVersion in this trace, or nil.
func (in Inputs) targetInstalled() attempt {
	if in.CSV == nil || !in.becameTrue(v1alpha1.SubscriptionUpToDate) && !in.targetReplaced() {
		return nil
	}
	tried := attempts(in.CSV)
	if i := firstSucceeded(tried); i >= 0 && !tried[i].end().Before(in.since()) {
		return tried[i]
	}
	return nil
}

// trace returns the identifier of the trace.
func (in Inputs) trace() TraceID {
	return TraceID(hash(string(in.After.UID), stamp(in.since()))[:16])
}

// rootOf returns the identifier of the root of a trace.
func rootOf(trace TraceID) SpanID { return SpanID(hash(string(trace[:]), "root")[:8]) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) } // the precision of the API server

// hash returns a hash of parts that does not depend on where one ends and the next begins.
func hash(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p)))) // never fails
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
