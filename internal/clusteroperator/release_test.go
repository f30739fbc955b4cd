package clusteroperator

import (
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestRelease is about what becomes of a release.
func TestRelease(t *testing.T) {
	missing := healthy("bar", says("Installed", "False/"+onItsWay))
	for name, tc := range map[string]struct {
		reason    string
		current   configv1.ClusterOperatorStatus
		operators []platformv1alpha1.PlatformOperator
		release   string
		want      string
		words     string // the message of Progressing
	}{
		"none, at first": {
			reason:  "A platform of nothing is installed at once: the installation of a cluster does not wait for it.",
			current: first, release: "1.0.0", want: none,
			words: "There are no PlatformOperators",
		},
		"none, later": {
			reason:  "And stays so.",
			current: later, release: "1.0.0", want: none,
			words: "There are no PlatformOperators",
		},
		"the next, none": {
			reason:  "There is nobody to wait for.",
			current: later, release: "2.0.0", want: strings.Replace(none, "1.0.0", "2.0.0", 1),
			words: "There are no PlatformOperators",
		},
		"the next, all installed": {
			reason:    "PlatformOperators do not come with the release: that all are installed is all there is to wait for.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("foo"), healthy("bar")}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled Degraded=False/AsExpected version=2.0.0",
			words: "Every PlatformOperator is installed, and none is being updated",
		},
		"the next, one missing": {
			reason:    "The update of the cluster waits for the one, and is told which. It is still available.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("foo"), missing}, release: "2.0.0",
			want: "Available=True/PlatformOperatorsInstalled Progressing=True/ReleaseUpdating Degraded=False/AsExpected version=1.0.0",
			words: "On the way from release 1.0.0 to 2.0.0. Waiting for 1 of 2 PlatformOperators: " +
				"bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
		},
		"the next, one updating": {
			reason:    "One that is being updated is installed.",
			current:   later,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar", says("Progressing", "True/"+beingMoved))}, release: "2.0.0",
			want:  "Available=True/PlatformOperatorsInstalled Progressing=True/PlatformOperatorsUpdating Degraded=False/AsExpected version=2.0.0",
			words: "Waiting for 1 of 1 PlatformOperators: bar (Updating): bar.v2 is being installed",
		},
		"not known, at first": {
			reason:    "Without a version there is nothing to remember the installation by.",
			current:   first,
			operators: []platformv1alpha1.PlatformOperator{healthy("bar")},
			want:      "Available=False/PlatformOperatorsInstalling Progressing=True/PlatformOperatorsInstalling Degraded=False/AsExpected",
			words:     "Waiting to be told the release of the cluster",
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
			got := checked(t, Inputs{Current: tc.current, Operators: tc.operators, Release: tc.release, Now: now})
			if got := reader(got); got != tc.want {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.want, got)
			}
			if got := message(got, "Progressing"); got != tc.words {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.words, got)
			}
		})
	}
}
