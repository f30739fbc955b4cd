package probepolicy

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/operator"
)

// Inputs holds everything that the Probe of an operator without ClusterServiceVersion depends on, as read at one moment.
type Inputs struct {
	Operator holdv1alpha1.OperatorReference

	// Parts are the workloads that it consists of, and Served has which of Existing each of them serves. Existing are the names of
	// CustomResourceDefinitions that exist and that Policies, Annotated or Probe name, sorted.
	Parts    []installer.Workload
	Served   map[operator.Ref]controllers.Served
	Existing []string

	Policies []holdv1alpha1.ProbePolicy

	// Annotated are the resources that the annotations of CustomResourceDefinitions ask for which no ClusterServiceVersion owns.
	Annotated []v1alpha1.ProbeResource

	// Probe is the one that was created for it, or nil.
	Probe *v1alpha1.Probe
}

// mostNamespaces limits the namespaces of a Probe. Custom resources in more of them are read in all.
const mostNamespaces = 256

// ForOperator returns the Probe that annotations and policies determine for an operator, or nil.
//
// A Probe keeps the CustomResourceDefinitions that the operator does not serve any longer, as far as its roles tell: an update may
// change roles first, which must not end the hold of the rest. It ends with the workloads of the operator, its
// CustomResourceDefinitions, their annotations and the policies.
func ForOperator(in Inputs) *v1alpha1.Probe {
	if len(in.Parts) == 0 {
		return nil
	}
	op := Operator{Installer: in.Operator.Installer, Namespace: in.Operator.Namespace, Definitions: in.former()}
	for _, w := range in.Parts {
		op.Definitions = append(op.Definitions, in.Served[w.Ref].Definitions()...)
	}
	op.Annotated = in.annotated(op.Definitions)
	resources := append(op.Annotated, Added(op, in.Policies)...)
	if len(resources) == 0 {
		return nil
	}
	out := &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.Operator.Namespace, Name: in.Operator.ProbeName()},
		Spec: &v1alpha1.ProbeSpec{
			Manager:    v1alpha1.ManagerPolicy,
			Operator:   &v1alpha1.ProbedOperator{Installer: string(in.Operator.Installer), Name: in.Operator.Name},
			Namespaces: in.namespaces(resources), ProbeResources: resources,
			Settle: Settle(op, in.Policies), YieldAfter: YieldAfter(op, in.Policies), AlertAfter: AlertAfter(op, in.Policies),
		},
	}
	if len(op.Annotated) > 0 {
		out.Spec.Manager = v1alpha1.ManagerCRDAnnotations
		out.Annotations = map[string]string{v1alpha1.AnnotationAnnotatedCRDs: strings.Join(Named(op.Annotated), ",")}
	}
	return out
}

// annotated returns the resources of the CustomResourceDefinitions that the operator serves, from their annotations. While the Probe does
// not allow an update, it keeps its former ones beside them: an update may change annotations before images, which must not end the hold.
func (in Inputs) annotated(serves []string) []v1alpha1.ProbeResource {
	var out []v1alpha1.ProbeResource
	for _, r := range slices.Concat(in.Annotated, in.formerlyAnnotated()) {
		if slices.Contains(serves, r.CRDName()) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.ProbeResource) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(len(out), v1alpha1.MaxProbeResources)]
}

func (in Inputs) formerlyAnnotated() []v1alpha1.ProbeResource {
	if in.Probe == nil || Allows(in.Probe) {
		return nil
	}
	return AnnotatedIn(in.Probe)
}

// AnnotatedIn returns the resources of the Probe of an operator without ClusterServiceVersion that are from annotations.
func AnnotatedIn(probe *v1alpha1.Probe) []v1alpha1.ProbeResource {
	names := probe.AnnotatedCRDs()
	return slices.DeleteFunc(slices.Clone(probe.Spec.ProbeResources), func(r v1alpha1.ProbeResource) bool { return !slices.Contains(names, r.CRDName()) })
}

// Allows reports whether a Probe allows an update by its current spec.
func Allows(probe *v1alpha1.Probe) bool {
	return meta.IsStatusConditionTrue(probe.Status.Conditions, v1alpha1.ConditionUpgradeable) && probe.Status.ObservedGeneration >= probe.Generation
}

// Named returns the names of the CustomResourceDefinitions of resources, each once.
func Named(resources []v1alpha1.ProbeResource) []string {
	var out []string
	for _, r := range resources {
		out = append(out, r.CRDName())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Own returns the Probe that was created for an operator, or nil. probes are those that name the operator.
func Own(of holdv1alpha1.OperatorReference, probes []*v1alpha1.Probe) *v1alpha1.Probe {
	for _, p := range probes {
		if p.Name == of.ProbeName() && p.IsGenerated() {
			return p
		}
	}
	return nil
}

// IsPart reports whether a workload is a part of an operator, and not one of its operands, which their controller updates. It is in the namespace
// of the operator: the authors of others could give them its marks.
func IsPart(of holdv1alpha1.OperatorReference, w installer.Workload) bool {
	return w.Namespace == of.Namespace && controllers.Owner(w) == of && !w.OfCSV && (!w.Controlled || of.Installer == holdv1alpha1.InstallerOLMv1)
}

// former returns the CustomResourceDefinitions of the Probe that still exist.
func (in Inputs) former() []string {
	var out []string
	if in.Probe == nil {
		return nil
	}
	for _, r := range in.Probe.Spec.ProbeResources {
		if slices.Contains(in.Existing, r.CRDName()) {
			out = append(out, r.CRDName())
		}
	}
	return out
}

// namespaces returns those in which the operator serves resources, or nil for all.
func (in Inputs) namespaces(resources []v1alpha1.ProbeResource) []string {
	var out []string
	names := Named(resources)
	for _, w := range in.Parts {
		some := in.Served[w.Ref].Namespaces(names)
		if some == nil {
			return nil
		}
		out = append(out, some...)
	}
	if len(out) == 0 {
		return in.Probe.Spec.Namespaces // all are former ones
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > mostNamespaces {
		return nil
	}
	return out
}
