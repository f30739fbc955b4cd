package csvchain

import (
	"regexp"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestNamesLike(t *testing.T) {
	cases := map[string]struct {
		reason, name, version string
		matches, others       []string
	}{
		"Usual":       {"Names differ in the version.", "foo.v1.0.0", "1.0.0", []string{"foo.v2.0.0", "foo.1.1.0"}, []string{"foo-bar.v1.0.0", "foo.bar.v1", "bar.v1"}},
		"WithoutV":    {"Some names have no v.", "foo.1.0.0", "1.0.0", []string{"foo.1.1.0", "foo.v1.1.0"}, []string{"foobar.1.0.0"}},
		"Dash":        {"Nor does a dot have to separate the version.", "foo-v1.0.0", "1.0.0", []string{"foo-v1.1.0"}, []string{"foo-bar-v1.0.0"}},
		"Prerelease":  {"A version may have more parts.", "foo.v1.0.0-rc.1", "1.0.0-rc.1", []string{"foo.v1.0.0"}, []string{"bar.v1.0.0-rc.1"}},
		"OtherOne":    {"The version may be another than that of the name.", "foo.v1", "1.0.0", []string{"foo.v2"}, []string{"bar.v2"}},
		"NoneAtAll":   {"Without a version, any name may be that of an update.", "foo", "1.0.0", []string{"foo", "bar"}, nil},
		"OnlyVersion": {"As is one that is only a version.", "v1.0.0", "1.0.0", []string{"v1.1.0", "bar"}, nil},
		"Quoted":      {"A name is no expression.", "f.o.v1.0.0", "1.0.0", []string{"f.o.v2"}, []string{"fxo.v2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			running := csv(tc.name, "", "Succeeded")
			running.Spec.Version.Version = semver.MustParse(tc.version)
			like := regexp.MustCompile(NamesLike(running))
			for _, other := range tc.matches {
				if !like.MatchString(other) {
					t.Errorf("%s\n%s does not match %s", tc.reason, like, other)
				}
			}
			for _, other := range tc.others {
				if like.MatchString(other) {
					t.Errorf("%s\n%s matches %s", tc.reason, like, other)
				}
			}
		})
	}
}

func TestDeniedUpdate(t *testing.T) {
	const by = `error ensuring InstallPlan: installplans.operators.coreos.com "install-x" is forbidden: ValidatingAdmissionPolicy ` +
		`'operator-status-hold-installplans' with binding 'operator-status-hold-installplans' denied request: `
	cases := map[string]struct {
		reason   string
		message  string
		csvs     []string
		versions []string
		update   string
	}{
		"One":       {"The message names the update.", by + "The update to foo.v2.0.0 is held: Probe x", nil, []string{"foo.v2.0.0"}, "foo.v2.0.0"},
		"Neighbour": {"The update of a neighbour is not its own.", by + "The update to bar.v2.0.0 is held: x", nil, []string{"bar.v2.0.0"}, ""},
		"Together": {"A plan may install more than what is held.", by + "The update to bar.v2.0.0, baz.v3, in one InstallPlan with foo.v2.0.0, new.v1, is held: x", nil,
			[]string{"bar.v2.0.0", "baz.v3", "foo.v2.0.0", "new.v1"}, "foo.v2.0.0"},
		"Installed":   {"It may have been installed since.", by + "The update to foo.v2.0.0 is held: x", []string{"foo.v2.0.0:Succeeded"}, []string{"foo.v2.0.0"}, ""},
		"OtherPolicy": {"Another policy may deny a plan, too.", `ValidatingAdmissionPolicy 'theirs' denied request: The update to foo.v2.0.0 is held: x`, nil, nil, ""},
		"Hostile":     {"A name that is none does not get into a command.", by + "The update to foo.v2;reboot is held: x", nil, []string{"foo.v2;reboot"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			running := csv("foo.v1.0.0", "", "Succeeded")
			running.Spec.Version.Version = semver.MustParse("1.0.0")
			sub := &v1alpha1.Subscription{}
			sub.Status.SetCondition(v1alpha1.SubscriptionCondition{Type: unpackFailed, Status: corev1.ConditionTrue, Reason: reasonPlanDenied, Message: tc.message})
			if diff := cmp.Diff(tc.versions, DeniedVersions(sub)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if got := DeniedUpdate(sub, running, chain(tc.csvs...)); got != tc.update {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.update)
			}
		})
	}
}

func TestVersionNamed(t *testing.T) {
	cases := map[string]struct{ reason, running, version, name, want string }{
		"Usual":      {"Names differ in the version.", "foo.v1.0.0", "1.0.0", "foo.v2.0.0", "2.0.0"},
		"WithoutV":   {"Some names have no v.", "foo.1.0.0", "1.0.0", "foo.1.1.0", "1.1.0"},
		"FromV":      {"Or not always.", "foo.v1.0.0", "1.0.0", "foo.1.1.0", "1.1.0"},
		"Prerelease": {"A version may have more parts.", "foo.v1.0.0", "1.0.0", "foo.v1.1.0-0.1664+a", "1.1.0-0.1664+a"},
		"Another":    {"That of another operator is not known.", "foo.v1.0.0", "1.0.0", "bar.v2.0.0", ""},
		"None":       {"Nor is that of a name without one.", "foo", "1.0.0", "foo.v2.0.0", ""},
		"OnlyThat":   {"Nor are those of names without anything else.", "v1.0.0", "1.0.0", "v2.0.0", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			running := csv(tc.running, "", "Succeeded")
			running.Spec.Version.Version = semver.MustParse(tc.version)
			if got := VersionNamed(tc.name, running); got != tc.want {
				t.Errorf("%s\n%q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
