package subscription

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// catalogHealth lists the CatalogSources whose health is known. Their LastUpdated changes only with the health.
func catalogHealth(in Inputs, out *v1alpha1.SubscriptionStatus) {
	before := map[types.NamespacedName]olm.SubscriptionCatalogHealth{}
	for _, b := range out.CatalogHealth {
		if b.CatalogSourceRef != nil && b.LastUpdated != nil {
			before[types.NamespacedName{Namespace: b.CatalogSourceRef.Namespace, Name: b.CatalogSourceRef.Name}] = b
		}
	}
	out.CatalogHealth = nil
	for _, c := range in.CatalogSources {
		health := c.health()
		if health.Status == metav1.ConditionUnknown {
			continue
		}
		entry := olm.SubscriptionCatalogHealth{
			CatalogSourceRef: reference(&c.CatalogSource),
			LastUpdated:      in.Now.DeepCopy(),
			Healthy:          health.Status == metav1.ConditionTrue,
		}
		if b, known := before[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}]; known && b.Healthy == entry.Healthy {
			entry.LastUpdated = b.LastUpdated
		}
		out.CatalogHealth = append(out.CatalogHealth, entry)
	}
}

// catalogSourcesUnhealthy sets whether a CatalogSource that the Subscription can see is unhealthy, or the one that it
// names is missing. The messages are those of OLM: they name the CatalogSource, whose status reports the problem.
func catalogSourcesUnhealthy(in Inputs, out *v1alpha1.SubscriptionStatus) {
	named := in.spec().CatalogSourceNamespace + "/" + in.spec().CatalogSource
	unread := slices.ContainsFunc(in.CatalogSources, func(c CatalogSource) bool { return c.health().Status == metav1.ConditionUnknown })
	bad := in.unhealthy()
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionCatalogSourcesUnhealthy, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonUnhealthyCatalogSourceFound,
	}
	switch {
	case len(in.CatalogSources) == 0:
		c.Reason, c.Message = v1alpha1.ReasonNoCatalogSourcesFound, "No CatalogSource is visible to namespace "+in.Subscription.Namespace+": create one"
	case in.source() == nil:
		c.Message = "targeted catalogsource " + named + " missing"
	case slices.Contains(bad, named):
		c.Message = "targeted catalogsource " + named + " unhealthy"
	case len(bad) > 0:
		c.Message = in.unhealthySummary()
	case unread:
		c.Status, c.Reason = corev1.ConditionUnknown, v1alpha1.ReasonMissingCatalogInfo
		c.Message = "The health of some CatalogSources is not known yet" // naming them would change the message with each one read
	default:
		c.Status, c.Reason = corev1.ConditionFalse, v1alpha1.ReasonAllCatalogSourcesHealthy
		c.Message = "all available catalogsources are healthy"
	}
	set(in, out, c)
}

// unhealthy names the CatalogSources that are known to be unhealthy.
func (in Inputs) unhealthy() []string {
	var out []string
	for _, c := range in.CatalogSources {
		if c.health().Status == metav1.ConditionFalse {
			out = append(out, nameOf(&c))
		}
	}
	return out
}

// unhealthySummary returns a message about the unhealthy CatalogSources for the admin, or empty.
func (in Inputs) unhealthySummary() string {
	bad := in.unhealthy()
	if len(bad) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d CatalogSources unhealthy, see their status: %s", len(bad), len(in.CatalogSources), Named(bad))
}

// catalogSourceInvalid sets whether the CatalogSource that the spec names cannot be used.
func catalogSourceInvalid(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{Type: v1alpha1.SubscriptionCatalogSourceInvalid, Status: corev1.ConditionTrue}
	spec, namespace := in.spec(), in.Subscription.Namespace
	name := spec.CatalogSourceNamespace + "/" + spec.CatalogSource
	switch source := in.source(); {
	case source != nil && source.Read:
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, v1alpha1.ReasonCatalogSourceValid, "CatalogSource "+name+" has been read"
	case source != nil:
		health := source.health()
		if health.Status != metav1.ConditionFalse {
			remove(out, c.Type) // it is about to be read
			return
		}
		c.Reason = v1alpha1.ReasonCatalogSourceUnreadable
		c.Message = fmt.Sprintf("CatalogSource %s cannot be read: %s%s", name, health.Reason, messages.Quote(health.Message))
	case spec.CatalogSourceNamespace != namespace && in.GlobalNamespace != "" && spec.CatalogSourceNamespace != in.GlobalNamespace:
		c.Reason = v1alpha1.ReasonCatalogSourceNotVisible
		c.Message = fmt.Sprintf("CatalogSource %s is not visible in this namespace: spec.sourceNamespace must be %s", name, either(namespace, in.GlobalNamespace))
	default:
		c.Reason = v1alpha1.ReasonCatalogSourceNotFound
		c.Message = "CatalogSource " + name + " not found: create it, or correct spec.source and spec.sourceNamespace"
	}
	set(in, out, c)
}

