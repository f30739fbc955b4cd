package resolve

import (
	"testing"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/versionrange"
)

// TestVersions verifies that only versions that the user allows are installed.
func TestVersions(t *testing.T) {
	jump := foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", replaces("foo.v1.0.0")), bundle("foo.v3.0.0", replaces("foo.v2.0.0"), skipRange("<3.0.0")))
	run(t, map[string]testCase{
		"First": {
			reason: "A first install chooses the newest allowed version.",
			sub:    Subscription{Versions: versionrange.Parse("<3.0.0")},
			in:     NamespaceState{Catalogs: chain()},
			want:   chosen("foo.v2.0.0 from stable of olm/community"),
		},
		"None": {
			reason: "It has a problem if no version is allowed.",
			sub:    Subscription{Versions: versionrange.Parse(">=4.0.0")},
			in:     NamespaceState{Catalogs: chain()},
			want: refused(v1alpha1.ReasonVersionNotAllowed, `Annotation operatorstatus.io/version allows versions ">=4.0.0", and channel stable of package foo has `+
				"none of them: it has 3.0.0, 2.0.0, 1.0.0"),
		},
		"OnlySkipped": {
			reason: "It has a problem if every allowed version is skipped by one that is not allowed.",
			sub:    Subscription{Versions: versionrange.Parse(">=1.0.0 <1.1.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v1.1.0", skips("foo.v1.0.0")))},
			want: refused(v1alpha1.ReasonVersionNotAllowed, `Annotation operatorstatus.io/version allows versions ">=1.0.0 <1.1.0", and of these, `+
				"channel stable of package foo has only 1.0.0, which other bundles of the channel skip: "+
				"to install a skipped one, set spec.startingCSV of the Subscription, for example to foo.v1.0.0"),
		},
		"StartingCSV": {
			reason: "Two settings that contradict each other are a problem.",
			sub:    Subscription{Versions: versionrange.Parse("<3.0.0"), StartingCSV: "foo.v3.0.0"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonVersionNotAllowed, `Annotation operatorstatus.io/version allows versions "<3.0.0", and spec.startingCSV is foo.v3.0.0`),
		},
		"StartingCSVNotFound": {
			reason: "One that does not exist is reported as such.",
			sub:    Subscription{Versions: versionrange.Parse("<3.0.0"), StartingCSV: "foo.v9.0.0"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonCSVNotInChannel, "Channel stable of package foo has no foo.v9.0.0: did you mean foo.v1.0.0?"),
		},
		"Update": {
			reason: "An update chooses the newest allowed version, even if a newer one could replace the installed one.",
			sub:    Subscription{Versions: versionrange.Parse("<3.0.0"), Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: jump},
			want: want{
				Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0", Beyond: "foo.v3.0.0",
			},
		},
		"Settled": {
			reason: "The newest allowed version stays, and the newest one is reported.",
			sub:    Subscription{Versions: versionrange.Parse("<3.0.0"), Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: jump},
			want:   want{Beyond: "foo.v3.0.0"},
		},
		"Between": {
			reason: "A version that can only be reached by one that is not allowed is not installed.",
			sub:    Subscription{Versions: versionrange.Parse("!=2.0.0"), Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: chain()},
			want: want{Beyond: "foo.v3.0.0", Note: "Channel stable of package foo offers foo.v3.0.0, but foo.v1.0.0 cannot be updated to it: " +
				`no bundle in the channel replaces or skips foo.v1.0.0, and annotation operatorstatus.io/version allows only versions "!=2.0.0"`},
		},
		"InstalledIsNot": {
			reason: "An installed version that is not allowed stays.",
			sub:    Subscription{Versions: versionrange.Parse("<2.0.0"), Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: chain()},
			want: want{Beyond: "foo.v3.0.0", Note: `foo.v2.0.0 is kept, although annotation operatorstatus.io/version allows only versions "<2.0.0": ` +
				"it cannot be updated to any of these"},
		},
		"Anyway": {
			reason: "An administrator can allow one version by name.",
			sub:    Subscription{Versions: versionrange.Parse("<3.0.0"), Anyway: "foo.v3.0.0", Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: jump},
			want:   want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v2.0.0"}, Newest: "foo.v3.0.0"},
		},
		"Invalid": {
			reason: "A mistake allows nothing.",
			sub:    Subscription{Versions: versionrange.Parse("newest"), Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: jump},
			want: refused(v1alpha1.ReasonVersionInvalid,
				`Annotation operatorstatus.io/version: "newest" is not a range of versions such as ">=1.2.0 <2.0.0": improper constraint: "newest"`),
		},
	})
}
