package clusteroperator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestRelease verifies the version and conditions when the release of the cluster changes.
func TestRelease(t *testing.T) {
	missing := healthy("bar", withCondition("Installed", "False/"+onItsWay))
	for name, tc := range map[string]struct {
		reason    string
		current   configv1.ClusterOperatorStatus
		operators []platformv1alpha1.PlatformOperator
		release   string
		ahead     bool
		want      string
		words     string // the message of Progressing
	}{
		"none, at first": {
			reason:  "The installation of a cluster does not wait if no PlatformOperator exists.",
			current: first, release: "1.0.0", want: none,
			words: "No PlatformOperator exists",
		},
		"none, later": {
			reason:  "The status is unchanged later if no PlatformOperator exists.",
			current: later, release: "1.0.0", want: none,
			words: "No PlatformOperator exists",
		},
		"the next, none": {
			reason:  "A new release is reported at once if no PlatformOperator exists.",
			current: later, release: "2.0.0", want: strings.Replace(none, "1.0.0", "2.0.0", 1),
			words: "No PlatformOperator exists",
		},
		"the next, all installed": {
			reason:    "A new release is reported if all PlatformOperators are installed, since they are not part of it.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("foo"), healthy("bar")}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=2.0.0",
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"the next, one missing": {
			reason:    "An update of the cluster waits for a PlatformOperator that is not installed, and Available stays True.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, release: "2.0.0",
			want: "Available=True/PlatformOperatorsInstalled Progressing=True/ReleaseUpdating Degraded=False/AsExpected version=1.0.0",
			words: "Updating from release 1.0.0 to 2.0.0. Waiting for 1 of 2 PlatformOperators: " +
				"bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
		"the next, one updating": {
			reason:    "An update of the cluster waits for a PlatformOperator that is being updated.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar", withCondition("Progressing", "True/"+beingMoved))}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=True/ReleaseUpdating Degraded=False/AsExpected version=1.0.0",
			words: "Updating from release 1.0.0 to 2.0.0. Waiting for 1 of 1 PlatformOperators: bar (Updating): bar.v2 is being installed",
		},
		"the next, one changed": {
			reason:    "An update of the cluster waits for a PlatformOperator whose changed spec was not reconciled.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar", func(p *platformv1alpha1.PlatformOperator) { p.Generation++ })}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=True/ReleaseUpdating Degraded=False/AsExpected version=1.0.0",
			words: "Updating from release 1.0.0 to 2.0.0. Waiting for 1 of 1 PlatformOperators: bar has changed and has not been reconciled since",
		},
		"the next, ahead": {
			reason:  "The new release is not reported before the CVO waits for this ClusterOperator, since it may still apply a PlatformOperator.",
			current: later, ahead: true,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=1.0.0",
			words: "Every PlatformOperator is installed, and none is being updated. Release 2.0.0 is reported once the Cluster Version Operator waits for this ClusterOperator",
		},
		"the next, ahead, at first": {
			reason:  "A ClusterOperator that is created during an update reports the previous release.",
			current: first, ahead: true,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=1.0.0",
			words: "Every PlatformOperator is installed, and none is being updated. Release 2.0.0 is reported once the Cluster Version Operator waits for this ClusterOperator",
		},
		"not known, at first": {
			reason:    "The installation is not complete while the release is unknown, since the version would be empty.",
			current:   first,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")},
			want:      "Available=False/PlatformOperatorsInstalling Progressing=True/PlatformOperatorsInstalling Degraded=False/AsExpected",
			words:     "Waiting for the release of the cluster to be known",
		},
		"not known, later": {
			reason:    "The version is kept while the release is unknown.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")},
			want:      "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=1.0.0",
			words:     "Every PlatformOperator is installed, and none is being updated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := checked(t, Inputs{Current: tc.current, Operators: tc.operators, Cluster: Cluster{Release: tc.release, Reached: !tc.ahead, Former: "1.0.0"}, Now: now})
			if got := reader(got); got != tc.want {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.want, got)
			}
			if got := message(got, "Progressing"); got != tc.words {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.words, got)
			}
		})
	}
}

