package helm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

var foo = holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: "foo", Name: "foo"}

func record(namespace, release, revision, status string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "sh.helm.release.v1." + release + ".v" + revision,
		Labels:      map[string]string{LabelOwner: Owner, LabelName: release, LabelStatus: status, LabelRevision: revision},
		Annotations: map[string]string{"record": revision},
	}}
}

func workload(kind, name, release string) installer.Workload {
	return installer.Workload{
		Ref: operator.Ref{Kind: kind, Namespace: "foo", Name: name}, ServiceAccount: name,
		Annotations: map[string]string{installer.AnnotationRelease: release, installer.AnnotationReleaseNamespace: "foo"},
	}
}

// byFlux marks a workload as Flux does, with the namespace of its HelmRelease.
func byFlux(w installer.Workload, namespace string) installer.Workload {
	w.Labels = map[string]string{"helm.toolkit.fluxcd.io/name": "release", "helm.toolkit.fluxcd.io/namespace": namespace}
	return w
}

func TestInstalled(t *testing.T) {
	crds := []string{"foos.example.com"}
	available := func(w installer.Workload) installer.Workload {
		w.Ran = true
		return w
	}
	cases := map[string]struct {
		reason    string
		records   []metav1.PartialObjectMetadata
		workloads []installer.Workload
		allowed   string
		request   string // the object on which an update is allowed, or empty if no version has run
		denied    *holdv1alpha1.DeniedRevisions
		crds      []string // that are held, too
	}{
		"Deployed": {
			reason:    "Every later revision of an installed release is an update, also an earlier version.",
			records:   []metav1.PartialObjectMetadata{record("foo", "foo", "9", "superseded"), record("foo", "foo", "10", "deployed")},
			workloads: []installer.Workload{workload("StatefulSet", "b", "foo"), workload("Deployment", "c", "foo"), workload("Deployment", "a", "bar")},
			request:   "Deployment foo/c",
			denied:    &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-rollback"}}, crds: crds,
		},
		"Failed": {
			reason:  "A rollback repairs a release whose last revision failed.",
			records: []metav1.PartialObjectMetadata{record("foo", "foo", "1", "deployed"), record("foo", "foo", "2", "failed")},
			request: "Secret foo/sh.helm.release.v1.foo.v2",
			denied:  &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade"}},
		},
		"Upgrading": {
			reason:  "So it may, before the revision has failed.",
			records: []metav1.PartialObjectMetadata{record("foo", "foo", "2", "pending-upgrade"), record("foo", "foo", "1", "deployed")},
			request: "Secret foo/sh.helm.release.v1.foo.v2",
			denied:  &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade"}},
		},
		"Allowed": {
			reason:  "A user may allow the next revision.",
			records: []metav1.PartialObjectMetadata{record("foo", "foo", "1", "deployed")}, allowed: "2",
			request: "Secret foo/sh.helm.release.v1.foo.v1",
			denied: &holdv1alpha1.DeniedRevisions{
				Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-rollback"}, Except: []string{"2"},
			},
		},
		"AllowedOtherwise": {
			reason:  "Helm writes a revision without zeros before it, of which a user could write any number.",
			records: []metav1.PartialObjectMetadata{record("foo", "foo", "1", "deployed")}, allowed: strings.Repeat("0", 1<<18) + "2",
			request: "Secret foo/sh.helm.release.v1.foo.v1",
			denied:  &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-rollback"}}, crds: crds,
		},
		"AllowedBefore": {
			reason:  "What was allowed once does not allow another update.",
			records: []metav1.PartialObjectMetadata{record("foo", "foo", "2", "deployed")}, allowed: "2",
			request: "Secret foo/sh.helm.release.v1.foo.v2",
			denied:  &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-rollback"}}, crds: crds,
		},
		"FailedInstallation": {
			reason:    "A first installation that timed out runs as soon as a workload of it is available.",
			records:   []metav1.PartialObjectMetadata{record("foo", "foo", "1", "failed")},
			workloads: []installer.Workload{available(workload("Deployment", "foo", "foo"))},
			request:   "Deployment foo/foo",
			denied:    &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-install"}},
		},
		"FailedToStart": {
			reason:    "Before, another revision may repair it.",
			records:   []metav1.PartialObjectMetadata{record("foo", "foo", "1", "failed")},
			workloads: []installer.Workload{workload("Deployment", "foo", "foo")},
		},
		"RecordsDeleted": {
			reason:    "To install a release again that runs is an update of it.",
			workloads: []installer.Workload{available(workload("Deployment", "foo", "foo"))},
			request:   "Deployment foo/foo",
			denied:    &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-install", "pending-rollback"}},
		},
		"StoredElsewhere": {
			reason:    "Flux may keep the records anywhere, and replaces CustomResourceDefinitions before it writes one.",
			workloads: []installer.Workload{byFlux(available(workload("Deployment", "foo", "foo")), "foo")},
			request:   "Deployment foo/foo",
			denied:    &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-install", "pending-rollback"}},
			crds:      crds,
		},
		"Uninstalled": {
			reason:  "A release of which only the history is left may be installed again.",
			records: []metav1.PartialObjectMetadata{record("foo", "foo", "1", "superseded"), record("foo", "foo", "2", "uninstalled")},
			request: "Secret foo/sh.helm.release.v1.foo.v2",
			denied:  &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade"}},
		},
		"Installing":     {reason: "A first installation is not held.", records: []metav1.PartialObjectMetadata{record("foo", "foo", "1", "pending-install")}},
		"OtherNamespace": {reason: "Releases of other namespaces may have the name.", records: []metav1.PartialObjectMetadata{record("bar", "foo", "1", "deployed")}},
		"OtherRelease":   {reason: "Other releases do not count.", records: []metav1.PartialObjectMetadata{record("foo", "bar", "1", "deployed")}, workloads: []installer.Workload{workload("Deployment", "bar", "bar")}},
		"Flux": {
			reason:    "Flux keeps the records in the namespace of the HelmRelease, which may be another than that of the release.",
			records:   []metav1.PartialObjectMetadata{record("flux-system", "foo", "3", "deployed"), record("foo", "foo", "7", "failed")},
			workloads: []installer.Workload{byFlux(workload("Deployment", "foo", "foo"), "flux-system")},
			request:   "Deployment foo/foo",
			denied:    &holdv1alpha1.DeniedRevisions{Namespace: "flux-system", Release: "foo", Statuses: []string{"pending-upgrade", "pending-rollback"}}, crds: crds,
		},
		"Unrecorded": {
			reason:    "Records that cannot be read, such as those in a database, are not missed: the workloads are annotated.",
			workloads: []installer.Workload{workload("Deployment", "foo", "foo")}, request: "Deployment foo/foo",
			denied: &holdv1alpha1.DeniedRevisions{Namespace: "foo", Release: "foo", Statuses: []string{"pending-upgrade", "pending-rollback"}},
		},
		"Malformed": {
			reason:  "A record whose labels are not Helm's is no revision.",
			records: []metav1.PartialObjectMetadata{record("foo", "foo", "latest", "deployed")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			storage := foo.Namespace
			if by := ReleasedBy(foo, tc.workloads); len(by) > 0 {
				storage = by[0].Namespace
			}
			got := Find(foo, storage, tc.records, tc.workloads).Installed()
			if got == nil {
				if tc.request != "" {
					t.Fatalf("%s\nno version has run", tc.reason)
				}
				return
			}
			want := &holdv1alpha1.DeniedUpdates{Revisions: tc.denied, CustomResourceDefinitions: tc.crds}
			if diff := cmp.Diff(want, got.Denied(tc.allowed, crds)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if unrecorded := len(tc.records) == 0; got.Unrecorded != unrecorded {
				t.Errorf("%s\nit is unrecorded: %t", tc.reason, got.Unrecorded)
			}
			if got.Request.String() != tc.request {
				t.Errorf("%s\nupdates are allowed on %s, want %s", tc.reason, got.Request.Ref, tc.request)
			}
		})
	}
}

func TestReleasedBy(t *testing.T) {
	named := func(namespace, name string) installer.Workload {
		w := byFlux(workload("Deployment", namespace+name, "foo"), namespace)
		w.Labels["helm.toolkit.fluxcd.io/name"] = name
		return w
	}
	key := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	foreign := named("c", "a")
	foreign.Annotations = map[string]string{installer.AnnotationRelease: "bar", installer.AnnotationReleaseNamespace: "foo"}
	for name, tc := range map[string]struct {
		reason    string
		workloads []installer.Workload
		want      []types.NamespacedName
	}{
		"None":    {"Helm's command line sets no labels.", []installer.Workload{workload("Deployment", "foo", "foo")}, nil},
		"Own":     {"The records are in the namespace of the release.", []installer.Workload{named("foo", "a")}, nil},
		"Foreign": {"A workload of another release names another one.", []installer.Workload{foreign}, nil},
		"Several": {
			"A forged one does not hide that of Flux.", []installer.Workload{named("b", "a"), named("a", "b"), named("b", "a")},
			[]types.NamespacedName{key("a", "b"), key("b", "a")},
		},
		"Many": {
			"Whoever invents many makes them cheap to read.", []installer.Workload{named("b", "a"), named("b", "b"), named("b", "c"), named("b", "d"), named("b", "e"), named("c", "a")},
			[]types.NamespacedName{key("b", "a"), key("b", "b"), key("b", "c"), key("b", "d"), key("c", "a")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ReleasedBy(foo, tc.workloads)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOfWorkload(t *testing.T) {
	marked := func(namespace, name string) installer.Workload {
		w := workload("Deployment", "foo", name)
		w.Annotations[installer.AnnotationReleaseNamespace] = namespace
		return w
	}
	for name, tc := range map[string]struct {
		reason   string
		workload installer.Workload
		want     bool
	}{
		"Release":   {"Helm marks what it installs.", marked("foo", "foo.bar"), true},
		"None":      {"kubectl marks nothing.", marked("", ""), false},
		"Name":      {"No UpgradeHold could be named after it, so that a policy of an administrator would fail.", marked("foo", "Bad_Name"), false},
		"Long":      {"Helm allows no such name.", marked("foo", strings.Repeat("f", 54)), false},
		"Namespace": {"Nor is there such a namespace.", marked("Foo", "foo"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(OfWorkload(tc.workload)) == 1; got != tc.want {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
	for release, want := range map[string]int{"foo": 1, "Bad_Name": 0} {
		r := record("foo", release, "1", "deployed")
		if got := OfRecord(&r); len(got) != want {
			t.Errorf("the record of release %s is of %v", release, got)
		}
	}
}
