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
			reason:  "A platform of nothing is installed at once: the installation of a cluster does not wait for it.",
			current: first, release: "1.0.0", want: none,
			words: "No PlatformOperator exists",
		},
		"none, later": {
			reason:  "And stays so.",
			current: later, release: "1.0.0", want: none,
			words: "No PlatformOperator exists",
		},
		"the next, none": {
			reason:  "There is no PlatformOperator to wait for.",
			current: later, release: "2.0.0", want: strings.Replace(none, "1.0.0", "2.0.0", 1),
			words: "No PlatformOperator exists",
		},
		"the next, all installed": {
			reason:    "PlatformOperators do not come with the release: that all are installed is all there is to wait for.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("foo"), healthy("bar")}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=2.0.0",
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"the next, one missing": {
			reason:    "The update of the cluster waits for the missing one, and the message names it. Available stays True.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, release: "2.0.0",
			want: "Available=True/PlatformOperatorsInstalled Progressing=True/ReleaseUpdating Degraded=False/AsExpected version=1.0.0",
			words: "Updating from release 1.0.0 to 2.0.0. Waiting for 1 of 2 PlatformOperators: " +
				"bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
		"the next, one updating": {
			reason:    "One that is being updated is installed, and may not be what the release has it be.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar", withCondition("Progressing", "True/"+beingMoved))}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=True/ReleaseUpdating Degraded=False/AsExpected version=1.0.0",
			words: "Updating from release 1.0.0 to 2.0.0. Waiting for 1 of 1 PlatformOperators: bar (Updating): bar.v2 is being installed",
		},
		"the next, one changed": {
			reason:    "What a changed spec leads to is not known yet.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar", func(p *platformv1alpha1.PlatformOperator) { p.Generation++ })}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=True/ReleaseUpdating Degraded=False/AsExpected version=1.0.0",
			words: "Updating from release 1.0.0 to 2.0.0. Waiting for 1 of 1 PlatformOperators: bar has changed and has not been reconciled since",
		},
		"the next, ahead": {
			reason:  "The Cluster Version Operator has not come to this component: it may have yet to apply another PlatformOperator.",
			current: later, ahead: true,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=1.0.0",
			words: "Every PlatformOperator is installed, and none is being updated. Release 2.0.0 is reported once the Cluster Version Operator waits for this ClusterOperator",
		},
		"the next, ahead, at first": {
			reason:  "A ClusterOperator that is created meanwhile reports the release that was completed.",
			current: first, ahead: true,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=1.0.0",
			words: "Every PlatformOperator is installed, and none is being updated. Release 2.0.0 is reported once the Cluster Version Operator waits for this ClusterOperator",
		},
		"not known, at first": {
			reason:    "Without a version there is nothing to remember the installation by.",
			current:   first,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")},
			want:      "Available=False/PlatformOperatorsInstalling Progressing=True/PlatformOperatorsInstalling Degraded=False/AsExpected",
			words:     "Waiting for the release of the cluster to be known",
		},
		"not known, later": {
			reason:    "A version that was reached is not erased.",
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
			reason:  "The Cluster Version Operator creates the object, and what the release names is not there yet.",
			current: related("foo", "bar"), want: waits,
			words: "Waiting for 2 of 2 PlatformOperators: bar is part of the release, but does not exist; foo is part of the release, but does not exist",
		},
		"precreated, long ago": {
			reason:  "However long it takes.",
			current: related("foo"), age: time.Hour, want: waits,
			words: "Waiting for 1 of 1 PlatformOperators: foo is part of the release, but does not exist",
		},
		"some are there": {
			reason:  "One that has installed does not stand for those that are to come.",
			current: related("foo", "bar"), operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, want: waits,
			words: "Waiting for 1 of 2 PlatformOperators: bar is part of the release, but does not exist",
		},
		"all are there": {
			reason:  "What the release names is installed.",
			current: related("foo", "bar"), operators: []platformv1alpha1.PlatformOperator{healthy("foo"), healthy("bar")}, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"one more than the release has": {
			reason:  "Others count as well while they are there.",
			current: related("foo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, want: waits,
			words: "Waiting for 1 of 2 PlatformOperators: bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
		"being deleted": {
			reason:  "One that is being deleted is not there.",
			current: related("foo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", deleting)}, want: waits,
			words: "Waiting for 1 of 1 PlatformOperators: foo is part of the release, but does not exist",
		},
		"withdrawn": {
			reason:  "The version was written before the last of them was applied: it is withdrawn, and Available with it.",
			current: written("foo", ""), operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, want: waits,
			words: "Waiting for 1 of 2 PlatformOperators: bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
		"unnamed, at once": {
			reason:  "A release that names none may be about to apply some: the version waits.",
			current: related(""), age: 10 * time.Second, want: strings.ReplaceAll(waits, "Degraded=False/AsExpected", "Degraded=False/NoPlatformOperators"),
			words: "Waiting for the PlatformOperators of the release to be created", lasts: 20 * time.Second,
		},
		"unnamed, later": {
			reason:  "Nothing came, so nothing is expected.",
			current: related(""), age: 30 * time.Second, want: none, words: "No PlatformOperator exists",
		},
		"unnamed, one there": {
			reason:  "One that is there is waited for, and nothing else.",
			current: related(""), operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"without related objects, at once": {
			reason: "The Cluster Version Operator writes them a moment after it created the object, and gives way to other writers.",
			age:    time.Second, operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, lasts: 29 * time.Second,
		},
		"without related objects, later": {
			reason: "The object was created without related objects, and none are expected any more.",
			age:    30 * time.Second, operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"completed, one gone": {
			reason:  "Afterwards an admin may delete one.",
			current: written("foo", "bar"), operators: []platformv1alpha1.PlatformOperator{healthy("foo")}, completed: true, want: done,
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"completed, one added": {
			reason:  "Afterwards one that is added makes nothing unavailable.",
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
				t.Errorf("%s\nit lasts %s; want %s", tc.reason, lasts, tc.lasts)
			}
			if tc.want != "" && !tc.completed {
				if diff := cmp.Diff(tc.current.RelatedObjects, got.RelatedObjects); diff != "" && len(tc.current.RelatedObjects) > 0 {
					t.Errorf("what the release names is kept until the installation completes:\n%s", diff)
				}
			}
		})
	}
}
