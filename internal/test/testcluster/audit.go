package testcluster

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/manager"
)

// Request is an audit event of the API server for a request that it has answered.
type Request struct {
	Verb      string           `json:"verb"`
	URI       string           `json:"requestURI"`
	UserAgent string           `json:"userAgent"`
	Stage     string           `json:"stage"`
	Received  metav1.MicroTime `json:"requestReceivedTimestamp"`
	ObjectRef ObjectRef        `json:"objectRef"`
	Response  struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Impersonee struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	User struct {
		Extra map[string][]string `json:"extra"`
	} `json:"user"`
}

// ObjectRef identifies the object or collection of a request.
type ObjectRef struct {
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// String returns the time, verb, URI and response code.
func (r Request) String() string {
	return fmt.Sprintf("%s %s %s: %d", r.Received.Format(time.StampMilli), r.Verb, r.URI, r.Response.Code)
}

// IsWrite reports whether the request changes the API server's state.
func (r Request) IsWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// IsConflict reports whether the request was rejected because the object had changed in the meantime.
func (r Request) IsConflict() bool { return r.Response.Code == http.StatusConflict }

// IsWork reports whether the request is neither a watch nor about a Lease, which leaders renew all the time.
func (r Request) IsWork() bool { return r.Verb != "watch" && r.ObjectRef.Resource != "leases" }

// Pod returns the name of the pod whose token the request has, or empty.
func (r Request) Pod() string {
	return strings.Join(r.User.Extra["authentication.kubernetes.io/pod-name"], "")
}

// By reports whether the user agent of the request starts with agent.
func (r Request) By(agent string) bool { return strings.HasPrefix(r.UserAgent, agent) }

// Requests returns the requests that the API server has received from the manager since then, including those in which
// it impersonates another user, but without those on Leases.
func (c *Cluster) Requests(t testing.TB, since time.Time) []Request {
	t.Helper()
	return slices.DeleteFunc(c.RequestsOf(t, since, manager.UserAgent), func(r Request) bool { return r.ObjectRef.Resource == "leases" })
}

// RequestsOf returns the requests received since then from clients whose user agent starts with one of agents.
func (c *Cluster) RequestsOf(t testing.TB, since time.Time, agents ...string) []Request {
	t.Helper()
	requests, err := c.audit.read()
	if err != nil {
		t.Fatal(err)
	}
	var out []Request
	for _, r := range requests {
		if slices.ContainsFunc(agents, r.By) && !r.Received.Time.Before(since) {
			out = append(out, r)
		}
	}
	return out
}

// auditLog reads an API server's audit log. It keeps the requests, because a suite reads the log hundreds of times while it
// grows to hundreds of megabytes.
type auditLog struct {
	path string

	mu       sync.Mutex
	offset   int64
	requests []Request
}

// read returns the answered requests, in the order of the answers. Callers must not change the slice.
func (l *auditLog) read() ([]Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return l.requests, nil // the last line is incomplete: it is still being written
		}
		if err != nil {
			return nil, err
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", l.path, err, line)
		}
		l.offset += int64(len(line))
		if r.Stage != "ResponseStarted" {
			l.requests = append(l.requests, r)
		}
	}
}

// AwaitIdle waits until the manager, or the clients with the given user agents, have sent no requests other than
// watches and renewals of Leases for the duration quiet. It returns the current time.
func (c *Cluster) AwaitIdle(t testing.TB, quiet time.Duration, agents ...string) time.Time {
	t.Helper()
	if len(agents) == 0 {
		agents = []string{manager.UserAgent}
	}
	began := time.Now()
	last, looked := began, began
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, Timeout, true, func(context.Context) (bool, error) {
		for _, r := range c.RequestsOf(t, last, agents...) {
			if r.IsWork() && r.Received.After(last) {
				last = r.Received.Time
			}
		}
		now := time.Now()
		if now.Sub(looked) > quiet/2 { // the machine stood still, and the clients with it
			last = now
		}
		looked = now
		return now.Sub(last) > quiet, nil
	})
	if err != nil {
		t.Fatalf("%v does not come to rest: %v\n%s", agents, err, Tally(c.RequestsOf(t, began, agents...)))
	}
	return time.Now()
}

// AwaitNoneTerminating waits until no namespace of an earlier test is terminating: the manager reconciles each deletion in it.
func (c *Cluster) AwaitNoneTerminating(t testing.TB) {
	t.Helper()
	list := &corev1.NamespaceList{}
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Client.List(ctx, list); err != nil {
			return false, nil
		}
		return !slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool { return !n.DeletionTimestamp.IsZero() }), nil
	})
	if err != nil {
		t.Fatalf("a namespace of an earlier test is still terminating: %v\n%+v", err, list.Items)
	}
}

// Tally counts the requests that are work, the most frequent first.
func Tally(requests []Request) string {
	counts := map[string]int{}
	for _, r := range requests {
		if r.IsWork() {
			o := r.ObjectRef
			counts[fmt.Sprintf("%s %s/%s %s/%s: %d", r.Verb, o.Resource, o.Subresource, o.Namespace, o.Name, r.Response.Code)]++
		}
	}
	var out strings.Builder
	for i, which := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		if i == 40 {
			fmt.Fprintf(&out, "and %d others\n", len(counts)-i)
			break
		}
		fmt.Fprintf(&out, "%d times %s\n", counts[which], which)
	}
	return out.String()
}

// AwaitSynced waits until all Probes are Synced. One that could not be read yet, for example because its operator had no
// permissions yet, is retried after pauses that AwaitIdle takes for rest.
func (c *Cluster) AwaitSynced(t testing.TB) {
	t.Helper()
	probes := &v1alpha1.ProbeList{}
	var unsynced []string
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Client.List(ctx, probes); err != nil {
			return false, err
		}
		unsynced = nil
		for _, p := range probes.Items {
			if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionSynced) {
				unsynced = append(unsynced, fmt.Sprintf("%s/%s: %+v", p.Namespace, p.Name, p.Status.Conditions))
			}
		}
		return len(unsynced) == 0, nil
	})
	if err != nil {
		t.Fatalf("not all Probes are Synced: %v\n%s", err, strings.Join(unsynced, "\n"))
	}
}

// CheckTakeover waits until a manager is idle, and fails the test if it, having taken over from another one with nothing to correct, has written
// anything other than the status of each of the given number of Probes, once, which records that it now reads them.
func (c *Cluster) CheckTakeover(t testing.TB, since time.Time, probes int) {
	t.Helper()
	recordsReader := func(r Request) bool {
		return r.IsWrite() && r.ObjectRef.Resource == "probes" && r.ObjectRef.Subresource == "status"
	}
	// A process that has not begun is idle, too. If it never comes to that many, the check below lists those that it wrote to.
	_ = wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, Timeout, true, func(context.Context) (bool, error) {
		return len(slices.DeleteFunc(c.Requests(t, since), func(r Request) bool { return !recordsReader(r) })) >= probes, nil
	})
	c.AwaitIdle(t, 3*time.Second)
	reads := map[ObjectRef]bool{}
	for _, r := range c.Requests(t, since) {
		switch {
		case !r.IsWrite():
		case recordsReader(r) && !reads[r.ObjectRef]:
			reads[r.ObjectRef] = true
		default:
			t.Errorf("a manager that finds all as it should be writes: %s", r)
		}
	}
	if len(reads) != probes {
		t.Errorf("it reports that it reads on %d Probes of %d: %v", len(reads), probes, slices.Collect(maps.Keys(reads)))
	}
}
