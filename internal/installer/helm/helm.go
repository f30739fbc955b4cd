// Package helm describes the operators of Helm releases, by the labels of the records that Helm keeps of them and by its annotations on
// their objects. It is pure.
package helm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/operator"
)

// Labels of a record of a release. They are the same in Helm 3 and 4.
const (
	LabelOwner    = "owner"
	LabelName     = "name"
	LabelStatus   = "status"
	LabelRevision = "version"

	// Owner is the value of LabelOwner.
	Owner = "helm"
)

// Statuses of the record of a revision, in the terms of Helm.
const (
	deployed        = "deployed"
	superseded      = "superseded"
	pendingInstall  = "pending-install"
	pendingUpgrade  = "pending-upgrade"
	pendingRollback = "pending-rollback"
)

// Release is a Helm release.
type Release struct {
	// Namespace is that of its records.
	Namespace, Name string

	// Revision is the number of the last one, or 0 if no record may be read.
	Revision int

	// Ran is true if a revision was installed completely, or one of its workloads has run, as far as is known.
	Ran bool

	// Complete is true if the last revision was. Annotations are those of its record.
	Complete    bool
	Annotations map[string]string

	Workloads []installer.Workload
}

// Storage returns the namespace in which the records of an operator's release are, if the labels of one of its workloads are right: that of the
// HelmRelease if Flux installs it, and else that of the release.
func Storage(of holdv1alpha1.OperatorReference, w installer.Workload) string {
	return cmp.Or(helmRelease(w).Namespace, of.Namespace)
}

// helmRelease returns the HelmRelease that a workload names, or nothing.
func helmRelease(w installer.Workload) (out types.NamespacedName) {
	group := installer.HelmRelease.Group
	if namespace, name := w.Labels[group+"/namespace"], w.Labels[group+"/name"]; namespace != "" && name != "" {
		out = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return out
}

// mostInNamespace limits how many HelmReleases of a namespace may be that of one release.
const mostInNamespace = 4

// ReleasedBy returns the HelmReleases in other namespaces than the release of an operator that its workloads name.
func ReleasedBy(of holdv1alpha1.OperatorReference, workloads []installer.Workload) []types.NamespacedName {
	found := map[string][]types.NamespacedName{}
	for _, w := range workloads {
		by := helmRelease(w)
		in := found[by.Namespace]
		if by.Name != "" && by.Namespace != of.Namespace && Owns(of, w) && !slices.Contains(in, by) && len(in) < mostInNamespace {
			found[by.Namespace] = append(in, by)
		}
	}
	var out []types.NamespacedName
	for _, namespace := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[namespace]...)
	}
	return out
}

// IsRecord reports whether a record is that of a release.
func IsRecord(record metav1.Object, release string) bool {
	return record.GetLabels()[LabelOwner] == Owner && record.GetLabels()[LabelName] == release
}

