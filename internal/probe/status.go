package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/watch"
)

// Inputs is everything that a Probe's status depends on, read at one moment.
type Inputs struct {
	Probe     *v1alpha1.Probe
	Resources []Resource // as spec.probeResources names them
	Problems  []Problem  // with the annotations that the spec was made from, and with namespaces

	// Outdated is true where those annotations have changed, and the spec is about to.
	Outdated bool

	// GateConflict says, if not empty, that the operator sets its OperatorCondition itself.
	GateConflict string

	// Held are the updates that wait for the Probe.
	Held []Held

	// HideForeign has custom resources outside the Probe's namespace, cluster-scoped ones among them, counted and not named.
	HideForeign bool

	// Reader is who reads the custom resources, and Targets a hash of the namespaces that they are read in.
	Reader, Targets string

	Now metav1.Time
}

// Resource is what is known of one of the resources that a Probe names.
type Resource struct {
	Expressions

	CRD  string // the name of its CustomResourceDefinition
	Kind string

	// Absent is true where there is no such resource, or none of the namespaces to read it in exists, and so no custom
	// resource either.
	Absent bool

	// Problems keep the resource from being read or understood, or tell of its absence.
	Problems []Problem

	// Read is what was read: in each namespace, where not all are. Without an identity to read with there is nothing.
	Read []Read
}

// Read is what was read of a resource in one namespace, or in all where that is empty.
type Read struct {
	Namespace string
	watch.Snapshot
}

// errForbidden is the error of a resource that is not read because its service account may not.
var errForbidden = apierrors.NewForbidden(schema.GroupResource{}, "", nil)

// refusal returns why nothing of a resource is read, if its service account may not; nil otherwise.
func (r Resource) refusal() error {
	if slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Reason == v1alpha1.ReasonForbidden }) {
		return errForbidden
	}
	return nil
}

// unread is true where custom resources are not known: they cannot be read, or have not been so far.
func (r Resource) unread() bool {
	if r.Absent {
		return false
	}
	return len(r.Read) == 0 || slices.ContainsFunc(r.Read, func(s Read) bool { return !s.Filled })
}

// Status says what a Probe's status is, given in. It reads nothing else and changes nothing.
func Status(in Inputs) v1alpha1.ProbeStatus {
	out := in.Probe.Status.DeepCopy()
	out.ObservedGeneration = in.Probe.Generation
	f := gather(in)
	for _, concern := range []func(Inputs, findings, *v1alpha1.ProbeStatus){
		probeResources,
		upgradeable,
		important,
		synced,
		gateConflict,
		holding,
		readBy,
	} {
		concern(in, f, out)
	}
	return *out
}

func set(in Inputs, out *v1alpha1.ProbeStatus, c metav1.Condition) {
	c.LastTransitionTime = in.Now
	c.ObservedGeneration = in.Probe.Generation
	meta.SetStatusCondition(&out.Conditions, c)
}

// findings are what all resources of a Probe say together.
type findings struct {
	listed  []finding
	summary v1alpha1.ProbeSummary

	// unread is true where not all is known, and allUnread where nothing is. Of what is not known the last word stands,
	// if there was one.
	unread, allUnread bool

	// unnamed is true where custom resources are counted whose names may not be shown, and carried has those items of the
	// status so far that were carried over.
	unnamed bool
	carried map[int]bool
}

// finding is a custom resource that has something to say: as the status lists it, and in words.
type finding struct {
	v1alpha1.ProbeResourceStatus
	blocks, tells string
}

// gather adds up the resources. Of one that is not known, what the status says so far is carried over.
func gather(in Inputs) findings {
	out := findings{allUnread: len(in.Resources) > 0, carried: map[int]bool{}}
	for _, r := range in.Resources {
		out.unread = out.unread || r.unread()
		if len(r.Read) == 0 && !r.Absent {
			out.carry(in, r, Read{Snapshot: watch.Snapshot{Err: r.refusal()}})
			continue
		}
		out.allUnread = out.allUnread && !r.Absent
		for _, s := range r.Read {
			if s.Filled {
				out.allUnread = false
				out.add(in, r, s)
			} else {
				out.carry(in, r, s)
			}
		}
	}
	if said := in.Probe.Status.Summary; said != nil && out.allUnread {
		out.summary = *said
	}
	slices.SortStableFunc(out.listed, compareFindings)
	if cut := len(out.listed) - v1alpha1.MaxStatusProbeResources; cut > 0 {
		for _, omitted := range out.listed[v1alpha1.MaxStatusProbeResources:] {
			out.summary.Omitted += max(1, omitted.Count)
		}
		out.listed = out.listed[:v1alpha1.MaxStatusProbeResources]
	}
	return out
}

