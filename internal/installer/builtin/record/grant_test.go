package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func ref(name string, uid types.UID, created bool) Reference {
	return Reference{Version: "v1", Kind: "PriorityClass", Name: name, UID: uid, Created: created}
}

func TestRemember(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		known, next Reference
		want        []Reference
	}{
		"Another":  {"References to different objects are both kept.", ref("a", "1", true), ref("b", "2", false), []Reference{ref("a", "1", true), ref("b", "2", false)}},
		"Written":  {"The UID of a created object is added to its reference.", ref("a", "", true), ref("a", "1", false), []Reference{ref("a", "1", true)}},
		"Again":    {"An object stays recorded as created if it is written again.", ref("a", "1", true), ref("a", "1", false), []Reference{ref("a", "1", true)}},
		"Intent":   {"The UID stays recorded if the object is about to be written again.", ref("a", "1", false), ref("a", "", true), []Reference{ref("a", "1", false)}},
		"Replaced": {"An object with another UID is recorded as not created.", ref("a", "1", true), ref("a", "2", false), []Reference{ref("a", "2", false)}},
	} {
		t.Run(name, func(t *testing.T) {
			grant := Grant{OutsideNamespace: []Reference{tc.known}}
			grant.Remember(tc.next)
			if diff := cmp.Diff(tc.want, grant.OutsideNamespace); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInherit(t *testing.T) {
	grant := Grant{OutsideNamespace: []Reference{ref("same", "1", false), ref("recreated", "2", false), ref("adopted", "3", false), ref("new", "4", true)}}
	grant.Inherit(&Grant{OutsideNamespace: []Reference{ref("same", "1", true), ref("recreated", "0", true), ref("adopted", "3", false)}})
	want := []Reference{ref("same", "1", true), ref("recreated", "2", false), ref("adopted", "3", false), ref("new", "4", true)}
	if diff := cmp.Diff(want, grant.OutsideNamespace); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
