package installer

import "testing"

func TestVersion(t *testing.T) {
	for image, want := range map[string]string{
		"example.com:5000/foo:v1@sha256:0": "v1", "example.com:5000/foo": "", "foo": "", "foo@sha256:0": "", "foo:1.2": "1.2",
	} {
		if got := (Workload{Images: []string{image}}).Version(); got != want {
			t.Errorf("the version of %s is %q, want %q", image, got, want)
		}
	}
	labelled := Workload{Images: []string{"foo:1"}, Labels: map[string]string{"app.kubernetes.io/version": "2"}}
	if got := labelled.Version(); got != "2" {
		t.Errorf("the version is %q, want that of the label", got)
	}
}