// Find returns a release, or nil if neither a record nor a workload of it exists. records are those of its storage, which is a namespace, and
// workloads its own, or more.
func Find(of holdv1alpha1.OperatorReference, storage string, records []metav1.PartialObjectMetadata, workloads []installer.Workload) *Release {
	out := &Release{Namespace: storage, Name: of.Name}
	for i := range records {
		if r := &records[i]; r.Namespace == out.Namespace && IsRecord(r, of.Name) {
			out.add(r)
		}
	}
	for _, w := range workloads {
		if Owns(of, w) {
			out.Workloads = append(out.Workloads, w)
			out.Ran = out.Ran || w.Ran // the record may be that of a first installation that timed out
		}
	}
	if out.Revision == 0 {
		if len(out.Workloads) == 0 {
			return nil
		}
		out.Ran, out.Complete = true, true
	}
	slices.SortFunc(out.Workloads, func(a, b installer.Workload) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// add adds a record.
func (r *Release) add(record metav1.Object) {
	status := record.GetLabels()[LabelStatus]
	r.Ran = r.Ran || status == deployed || status == superseded
	if n, err := strconv.Atoi(record.GetLabels()[LabelRevision]); err == nil && n > r.Revision {
		r.Revision, r.Complete, r.Annotations = n, status == deployed, record.GetAnnotations()
	}
}

// OfRecord returns the operator of a release that a record belongs to, or none.
func OfRecord(record metav1.Object) []holdv1alpha1.OperatorReference {
	if !isRelease(record.GetLabels()[LabelName]) {
		return nil
	}
	return []holdv1alpha1.OperatorReference{{
		Installer: holdv1alpha1.InstallerHelm, Namespace: record.GetNamespace(), Name: record.GetLabels()[LabelName],
	}}
}

// OfWorkload returns the operator of the release that a workload belongs to, or none.
func OfWorkload(w installer.Workload) []holdv1alpha1.OperatorReference {
	of := holdv1alpha1.OperatorReference{
		Installer: holdv1alpha1.InstallerHelm, Namespace: w.Annotations[installer.AnnotationReleaseNamespace], Name: w.Annotations[installer.AnnotationRelease],
	}
	if !isRelease(of.Name) || len(validation.IsDNS1123Label(of.Namespace)) > 0 || w.OfCSV || len(olmv1.OfWorkload(w)) > 0 {
		return nil
	}
	return []holdv1alpha1.OperatorReference{of}
}

// longestName is the most that Helm allows for the name of a release.
const longestName = 53

// isRelease reports whether a release can have a name. A tenant can annotate a workload with any text.
func isRelease(name string) bool {
	return len(name) <= longestName && len(validation.IsDNS1123Subdomain(name)) == 0
}

// Owns reports whether a workload belongs to the release of an operator.
func Owns(of holdv1alpha1.OperatorReference, w installer.Workload) bool {
	return slices.Contains(OfWorkload(w), of)
}

// Installed returns the operator of a release, or nil if no revision of it has run.
func (r *Release) Installed() *installer.Installed {
	if r == nil || !r.Ran {
		return nil
	}
	out := &installer.Installed{
		Version: installer.VersionOf(r.Workloads), Accounts: installer.AccountsOf(r.Workloads), Retry: installer.RetryOf(r.Workloads), Denied: r.denied,
		Unrecorded: r.Revision == 0,
	}
	out.Running = operator.Version{Ref: operator.Ref{Kind: "Secret", Namespace: r.Namespace, Name: r.record()}}
	out.Request = operator.Request{Ref: out.Running.Ref, Resource: "secret", Annotations: r.Annotations}
	if len(r.Workloads) > 0 {
		first := r.Workloads[0]
		out.Request = operator.Request{Ref: first.Ref, Resource: first.Resource(), Annotations: first.Annotations}
	}
	return out
}

// isByFlux reports whether Flux installs the release.
func (r *Release) isByFlux() bool {
	by := installer.RetryOf(r.Workloads)
	return by != nil && by.Kind == installer.HelmRelease
}

// record returns the name of the record of the last revision.
func (r *Release) record() string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", r.Name, r.Revision)
}

// denied returns the records of updates, and the CustomResourceDefinitions that are updated without one: by kubectl, or by Flux before it
// writes the record. To install a release whose workloads have run is an update of them. A rollback is one, too, but repairs a release whose last
// revision was not installed completely: then its CustomResourceDefinitions may change as well. A user allows a revision as Helm writes it.
func (r *Release) denied(allowed string, crds []string) *holdv1alpha1.DeniedUpdates {
	revisions := &holdv1alpha1.DeniedRevisions{Namespace: r.Namespace, Release: r.Name, Statuses: []string{pendingUpgrade}}
	out := &holdv1alpha1.DeniedUpdates{Revisions: revisions}
	if slices.ContainsFunc(r.Workloads, func(w installer.Workload) bool { return w.Ran }) {
		revisions.Statuses = append(revisions.Statuses, pendingInstall)
	}
	if r.Complete {
		revisions.Statuses = append(revisions.Statuses, pendingRollback)
	}
	if r.Complete && (r.Revision > 0 || r.isByFlux()) { // without a record, another program may have taken it over
		out.CustomResourceDefinitions = installer.DeniedDefinitions(crds)
	}
	if n, err := strconv.Atoi(allowed); err == nil && n > r.Revision && strconv.Itoa(n) == allowed {
		revisions.Except, out.CustomResourceDefinitions = []string{allowed}, nil
	}
	return out
}
