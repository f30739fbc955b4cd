package argocd

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/internal/installer"
)

func TestUnfinished(t *testing.T) {
	const (
		failed = `{"sync":{"status":"OutOfSync"},"operationState":{"phase":"Failed","message":"one or more objects failed to apply"}}`
		denied = `{"sync":{"status":"OutOfSync"},"operationState":{"phase":"Failed","message":"denied request: The update to x is held"}}`
	)
	tracked := map[string]string{"argocd.argoproj.io/tracking-id": "foo:apps/Deployment:foo/foo"}
	application := func(namespace, name, status string) installer.Object {
		out := &Application{}
		if err := json.Unmarshal([]byte(`{"status":`+status+`}`), out); err != nil {
			t.Fatal(err)
		}
		out.Namespace, out.Name = namespace, name
		return out
	}
	one := func(status string) []installer.Object {
		return []installer.Object{application("argocd", "foo", status)}
	}
	for name, tc := range map[string]struct {
		reason              string
		labels, annotations map[string]string
		objects             []installer.Object
		want                string
	}{
		"Synced":    {"It is applied.", nil, tracked, one(`{"sync":{"status":"Synced"},"operationState":{"phase":"Succeeded"}}`), ""},
		"OutOfSync": {"Nobody syncs a change in Git.", nil, tracked, one(`{"sync":{"status":"OutOfSync"},"operationState":{"phase":"Succeeded"}}`), ""},
		"New":       {"It has no status yet.", nil, tracked, one(`{}`), ""},
		"Failed":    {"A sync has failed.", nil, tracked, one(failed), "Application argocd/foo SyncFailed true: one or more objects failed to apply"},
		"Repaired": {
			"A failed sync does not matter once the cluster is as in Git.", nil, tracked,
			one(`{"sync":{"status":"Synced"},"operationState":{"phase":"Failed","message":"a hook failed"}}`), "",
		},
		"Running": {
			"A sync takes time.", nil, tracked, one(`{"operationState":{"phase":"Running","message":"waiting for healthy state of apps/Deployment/foo"}}`),
			"Application argocd/foo SyncRunning false: waiting for healthy state of apps/Deployment/foo",
		},
		"Retrying": {
			"A sync that is tried again has failed.", nil, tracked, one(`{"operationState":{"phase":"Running","message":"no","retryCount":2}}`),
			"Application argocd/foo SyncRunning true: no",
		},
		"Compared": {
			"What is in Git cannot be read.", nil, tracked,
			one(`{"conditions":[{"type":"OrphanedResourceWarning","message":"1"},{"type":"ComparisonError","message":"no such path"}]}`),
			"Application argocd/foo ComparisonError true: no such path, whatever its workloads do",
		},
		"Skipped": {
			"It does not sync, since that would delete everything.", nil, tracked,
			one(`{"sync":{"status":"OutOfSync"},"operationState":{"phase":"Succeeded"},"conditions":[{"type":"SyncError","message":"auto-sync will wipe out all resources"}]}`),
			"Application argocd/foo SyncError true: auto-sync will wipe out all resources",
		},
		"SyncedSince": {"A user has synced it since.", nil, tracked, one(`{"sync":{"status":"Synced"},"conditions":[{"type":"SyncError","message":"no"}]}`), ""},
		"Denied":      {"The UpgradeHold reports it.", nil, tracked, one(denied), ""},
		"Label":       {"Argo CD may track by label.", map[string]string{"argocd.argoproj.io/instance": "foo"}, nil, one(failed), "Application argocd/foo SyncFailed true: one or more objects failed to apply"},
		"Namespace": {
			"Applications of other namespaces than Argo CD's are tracked with it.", nil, map[string]string{"argocd.argoproj.io/tracking-id": "team_foo:apps/Deployment:foo/foo"},
			append(one(`{}`), application("team", "foo", failed)), "Application team/foo SyncFailed true: one or more objects failed to apply",
		},
		"Ambiguous": {"Each of two may have applied it.", nil, tracked, append(one(failed), application("other-argocd", "foo", failed)), ""},
		"Other":     {"It applies another operator.", nil, tracked, []installer.Object{application("argocd", "bar", failed)}, ""},
		"ByOther":   {"Argo CD does not apply it.", nil, nil, one(failed), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			applications := In(installer.Cluster{Objects: tc.objects})
			if u := applications.Unfinished([]installer.Workload{{Labels: tc.labels, Annotations: tc.annotations}}); u != nil {
				got = fmt.Sprintf("%s %s %t: %s", u, u.Reason, u.Broken, u.Message)
				if u.Invalid {
					got += ", whatever its workloads do"
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
