package bridge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

func TestDenied(t *testing.T) {
	long := "bar.v" + strings.Repeat("1", 249)
	const like = `^foo\.v?[0-9]`
	cases := map[string]struct {
		reason                      string
		installed, current, allowed string
		want                        holdv1alpha1.DeniedInstallPlans
	}{
		"UpToDate": {
			"The version that runs is not denied.", "foo.v1", "foo.v1", "",
			holdv1alpha1.DeniedInstallPlans{Pattern: like, Except: []string{"foo.v1"}},
		},
		"Renamed": {
			"The next version may have another name.", "foo.v1", "bar.v2", "",
			holdv1alpha1.DeniedInstallPlans{Pattern: like, Versions: []string{"bar.v2"}, Except: []string{"foo.v1"}},
		},
		"Allowed": {
			"A user may allow a version.", "foo.v1", "foo.v2", "foo.v2",
			holdv1alpha1.DeniedInstallPlans{Pattern: like, Versions: []string{"foo.v2"}, Except: []string{"foo.v1", "foo.v2"}},
		},
		"LongName": {
			"A catalog does not end the hold by a name that the API server cannot store.", "foo.v1", long, "",
			holdv1alpha1.DeniedInstallPlans{Pattern: ".*", Except: []string{"foo.v1"}},
		},
		"LongAllowed": {
			"No ClusterServiceVersion can have a name that is longer than those of objects.", "foo.v1", "foo.v2", long,
			holdv1alpha1.DeniedInstallPlans{Pattern: like, Versions: []string{"foo.v2"}, Except: []string{"foo.v1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.want.Namespace = "default"
			got := Denied(subscribing("sub", tc.installed, tc.current), csv("foo.v1", ""), tc.allowed)
			if diff := cmp.Diff(&holdv1alpha1.DeniedUpdates{InstallPlans: &tc.want}, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
