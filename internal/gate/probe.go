package gate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// probeHold returns why the Probe of the running version does not allow an update, or nil. An unknown state holds: a Probe that an
// operator opted in to and that does not exist, belongs to another owner, or has not been read since its spec, its target
// namespaces or the reader changed, or not for some time.
func (in Inputs) probeHold() *Hold {
	hold := in.probeObjection()
	if hold == nil {
		return nil
	}
	switch {
	case in.Uninstalled:
		hold.By = in.Running.Ref
	case in.Probe != nil:
		hold.By = refTo(v1alpha1.ProbeKind, in.Probe)
	default:
		hold.By = in.missingProbe()
	}
	return hold
}

func (in Inputs) probeObjection() *Hold {
	probe := in.Probe
	if in.Uninstalled {
		return in.liveObjection()
	}
	if probe == nil {
		return in.withoutProbe()
	}
	optedIn := in.OptedIn && (!in.ByPolicy || probe.IsGenerated())
	if _, other := holdv1alpha1.ProbedOperator(probe); other && in.Running.Kind == v1alpha1.ClusterServiceVersionKind && !optedIn {
		return nil // it only has the name
	}
	upgradeable := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	switch {
	case upgradeable != nil && upgradeable.Status == metav1.ConditionFalse:
		return &Hold{Reason: v1alpha1.ReasonProbeNotUpgradeable, Since: upgradeable.LastTransitionTime,
			Cause: refTo(v1alpha1.ProbeKind, probe).String() + notUpgradeable + messages.Quote(upgradeable.Message)}
	case writtenByOperator(probe):
		if upgradeable != nil || !optedIn {
			return nil
		}
		return notRead("the operator writes the status of Probe %s itself, and has not set Upgradeable", nameOf(probe))
	case optedIn && !probe.IsGenerated():
		return &Hold{Reason: v1alpha1.ReasonProbeConflict, Cause: fmt.Sprintf(
			"Probe %s was not created from the annotations of the operator's CustomResourceDefinitions: "+
				"delete it to have it recreated from them, or set its spec.manager to %s",
			nameOf(probe), v1alpha1.ManagerCRDAnnotations)}
	case probe.IsGenerated() && !in.isDeclared(probe.Spec):
		return notRead("Probe %s does not have the spec that %s was installed with, or that ProbePolicies determine; operator-status corrects it",
			nameOf(probe), in.Running.Name)
	case in.isCurrent(probe, upgradeable):
		return in.liveObjection()
	}
	if in.Reader == NoReader && probe.IsIsolated() {
		return notRead("the pod that reads the custom resources of Probe %s is not ready%s", nameOf(probe), podProblem(probe))
	}
	if in.Reader == NoReader {
		return notRead("no process reads custom resources: run the manager that reports on Probe %s, with --leader-elect", nameOf(probe))
	}
	out := notRead("waiting to read the custom resources of Probe %s", nameOf(probe))
	synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
	if synced != nil && (synced.Status == metav1.ConditionFalse || synced.Reason == v1alpha1.ReasonStale) {
		out.Cause += messages.Quote(synced.Message)
	}
	return out
}

// withoutProbe returns why an update waits for a Probe that does not exist, or nil.
func (in Inputs) withoutProbe() *Hold {
	from := "the annotations of the CustomResourceDefinitions"
	if in.ByPolicy {
		from = "ProbePolicies"
	}
	if !in.OptedIn {
		return nil
	}
	return notRead("Probe %s does not exist; operator-status creates it from %s", in.missingProbe().Path(), from)
}

// missingProbe returns the Probe that the operator will have.
func (in Inputs) missingProbe() operator.Ref {
	key := in.ProbeName
	if key.Name == "" {
		key = types.NamespacedName{Namespace: in.Running.Namespace, Name: in.Running.Name}
	}
	return operator.Ref{Kind: v1alpha1.ProbeKind, Namespace: key.Namespace, Name: key.Name}
}

// DependsOnCustomResources reports whether an update that begins depends on custom resources, which then have to be read.
func (in Inputs) DependsOnCustomResources() bool {
	return in.Running != nil && in.Probe != nil && !in.Uninstalled && !writtenByOperator(in.Probe)
}

// liveObjection returns why the custom resources of a Probe that allows the update do not, or nil.
func (in Inputs) liveObjection() *Hold {
	if in.Live == nil {
		if !in.Begins {
			return nil
		}
		return notRead("the custom resources of %s have not been read for this update", in.subject())
	}
	synced := meta.FindStatusCondition(in.Live.Conditions, v1alpha1.ConditionSynced)
	switch upgradeable := meta.FindStatusCondition(in.Live.Conditions, v1alpha1.ConditionUpgradeable); {
	case upgradeable != nil && upgradeable.Status == metav1.ConditionTrue:
		return nil
	case upgradeable != nil && upgradeable.Status == metav1.ConditionFalse:
		return &Hold{Reason: v1alpha1.ReasonProbeNotUpgradeable, Unreported: true, Cause: fmt.Sprintf(
			"%s, but its custom resources do not allow the update%s", in.whyUnreported(), messages.Quote(upgradeable.Message))}
	case synced != nil && synced.Status != metav1.ConditionTrue:
		return notRead("the custom resources of %s cannot be read now%s", in.subject(), messages.Quote(synced.Message))
	default:
		return notRead("the custom resources of %s cannot be read now", in.subject())
	}
}

// subject names the Probe or the uninstalled version that the custom resources belong to.
func (in Inputs) subject() string {
	if in.Uninstalled {
		return in.Running.Path() + ", which was uninstalled,"
	}
	return "Probe " + nameOf(in.Probe)
}

// whyUnreported states why no Probe reports the state of the custom resources.
func (in Inputs) whyUnreported() string {
	if in.Uninstalled {
		return in.Running.Path() + " was uninstalled"
	}
	return "Probe " + nameOf(in.Probe) + " does not report it yet"
}

// podProblem returns why the pod of a Probe is not ready, as the end of a sentence, or "".
func podProblem(probe *v1alpha1.Probe) string {
	if c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionPodReady); c != nil && c.Status == metav1.ConditionFalse {
		return messages.Quote(c.Message)
	}
	return ""
}

func notRead(format string, args ...any) *Hold {
	return &Hold{Reason: v1alpha1.ReasonProbeNotRead, Cause: fmt.Sprintf(format, args...)}
}

// AsReported returns the inputs for a report, on which no update depends: the reader and the target namespaces are those of the
// Probe's status.
func (in Inputs) AsReported() Inputs {
	if in.Probe != nil {
		in.Reader, in.Targets = ReportedReader(in.Probe, in.Probe.Status.Reader), in.Probe.Status.ObservedTargets
	}
	return in
}

// writtenByOperator reports whether the operator itself writes the status of its Probe.
func writtenByOperator(probe *v1alpha1.Probe) bool {
	return probe.Spec == nil || probe.Spec.Manager == v1alpha1.ManagerOperator
}

// isCurrent reports whether the status of a Probe allows the update and was computed from the current spec, reader and
// target namespaces.
func (in Inputs) isCurrent(probe *v1alpha1.Probe, upgradeable *metav1.Condition) bool {
	synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
	return synced != nil && synced.Status != metav1.ConditionUnknown && synced.Reason != v1alpha1.ReasonStale &&
		upgradeable != nil && upgradeable.Status == metav1.ConditionTrue &&
		probe.Status.ObservedGeneration >= probe.Generation &&
		probe.Status.Reader == in.Reader && probe.Status.ObservedTargets == in.Targets
}
