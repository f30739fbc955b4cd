package gate

import "testing"

func TestGist(t *testing.T) {
	const by = "Probe default/foo.v1"
	for name, tc := range map[string]struct{ reason, message, want string }{
		"reported":     {"Version and reporter are known.", "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: Waiting", "Waiting"},
		"other update": {"It is about another version.", "The update to foo.v3 is held: Waiting", "The update to foo.v3 is held: Waiting"},
		"other cause":  {"The whole cause is needed.", "The update to foo.v2 is held: Probe default/foo.v1 does not exist", "Probe default/foo.v1 does not exist"},
		"no message":   {"Something has to be said.", "Probe default/foo.v1 reports Upgradeable=False", "Probe default/foo.v1 reports Upgradeable=False"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Gist(tc.message, "foo.v2", by); got != tc.want {
				t.Errorf("%s It is %q, want %q.", tc.reason, got, tc.want)
			}
		})
	}
}
