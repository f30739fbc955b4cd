package cli

import (
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	const manager = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: operator-status-system, name: manager, labels: {app.kubernetes.io/name: operator-status}}
spec: {replicas: 2, template: {spec: {containers: [{name: manager, image: "example.com/operator-status:1.2.0"}]}}}
status: {availableReplicas: 1}
`
	cases := map[string]struct {
		reason, more string
		args         []string
		want         string
	}{
		"Both":         {"The Deployment of the manager names the version on the cluster.", manager, nil, "Client Version: " + Version + "\nServer Version: 1.2.0 (Deployment operator-status-system/manager: 1 of 2 pods available)\n"},
		"Label":        {"The label is the version of a release, whose image is a digest.", strings.NewReplacer(":1.2.0", "@sha256:1", "name: operator-status}", "name: operator-status, app.kubernetes.io/version: 1.3.0}").Replace(manager), nil, "Client Version: " + Version + "\nServer Version: 1.3.0 (Deployment operator-status-system/manager: 1 of 2 pods available)\n"},
		"NotInstalled": {"The command line works without it.", "", nil, "Client Version: " + Version + "\nServer Version: operator-status is not installed\n"},
		"Client":       {"The version of the command line needs no cluster.", manager, []string{"--client"}, "Client Version: " + Version + "\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if out, errs, code := onOperators(t, tc.more, append([]string{"version"}, tc.args...)...); out != tc.want || code != exitOK {
				t.Errorf("%s\nexit code %d, %s\n%s\nwant\n%s", tc.reason, code, errs, out, tc.want)
			}
		})
	}
}
