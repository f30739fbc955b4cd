// Package catalogsource computes the status of a CatalogSource: whether its content was read, and from where.
package catalogsource

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"google.golang.org/grpc/connectivity"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Inputs holds everything that a CatalogSource's status depends on, as read at one moment.
type Inputs struct {
	CatalogSource *olm.CatalogSource

	// Source is the source of the content.
	Source Source

	// Template is the image that the annotation with an image template resolves to, or nil without the annotation.
	Template *Template

	// Tried is the time of the last attempt to read the content, or zero.
	Tried time.Time

	// Err is the error of the last attempt, or nil.
	Err *catalog.Error

	// Content is the content in use, or nil. From identifies it.
	Content *catalog.Content
	From    string

	// ConfigMap is the ConfigMap that Content was read from, or nil for other types of sources.
	ConfigMap *olm.ConfigMapResourceReference

	// SignedBy lists the authorities that signed the image. It is empty if no ImagePolicy requires a signature.
	SignedBy string

	Now time.Time
}

// Source is the source of a catalog's content: an image, the address of a registry, or a ConfigMap.
type Source struct {
	Image, Address string
	ConfigMap      types.NamespacedName
}

// String describes the source for messages.
func (s Source) String() string {
	switch {
	case s.Image != "":
		return "image " + s.Image
	case s.Address != "":
		return "the registry at " + s.Address
	}
	return "ConfigMap " + s.ConfigMap.String()
}

// Template is an image template with its variables replaced.
type Template struct {
	// Image is also set with a Problem, to show the partial result.
	Image string

	// Problem is why the image cannot be pulled, or empty. Its wording is OLM's.
	Problem string
}

// Compute returns the status of a CatalogSource. It is pure: it depends only on in, and changes nothing.
func Compute(in Inputs) olm.CatalogSourceStatus {
	out := in.CatalogSource.Status.DeepCopy()
	imageTemplate(in, out) // needs no attempt to read
	if in.Tried.IsZero() && isCurrent(in.CatalogSource) {
		return *out // the status from before the manager started stays valid until the first attempt
	}
	for _, concern := range []func(Inputs, *olm.CatalogSourceStatus){
		healthy,
		signed,
		connection,
		polled,
		configMapRead,
		oldReaders, // last: it reads the condition that healthy set
	} {
		concern(in, out)
	}
	return *out
}

// imageTemplate sets the conditions about the annotation, and removes them without it. OLM writes the image into the
// spec. Here, the spec is left to its field managers; the image is in the message of ResolvedImage.
func imageTemplate(in Inputs, out *olm.CatalogSourceStatus) {
	t := in.Template
	if t == nil {
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionTemplatesHaveResolved)
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionResolvedImage)
		return
	}
	c := metav1.Condition{
		Type: v1alpha1.ConditionTemplatesHaveResolved, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllTemplatesResolved,
		Message:            "catalog image reference was successfully resolved",
		ObservedGeneration: in.CatalogSource.Generation,
		LastTransitionTime: metav1.NewTime(in.Now),
	}
	if t.Problem != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonUnableToResolve, t.Problem
	}
	meta.SetStatusCondition(&out.Conditions, c)
	c.Type, c.Message = v1alpha1.ConditionResolvedImage, t.Image
	meta.SetStatusCondition(&out.Conditions, c)
}

// isCurrent reports whether the status is about the current generation of the spec.
func isCurrent(cs *olm.CatalogSource) bool {
	c := meta.FindStatusCondition(cs.Status.Conditions, v1alpha1.ConditionHealthy)
	return c != nil && c.ObservedGeneration == cs.Generation
}

// healthy sets Healthy: whether the last attempt to read the content succeeded, and which packages are invalid.
func healthy(in Inputs, out *olm.CatalogSourceStatus) {
	c := metav1.Condition{
		Type:               v1alpha1.ConditionHealthy,
		ObservedGeneration: in.CatalogSource.Generation,
		LastTransitionTime: metav1.NewTime(in.Now),
	}
	switch {
	case in.Tried.IsZero():
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonConnecting
		c.Message = fmt.Sprintf("Reading %s for the first time", in.Source)
	case in.Err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, in.Err.Reason, in.Err.Error()+inUse(in)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonCatalogRead
		c.Message = fmt.Sprintf("Read %s from %s%s", packages(len(in.Content.Packages)), in.Source, at(in.From))
		if n := len(in.Content.Invalid); n > 0 {
			c.Reason = v1alpha1.ReasonPackagesInvalid
			c.Message += fmt.Sprintf("; skipped %s that cannot be used: %s", packages(n), invalid(in.Content))
		}
		if problem := intervalProblem(in.CatalogSource); problem != "" {
			c.Message += "; " + problem
		}
	}
	meta.SetStatusCondition(&out.Conditions, c)
}