// TestFirstInstallation verifies which PlatformOperators are expected during the first installation of the cluster.
func TestFirstInstallation(t *testing.T) {
	const waits = "Available=False/PlatformOperatorsInstalling Progressing=True/PlatformOperatorsInstalling Degraded=False/AsExpected"
	const done = "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=1.0.0"
	related := func(names ...string) configv1.ClusterOperatorStatus {
		out := configv1.ClusterOperatorStatus{RelatedObjects: []configv1.ObjectReference{{Resource: "namespaces", Name: "operator-status-system"}}}
		for _, name := range names {
			out.RelatedObjects = append(out.RelatedObjects, configv1.ObjectReference{Group: "platform.openshift.io", Resource: "platformoperators", Name: name})
		}
		return out
	}
	written := func(names ...string) configv1.ClusterOperatorStatus {
		out := *later.DeepCopy()
		out.RelatedObjects = related(names...).RelatedObjects
		return out
	}
	missing := healthy("bar", withCondition("Installed", "False/"+onItsWay))
	for name, tc := range map[string]struct {
		reason    string
		current   configv1.ClusterOperatorStatus
		age       time.Duration
		operators []platformv1alpha1.PlatformOperator
		completed bool
		want      string
		words     string // the message of Progressing
		lasts     time.Duration
	}{
		"precreated": {
			reason:  "The installation waits for PlatformOperators that the release contains and that do not exist yet.",
			current: related("foo", "bar"), want: waits,
			words: "Waiting for 2 of 2 PlatformOperators: bar is part of the release, but does not exist; foo is part of the release, but does not exist",
		},
		"precreated, long ago": {
			reason:  "The wait for PlatformOperators of the release is not limited in time.",
			current: related("foo"), age: time.Hour, want: waits,
			words: "Waiting for 1 of 1 PlatformOperators: foo is part of the release, but does not exist",
		},
		"some are there": {
			reason:  "The installation waits for the other PlatformOperators of the release if one is installed.",
			current: related("foo", "bar"), operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, want: waits,
			words: "Waiting for 1 of 2 PlatformOperators: bar is part of the release, but does not exist",
		},
		"all are there": {
			reason:  "The installation is complete once all PlatformOperators of the release are installed.",
			current: related("foo", "bar"), operators: []platformv1alpha1.PlatformOperator{healthy("foo"), healthy("bar")}, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"one more than the release has": {
			reason:  "The installation waits for a PlatformOperator that is not part of the release.",
			current: related("foo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, want: waits,
			words: "Waiting for 1 of 2 PlatformOperators: bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
		"being deleted": {
			reason:  "A PlatformOperator of the release that is being deleted does not exist.",
			current: related("foo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", deleting)}, want: waits,
			words: "Waiting for 1 of 1 PlatformOperators: foo is part of the release, but does not exist",
		},
		"withdrawn": {
			reason:  "The version is removed and Available is False if another PlatformOperator of the release is applied later.",
			current: written("foo", ""), operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, want: waits,
			words: "Waiting for 1 of 2 PlatformOperators: bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
		"unnamed, at once": {
			reason:  "The installation waits for a while if the release names no PlatformOperator, since it may still apply some.",
			current: related(""), age: 10 * time.Second, want: strings.ReplaceAll(waits, "Degraded=False/AsExpected", "Degraded=False/NoPlatformOperators"),
			words: "Waiting for the PlatformOperators of the release to be created", lasts: 20 * time.Second,
		},
		"unnamed, later": {
			reason:  "The installation is complete if no PlatformOperator was applied in time.",
			current: related(""), age: 30 * time.Second, want: none, words: "No PlatformOperator exists",
		},
		"unnamed, one there": {
			reason:  "The installation waits only for existing PlatformOperators if the release names none.",
			current: related(""), operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"without related objects, at once": {
			reason: "The installation waits for the related objects, which the CVO writes shortly after it created the ClusterOperator.",
			age:    time.Second, operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, lasts: 29 * time.Second,
		},
		"without related objects, later": {
			reason: "No PlatformOperator is expected if the related objects were not written in time.",
			age:    30 * time.Second, operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"completed, one gone": {
			reason:  "A PlatformOperator of the release may be deleted after the installation.",
			current: written("foo", "bar"), operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, completed: true, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"completed, one added": {
			reason:  "A PlatformOperator that is added after the installation leaves Available True.",
			current: written("foo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, completed: true,
			want:  "Available=True/PlatformOperatorsInstalled Progressing=True/PlatformOperatorsUpdating Degraded=False/AsExpected version=1.0.0",
			words: "Waiting for 1 of 2 PlatformOperators: bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Current: tc.current, Created: *before(tc.age), Operators: tc.operators, DegradedInertia: inertia, Now: now}
			in.Cluster = Cluster{Release: "1.0.0", Installing: !tc.completed, Reached: tc.completed}
			got, lasts := Compute(in)
			if got := reader(got); got != tc.want {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.want, got)
			}
			if got := message(got, "Progressing"); got != tc.words {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.words, got)
			}
			if lasts != tc.lasts {
				t.Errorf("%s\nrecomputed after %s; want %s", tc.reason, lasts, tc.lasts)
			}
			if tc.want != "" && !tc.completed {
				if diff := cmp.Diff(tc.current.RelatedObjects, got.RelatedObjects); diff != "" && len(tc.current.RelatedObjects) > 0 {
					t.Errorf("related objects of the release until the installation completes:\n%s", diff)
				}
			}
		})
	}
}