// mayName reports whether a custom resource of a namespace may be named, given the error of the last attempt to read it.
func (in Inputs) mayName(namespace string, err error) bool {
	return !apierrors.IsForbidden(err) && (!in.HideForeign || namespace == in.Probe.Namespace)
}

// add adds what was read of a resource.
func (f *findings) add(in Inputs, r Resource, s Read) {
	f.summary.Total += int32(s.Total)
	f.summary.NotUpgradeable += int32(s.Blocking)
	f.summary.Important += int32(s.Important)
	f.summary.Unknown += int32(s.Unknown)
	blocking, others, unnamed := s.Blocking, len(s.Items)+s.Omitted-s.Blocking, false
	for _, item := range s.Items {
		if !in.mayName(item.Namespace, s.Err) {
			unnamed = true
			continue
		}
		if item.Blocks != "" {
			blocking--
		} else {
			others--
		}
		f.listed = append(f.listed, finding{
			ProbeResourceStatus: v1alpha1.ProbeResourceStatus{
				Resource: r.CRD, Kind: r.Kind, Namespace: item.Namespace, Name: item.Name,
				Blocking: item.Blocks != "", Reasons: item.Reasons,
			},
			blocks: item.Blocks,
			tells:  item.Tells,
		})
	}
	if !unnamed {
		f.summary.Omitted += int32(s.Omitted)
		return
	}
	count := v1alpha1.ProbeResourceStatus{Resource: r.CRD, Kind: r.Kind, Namespace: s.Namespace}
	f.addUnnamed(count, true, int32(blocking))
	f.addUnnamed(count, false, int32(others))
}

// addUnnamed counts so many custom resources more without naming them.
func (f *findings) addUnnamed(item v1alpha1.ProbeResourceStatus, blocking bool, n int32) {
	if n <= 0 {
		return
	}
	f.unnamed = true
	item = v1alpha1.ProbeResourceStatus{Resource: item.Resource, Kind: item.Kind, Namespace: item.Namespace, Blocking: blocking}
	for i := range f.listed {
		same := f.listed[i].ProbeResourceStatus
		same.Count = 0
		if f.listed[i].Count > 0 && equality.Semantic.DeepEqual(same, item) {
			f.listed[i].Count += n
			return
		}
	}
	item.Count = n
	f.listed = append(f.listed, finding{ProbeResourceStatus: item})
}

// carry takes the custom resources of a resource, in a namespace or all, from the status so far. Those that the status
// counts for all namespaces may be of any.
func (f *findings) carry(in Inputs, r Resource, s Read) {
	for i, item := range in.Probe.Status.ProbeResources {
		inNamespace := s.Namespace == "" || item.Namespace == s.Namespace || item.Count > 0 && item.Namespace == ""
		if item.Resource != r.CRD || !inNamespace || f.carried[i] {
			continue
		}
		f.carried[i] = true
		n := max(1, item.Count)
		f.summary.Total += n
		if item.Blocking {
			f.summary.NotUpgradeable += n
		} else {
			f.summary.Important += n
		}
		if item.Count == 0 && in.mayName(item.Namespace, s.Err) {
			f.listed = append(f.listed, carriedOver(item))
			continue
		}
		if item.Count == 0 {
			item.Namespace = s.Namespace
		}
		f.addUnnamed(item, item.Blocking, n)
	}
}

// carriedOver is an item of the status so far, of which only the reasons are known.
func carriedOver(item v1alpha1.ProbeResourceStatus) finding {
	out := finding{ProbeResourceStatus: item}
	if item.Blocking {
		out.blocks = strings.Join(item.Reasons, ", ")
	} else {
		out.tells = strings.Join(item.Reasons, ", ")
	}
	return out
}