// packageChannelInvalid sets whether the catalog lacks the package, or the package its channel.
func packageChannelInvalid(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionPackageChannelInvalid, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonPackageChannelValid, Message: "The catalog has the package and its channel",
	}
	resolved := in.resolved()
	problem := cmp.Or(resolved.Problem, &Problem{})
	switch problem.Reason {
	case v1alpha1.ReasonPackageNotFound, v1alpha1.ReasonPackageInvalid, v1alpha1.ReasonChannelNotFound:
		c.Status, c.Reason, c.Message = corev1.ConditionTrue, problem.Reason, problem.Message
	default:
		if in.Resolution == nil || resolved.Problem != nil && resolved.Newest == "" && !foundFirst[problem.Reason] {
			remove(out, c.Type)
			return
		}
	}
	set(in, out, c)
}

// foundFirst are the reasons of problems that only occur once the package and its channel have been found.
var foundFirst = map[string]bool{
	v1alpha1.ReasonConstraintsNotSatisfiable: true,
	v1alpha1.ReasonUnsupportedConstraint:     true,
	v1alpha1.ReasonCSVNotInChannel:           true,
	v1alpha1.ReasonVersionNotAllowed:         true,
	v1alpha1.ReasonVersionInvalid:            true,
	v1alpha1.ReasonReplacesCycle:             true,
	v1alpha1.ReasonBundleInvalid:             true,
	v1alpha1.ReasonTooLarge:                  true,
	v1alpha1.ReasonImagePullFailed:           true,
	v1alpha1.ReasonUnreachable:               true,
}

// resolutionFailed sets ResolutionFailed if the resolver has a Problem.
func resolutionFailed(in Inputs, out *v1alpha1.SubscriptionStatus) {
	remove(out, v1alpha1.SubscriptionResolutionFailed)
	if problem := in.resolved().Problem; problem != nil {
		setTrue(in, out, v1alpha1.SubscriptionResolutionFailed, problem.Reason, problem.Message)
	}
}

// deprecated sets conditions for the deprecated package, channel and bundle of the installed or next version, and
// Deprecated to sum them up. The channel counts only if the spec names it.
func deprecated(in Inputs, out *v1alpha1.SubscriptionStatus) {
	if in.Resolution == nil {
		return // keep the previous conditions
	}
	deprecations := in.Resolution.Deprecations
	if in.spec().Channel == "" {
		deprecations.Channel = ""
	}
	var all []string
	for _, level := range []struct {
		conditionType v1alpha1.SubscriptionConditionType
		message       string
	}{
		{v1alpha1.SubscriptionPackageDeprecated, deprecations.Package},
		{v1alpha1.SubscriptionChannelDeprecated, deprecations.Channel},
		{v1alpha1.SubscriptionBundleDeprecated, deprecations.Bundle},
		{v1alpha1.SubscriptionDeprecated, ""},
	} {
		message := level.message
		if level.conditionType == v1alpha1.SubscriptionDeprecated {
			message = strings.Join(all, "; ")
		}
		if message == "" {
			remove(out, level.conditionType)
			continue
		}
		all = append(all, message)
		setTrue(in, out, level.conditionType, v1alpha1.ReasonDeprecated, message)
	}
}

// health returns the condition Healthy of the catalog, or Unknown if that is missing or the catalog is being read for the
// first time.
func (c CatalogSource) health() metav1.Condition {
	healthy := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionHealthy)
	if healthy == nil || healthy.Reason == v1alpha1.ReasonConnecting ||
		healthy.Status != metav1.ConditionTrue && healthy.Status != metav1.ConditionFalse {
		return metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonConnecting}
	}
	return *healthy
}

// source returns the CatalogSource that the spec names, or nil if it is not visible to the Subscription.
func (in Inputs) source() *CatalogSource {
	spec := in.spec()
	for i, c := range in.CatalogSources {
		if c.Namespace == spec.CatalogSourceNamespace && c.Name == spec.CatalogSource {
			return &in.CatalogSources[i]
		}
	}
	return nil
}

func sorted(sources []CatalogSource) []CatalogSource {
	out := slices.Clone(sources)
	slices.SortStableFunc(out, func(a, b CatalogSource) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(out, func(a, b CatalogSource) bool { return a.Namespace == b.Namespace && a.Name == b.Name })
}

// kinds is the scheme of the kinds that a status refers to.
var kinds = func() *runtime.Scheme {
	out := runtime.NewScheme()
	utilruntime.Must(olm.AddToScheme(out))
	return out
}()

func reference(obj runtime.Object) *corev1.ObjectReference {
	out, err := v1alpha1.ObjectReferenceFor(kinds, obj)
	utilruntime.Must(err) // kinds has every kind that is referred to
	return out
}

func either(a, b string) string {
	if a == b {
		return a
	}
	return a + " or " + b
}
