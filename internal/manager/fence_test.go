package manager

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lockOf is a lock whose writes fail as wanted.
type lockOf struct {
	resourcelock.Interface
	err error
}

func (lockOf) Identity() string                                                  { return "me" }
func (l lockOf) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }
func (l lockOf) Update(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }

func TestFence(t *testing.T) {
	type step struct {
		after  time.Duration // since the step before
		holder string        // in a renewal, or empty
		err    error
	}
	cases := map[string]struct {
		reason string
		steps  []step
		method string
		path   string
		sent   bool
	}{
		"Never":  {"A manager that never was the leader does not write.", nil, http.MethodPost, "/api/v1/events", false},
		"Leader": {"The leader writes after its Lease was acquired.", []step{{holder: "me"}}, http.MethodPut, "/x", true},
		"Renewed": {"The leader writes as long as it renews its Lease.", []step{{holder: "me"}, {after: 9 * time.Second, holder: "me"}, {after: 9 * time.Second}}, http.MethodPatch,
			"/x", true},
		"Stopped": {"A manager that did not renew its Lease does not write.", []step{{holder: "me"}, {after: time.Minute}}, http.MethodPatch, "/x", false},
		"Failed": {"A failed renewal does not extend the Lease.",
			[]step{{holder: "me"}, {after: 9 * time.Second, holder: "me", err: errors.New("conflict")}, {after: 2 * time.Second}}, http.MethodDelete, "/x", false},
		"Released": {"A manager that released its Lease does not write.", []step{{holder: "me"}, {holder: "nobody"}}, http.MethodPost, "/x", false},
		"Reads":    {"Reads are sent whether the manager is the leader or not.", nil, http.MethodGet, "/x", true},
		"Reviews":  {"Reviews are sent whether the manager is the leader or not, since they change nothing.", nil, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			f := newFence()
			f.now = func() time.Time { return now }
			for _, s := range tc.steps {
				now = now.Add(s.after)
				if s.holder != "" {
					_ = f.lock(lockOf{err: s.err}).Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: s.holder}) // it returns s.err
				}
			}
			sent := false
			next := roundTripper(func(*http.Request) (*http.Response, error) {
				sent = true
				return &http.Response{Body: http.NoBody}, nil
			})
			request, err := http.NewRequestWithContext(t.Context(), tc.method, "https://localhost"+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := f.wrap(next).RoundTrip(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if sent != tc.sent || sent == errors.Is(err, errNotLeader) {
				t.Errorf("%s\nsent: %t (%v)", tc.reason, sent, err)
			}
		})
	}
}