func compareFindings(a, b finding) int {
	if a.Blocking != b.Blocking {
		if a.Blocking {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(min(a.Count, 1), min(b.Count, 1)), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// probeResources lists the findings.
func probeResources(_ Inputs, f findings, out *v1alpha1.ProbeStatus) {
	out.ProbeResources = nil
	for _, item := range f.listed {
		out.ProbeResources = append(out.ProbeResources, item.ProbeResourceStatus)
	}
	if !f.allUnread || out.Summary != nil {
		out.Summary = &f.summary
	}
}

// upgradeable says whether anything holds the update. What is unknown does not.
func upgradeable(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	if f.allUnread && said(out, v1alpha1.ConditionUpgradeable) && !f.unnamed {
		return
	}
	c := metav1.Condition{Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionTrue}
	switch n := f.summary; {
	case n.NotUpgradeable > 0:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotUpgradeable
		c.Message = "Waiting for " + f.name(n.NotUpgradeable, func(f finding) string { return f.blocks })
	case f.unread && !said(out, c.Type):
		notRead(&c)
	case n.Total == 0:
		c.Reason, c.Message = v1alpha1.ReasonNoResources, "There are no custom resources, so nothing holds the update"
	case n.Unknown > 0:
		c.Reason, c.Message = v1alpha1.ReasonSomeUnknown, fmt.Sprintf(
			"Nothing holds the update; %d of %d custom resources cannot be judged, for their conditions do not say", n.Unknown, n.Total)
	default:
		c.Reason, c.Message = v1alpha1.ReasonAllUpgradeable, fmt.Sprintf("None of %d custom resources holds the update", n.Total)
	}
	set(in, out, c)
}

// important says whether there is anything that the cluster admin should see.
func important(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	if f.allUnread && said(out, v1alpha1.ConditionImportant) && !f.unnamed {
		return
	}
	c := metav1.Condition{Type: v1alpha1.ConditionImportant, Status: metav1.ConditionFalse}
	switch n := f.summary; {
	case n.Important > 0:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonConditionsTrue
		c.Message = f.name(n.Important, func(f finding) string { return f.tells })
	case f.unread && !said(out, c.Type):
		notRead(&c)
	default:
		c.Reason, c.Message = v1alpha1.ReasonNothingImportant, "No important condition is True"
	}
	set(in, out, c)
}

// synced says whether the status tells all that the spec asks for.
func synced(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	c := metav1.Condition{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue}
	switch problems := problemsOf(in); {
	case len(problems) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, problems[0].Reason, sentences(problems)
	case f.unread:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonSyncing, "Reading the custom resources for the first time"
	default:
		c.Reason, c.Message = v1alpha1.ReasonSynced, "All resources of the Probe are being read"
	}
	set(in, out, c)
}

// gateConflict says where the operator's own word stands in the way of the Probe's.
func gateConflict(in Inputs, _ findings, out *v1alpha1.ProbeStatus) {
	if in.GateConflict == "" {
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionGateConflict)
		return
	}
	set(in, out, metav1.Condition{
		Type: v1alpha1.ConditionGateConflict, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonSetByOperator, Message: in.GateConflict,
	})
}

// readBy records who has read the custom resources, and where, once everything has been read. Where something cannot be
// read what was recorded before stands.
func readBy(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	if !f.unread {
		out.Reader, out.ObservedTargets = in.Reader, in.Targets
	}
}

// said is true where the status has a word on that condition already.
func said(out *v1alpha1.ProbeStatus, conditionType string) bool {
	c := meta.FindStatusCondition(out.Conditions, conditionType)
	return c != nil && c.Status != metav1.ConditionUnknown
}

func notRead(c *metav1.Condition) {
	c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonNotRead, "The custom resources have not been read yet"
}

// maxNamed is how many custom resources, or problems, a message names.
const maxNamed = 5

// name names the first of those, of a total, about which words has something to say, and counts the rest.
func (f findings) name(total int32, words func(finding) string) string {
	var out []string
	for _, l := range f.listed {
		if text := words(l); text != "" && len(out) < maxNamed {
			out = append(out, fmt.Sprintf("%s: %s", objectName(l.ProbeResourceStatus), text))
		}
	}
	switch more := int(total) - len(out); {
	case more <= 0:
	case !f.unnamed:
		out = append(out, fmt.Sprintf("and %d more", more))
	case len(out) > 0:
		out = append(out, fmt.Sprintf("and %d more, %s", more, v1alpha1.NotShown))
	case more == 1:
		out = append(out, "a custom resource whose name is "+v1alpha1.NotShown)
	default:
		out = append(out, fmt.Sprintf("%d custom resources whose names are %s", more, v1alpha1.NotShown))
	}
	return strings.Join(out, "; ")
}

func objectName(r v1alpha1.ProbeResourceStatus) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// severity orders problems: first those without which nothing at all is read.
var severity = []string{
	v1alpha1.ReasonNoIdentity,
	v1alpha1.ReasonTooManyWatches,
	v1alpha1.ReasonTooManyConditions,
	v1alpha1.ReasonForbidden,
	v1alpha1.ReasonReadFailed,
	v1alpha1.ReasonInvalidExpression,
	v1alpha1.ReasonTooManyResources,
	v1alpha1.ReasonResourceAmbiguous,
	v1alpha1.ReasonResourceNotFound,
	v1alpha1.ReasonNamespaceNotFound,
}

func problemsOf(in Inputs) []Problem {
	out := slices.Clone(in.Problems)
	for _, r := range in.Resources {
		out = append(out, r.Problems...)
	}
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severity, a.Reason), slices.Index(severity, b.Reason)),
			cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

func sentences(problems []Problem) string {
	var out []string
	for i, p := range problems {
		if i == maxNamed {
			out = append(out, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		out = append(out, p.Message)
	}
	return strings.Join(out, "; ")
}
