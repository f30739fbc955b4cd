package operand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/watch"
)

// FindCRD returns the CustomResourceDefinition of that name, or else the only one of the API group of that name. If the
// API server serves none, the Problem states why.
func FindCRD(ctx context.Context, c client.Reader, name string) (*apiextensions.CustomResourceDefinition, *condition.Problem, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	err := c.Get(ctx, types.NamespacedName{Name: name}, crd)
	if err == nil {
		return usable(crd)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("getting CustomResourceDefinition %s: %w", name, err)
	}
	all := &apiextensions.CustomResourceDefinitionList{}
	if err := c.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing the CustomResourceDefinitions of group %s: %w", name, err)
	}
	group := slices.DeleteFunc(slices.Clone(all.Items), func(crd apiextensions.CustomResourceDefinition) bool { return crd.Spec.Group != name })
	switch len(group) {
	case 0:
		return nil, &condition.Problem{Reason: v1alpha1.ReasonResourceNotFound, Message: fmt.Sprintf(
			"CustomResourceDefinition or API group %s not found", name)}, nil
	case 1:
		return usable(&group[0])
	default:
		first := slices.MinFunc(group, func(a, b apiextensions.CustomResourceDefinition) int { return cmp.Compare(a.Name, b.Name) })
		return nil, &condition.Problem{Reason: v1alpha1.ReasonResourceAmbiguous, Message: fmt.Sprintf(
			"API group %s has %d CustomResourceDefinitions: name one of them, such as %s", name, len(group), first.Name)}, nil
	}
}

func usable(crd *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, *condition.Problem, error) {
	if ServedVersion(crd) != "" && apihelpers.IsCRDConditionTrue(crd, apiextensions.Established) {
		return crd, nil, nil
	}
	return nil, &condition.Problem{Reason: v1alpha1.ReasonResourceNotFound, Message: fmt.Sprintf(
		"CustomResourceDefinition %s exists, but the API server does not serve it", crd.Name)}, nil
}

// ServedVersion returns the version to read: the storage version if served, since it needs no conversion, otherwise the
// first served one, or the empty string.
func ServedVersion(crd *apiextensions.CustomResourceDefinition) (out string) {
	for _, v := range crd.Spec.Versions {
		if v.Served && (v.Storage || out == "") {
			out = v.Name
		}
	}
	return out
}

// Serves reports whether a CustomResourceDefinition serves a version.
func Serves(crd *apiextensions.CustomResourceDefinition, version string) bool {
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served })
}

// IsServed reports whether a CustomResourceDefinition exists, is established and serves a version.
func IsServed(ctx context.Context, c client.Reader, name, version string) (bool, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := c.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return apihelpers.IsCRDConditionTrue(crd, apiextensions.Established) && Serves(crd, version), nil
}

// Targets returns the targets of a CustomResourceDefinition in namespaces, the empty one meaning all. Their identities
// are not set.
func Targets(crd *apiextensions.CustomResourceDefinition, namespaces []string) []watch.Target {
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: ServedVersion(crd), Resource: crd.Spec.Names.Plural}
	if crd.Spec.Scope == apiextensions.ClusterScoped || slices.Contains(namespaces, metav1.NamespaceAll) {
		return []watch.Target{{Resource: resource}}
	}
	out := make([]watch.Target, 0, len(namespaces))
	for _, n := range namespaces {
		out = append(out, watch.Target{Resource: resource, Namespace: n})
	}
	return out
}

// AnnotatedNamespaces returns the target namespaces in the annotation of a ClusterServiceVersion.
func AnnotatedNamespaces(csv *v1alpha1.ClusterServiceVersion) []string {
	var out []string
	for n := range strings.SplitSeq(csv.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey], ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return OrAll(out)
}

// OrAll returns namespaces sorted, each once, or metav1.NamespaceAll for an empty list.
func OrAll(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	out := slices.Clone(namespaces)
	slices.Sort(out)
	return slices.Compact(out)
}

// Owner is the operator that a Probe is about.
type Owner struct {
	// Description is for messages: "ClusterServiceVersion foo.v1".
	Description string

	// Exists is false if there is no such operator. Accounts are the names of its service accounts, in order of preference.
	Exists   bool
	Accounts []string
}