// signed sets SignatureVerified if an ImagePolicy requires a signature of the image, and removes it otherwise.
func signed(in Inputs, out *olm.CatalogSourceStatus) {
	c := metav1.Condition{
		Type:               v1alpha1.ConditionSignatureVerified,
		ObservedGeneration: in.CatalogSource.Generation,
		LastTransitionTime: metav1.NewTime(in.Now),
	}
	switch {
	case in.Err != nil && in.Err.OfSignature():
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, in.Err.Reason, in.Err.Error()
	case in.SignedBy != "":
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonSignatureVerified, "Signed by "+in.SignedBy
	default:
		meta.RemoveStatusCondition(&out.Conditions, c.Type)
		return
	}
	meta.SetStatusCondition(&out.Conditions, c)
}

func packages(n int) string {
	if n == 1 {
		return "1 package"
	}
	return fmt.Sprintf("%d packages", n)
}

func at(from string) string {
	if from == "" {
		return ""
	}
	return " at " + from
}

// inUse returns a clause about the previous content that stays in use, or empty.
func inUse(in Inputs) string {
	switch {
	case in.Content == nil:
		return ""
	case in.From == "":
		return "; the previously read content stays in use"
	}
	return fmt.Sprintf("; the content read at %s stays in use", in.From)
}

// invalid lists the invalid packages and why they are.
func invalid(content *catalog.Content) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(content.Invalid)) {
		out = append(out, fmt.Sprintf("%s (%s)", name, messages.Clip(content.Invalid[name], 200)))
	}
	return messages.List(out, 5, ", ")
}

func intervalProblem(cs *olm.CatalogSource) string {
	if cs.Spec.UpdateStrategy == nil || cs.Spec.UpdateStrategy.RegistryPoll == nil {
		return ""
	}
	return cs.Spec.UpdateStrategy.ParsingError
}

// connection sets the connection state, which consoles show. It covers all types of sources, not only registries.
func connection(in Inputs, out *olm.CatalogSourceStatus) {
	if in.Err != nil && in.Err.Reason == v1alpha1.ReasonSpecInvalid {
		out.GRPCConnectionState = nil
		return
	}
	now := olm.GRPCConnectionState{Address: cmp.Or(in.Source.Image, in.Source.Address, in.Source.ConfigMap.String())}
	before := out.GRPCConnectionState
	if before != nil && before.Address == now.Address {
		now.LastConnectTime = before.LastConnectTime
	}
	switch {
	case in.Tried.IsZero():
		now.LastObservedState = connectivity.Connecting.String()
	case in.Err != nil:
		now.LastObservedState = connectivity.TransientFailure.String()
	default:
		now.LastObservedState = connectivity.Ready.String()
		if now.LastConnectTime.IsZero() || before.LastObservedState != now.LastObservedState {
			now.LastConnectTime = metav1.NewTime(in.Tried.Truncate(time.Second))
		}
	}
	out.GRPCConnectionState = &now
}

// polled sets the time of the last successful poll of an image, if the spec requests polling.
func polled(in Inputs, out *olm.CatalogSourceStatus) {
	if in.CatalogSource.Poll() && in.Err == nil && !in.Tried.IsZero() {
		t := metav1.NewTime(in.Tried.Truncate(time.Second))
		out.LatestImageRegistryPoll = &t
	}
}

// configMapRead sets the ConfigMap that the content was read from. After a change, clients wait until both
// LastUpdateTime and LastConnectTime are later than the change. As these are in whole seconds, each new value is at
// least one second after the previous one.
func configMapRead(in Inputs, out *olm.CatalogSourceStatus) {
	before, now := out.ConfigMapResource, in.ConfigMap.DeepCopy()
	out.ConfigMapResource = now
	switch {
	case now == nil:
		return
	case before != nil && before.UID == now.UID && before.ResourceVersion == now.ResourceVersion:
		out.ConfigMapResource = before
		return
	case before != nil:
		now.LastUpdateTime = later(in.Now, before.LastUpdateTime)
	default:
		now.LastUpdateTime = metav1.NewTime(in.Now.Truncate(time.Second))
	}
	if out.GRPCConnectionState != nil {
		out.GRPCConnectionState.LastConnectTime = later(in.Tried, now.LastUpdateTime)
	}
}

// later returns t in whole seconds, or the second after than if t is not after it.
func later(t time.Time, than metav1.Time) metav1.Time {
	if t = t.Truncate(time.Second); t.After(than.Time) {
		return metav1.NewTime(t)
	}
	return metav1.NewTime(than.Add(time.Second))
}

// oldReaders sets OLM's older fields reason and message to the current problem, or clears them.
func oldReaders(in Inputs, out *olm.CatalogSourceStatus) {
	var none olm.ConditionReason
	out.Reason, out.Message = none, ""
	if problem := intervalProblem(in.CatalogSource); problem != "" {
		out.Reason, out.Message = olm.CatalogSourceIntervalInvalidError, problem
	}
	if in.Err == nil {
		return
	}
	out.Message = meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionHealthy).Message
	switch {
	case in.Err.Reason == v1alpha1.ReasonSpecInvalid:
		out.Reason = olm.CatalogSourceSpecInvalidError
	case in.Source.ConfigMap.Name != "":
		out.Reason = olm.CatalogSourceConfigMapError
	default:
		out.Reason = olm.CatalogSourceRegistryServerError
	}
}
