package gate

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/versionrange"
)

// TestVersions verifies which versions the annotation of a Subscription allows, and the message of the decision.
func TestVersions(t *testing.T) {
	const (
		annotation = "annotation operatorstatus.io/version of Subscription default/foo"
		beyond     = annotation + ` allows versions "<2.0.0". The update continues when the annotation allows 2.0.0`
		byProbe    = "Probe default/foo.v1 reports Upgradeable=False: Waiting"
		byUser     = "UpgradeHold audit holds the updates. The update continues when it is deleted"
		anyway     = ". To update anyway: " + allow
		allowed    = "The update to foo.v2 is allowed by annotation operatorstatus.io/allow-upgrade of Subscription default/foo. Without it, the update would be held: "
	)
	cases := map[string]struct {
		reason        string
		text, version string
		busy          bool // the Probe holds, too
		user          bool // a user does, too
		allow         bool // the annotation of the Subscription allows the version
		want          string
	}{
		"Without":  {reason: "Without the annotation, any version is allowed.", version: "2.0.0"},
		"Within":   {reason: "A version in the range is not held.", text: "<3.0.0", version: "2.0.0"},
		"Beyond":   {reason: "Any other is held.", text: "<2.0.0", version: "2.0.0", want: "The update to foo.v2 is held: " + beyond + anyway},
		"Busy":     {reason: "The Probe still counts within the range.", text: "<3.0.0", version: "2.0.0", busy: true, want: "The update to foo.v2 is held: " + byProbe + anyway},
		"Both":     {reason: "Both are named, with one command.", text: "<2.0.0", version: "2.0.0", busy: true, want: "The update to foo.v2 is held: " + beyond + "; " + byProbe + anyway},
		"User":     {reason: "Nothing overrides the hold of a user.", text: "<2.0.0", version: "2.0.0", user: true, want: "The update to foo.v2 is held: " + byUser + "; " + beyond},
		"Anyway":   {reason: "An administrator can allow one version.", text: "<2.0.0", version: "2.0.0", allow: true, want: allowed + beyond},
		"AnywayTo": {reason: "The annotation is named once.", text: "<2.0.0", version: "2.0.0", busy: true, allow: true, want: allowed + beyond + "; " + byProbe},
		"Unknown": {reason: "A version that is not known is held.", text: "<2.0.0", want: "The update to foo.v2 is held: " + annotation +
			` allows versions "<2.0.0", and that of foo.v2 is not known. The update continues when the annotation is removed` + anyway},
		"Invalid": {reason: "A mistake allows nothing.", text: "newest", version: "2.0.0", want: "The update to foo.v2 is held: " + annotation +
			` allows no version: "newest" is not a range of versions such as ">=1.2.0 <2.0.0": improper constraint: "newest". ` +
			"The update continues when the annotation is corrected" + anyway},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Inputs{
				Request: request("foo"), Running: version("foo.v1", ""), Target: "foo.v2", Versions: versionrange.Parse(tc.text), Version: tc.version,
			}
			if tc.busy {
				in.Probe = probe(synced(metav1.ConditionTrue), upgradeable(metav1.ConditionFalse, "Waiting"))
			}
			if tc.user {
				in.UpgradeHolds = []UserHold{{UpgradeHold: holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "audit"}}}}
			}
			if tc.allow {
				in.Request.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: "foo.v2"}
			}
			if got := Evaluate(in); got.Message != tc.want || got.Held != (tc.want != "" && !tc.allow) {
				t.Errorf("%s\nheld is %t, and the message %s\nwant %s", tc.reason, got.Held, got.Message, tc.want)
			}
		})
	}
}