// OwnerByCSV returns the operator of the ClusterServiceVersion of a Probe's name, which is nil if it does not exist.
func OwnerByCSV(probe *v1alpha1.Probe, csv *v1alpha1.ClusterServiceVersion) Owner {
	out := Owner{Description: "ClusterServiceVersion " + probe.Name, Exists: csv != nil}
	if csv != nil {
		out.Accounts = csv.ServiceAccounts()
	}
	return out
}

// Accounts returns the existing service accounts that a Probe may read with, in order of preference. If none exists, the Problem states
// why.
func Accounts(ctx context.Context, c client.Reader, probe *v1alpha1.Probe, owner Owner) ([]types.NamespacedName, *condition.Problem, error) {
	names := owner.Accounts
	switch {
	case probe.Spec.ServiceAccountName != "":
		names = []string{probe.Spec.ServiceAccountName}
	case !owner.Exists:
		return nil, &condition.Problem{Reason: v1alpha1.ReasonNoIdentity, Message: fmt.Sprintf(
			"%s, whose service account would be used, does not exist: set spec.serviceAccountName", owner.Description)}, nil
	}
	var out []types.NamespacedName
	for _, name := range names {
		account := &metav1.PartialObjectMetadata{}
		account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		key := types.NamespacedName{Namespace: probe.Namespace, Name: name}
		if err := c.Get(ctx, key, account); client.IgnoreNotFound(err) != nil {
			return nil, nil, fmt.Errorf("getting service account %s: %w", key, err)
		} else if err == nil {
			out = append(out, key)
		}
	}
	if len(out) > 0 {
		return out, nil, nil
	}
	if len(names) == 0 {
		return nil, &condition.Problem{Reason: v1alpha1.ReasonNoIdentity, Message: fmt.Sprintf(
			"%s names no service account: set spec.serviceAccountName", owner.Description)}, nil
	}
	return nil, &condition.Problem{Reason: v1alpha1.ReasonNoIdentity, Message: fmt.Sprintf(
		"No service account %s exists in namespace %s", strings.Join(names, " or "), probe.Namespace)}, nil
}

// ReadProblem returns the Problem of a target's snapshot, or nil.
func ReadProblem(t watch.Target, s observed.Snapshot) *condition.Problem {
	switch {
	case s.Err == nil && !s.Stale:
		return nil
	case s.Err == nil:
		return &condition.Problem{Reason: v1alpha1.ReasonStale, Message: fmt.Sprintf(
			"The API server has sent nothing about %s to service account %s for some time, not even a bookmark: relisting", targetName(t), t.Identity)}
	case apierrors.IsForbidden(s.Err):
		return Forbidden(t)
	case errors.Is(s.Err, watch.ErrTooManyTerms):
		return &condition.Problem{Reason: v1alpha1.ReasonTooManyConditions, Message: fmt.Sprintf(
			"The expressions of all Probes that read %s with service account %s would name more than %d conditions and comparisons: name fewer, or use another account",
			targetName(t), t.Identity, watch.MaxTerms)}
	}
	reason := v1alpha1.ReasonReadFailed
	if s.Stale {
		reason = v1alpha1.ReasonStale
	}
	return &condition.Problem{Reason: reason, Message: fmt.Sprintf(
		"Service account %s fails to read %s: %s", t.Identity, targetName(t), kube.ErrorMessage(s.Err, maxQuoted))}
}

// Forbidden returns the Problem that an identity may not read a target.
func Forbidden(t watch.Target) *condition.Problem {
	return &condition.Problem{Reason: v1alpha1.ReasonForbidden, Message: fmt.Sprintf(
		"Service account %s may not list and watch %s: grant it these permissions", t.Identity, targetName(t))}
}

// targetName names the resource and namespace of a target, for messages.
func targetName(t watch.Target) string {
	if t.Namespace == "" {
		return t.Resource.GroupResource().String() + " in all namespaces"
	}
	return t.Resource.GroupResource().String() + " in namespace " + t.Namespace
}

// maxQuoted limits how much of an error a message quotes, in bytes.
const maxQuoted = 512
