package testcluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/operator-status/operator-status/internal/manager"
)

// Request is a request that the API server has answered, as its audit log tells of it.
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
}

// ObjectRef is what a request was about.
type ObjectRef struct {
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// IsWrite is true for requests that change something.
func (r Request) IsWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// IsConflict is true for a request that was refused because somebody else had written the object meanwhile.
func (r Request) IsConflict() bool { return r.Response.Code == http.StatusConflict }

// IsWork is false for watches, and for Leases, which are renewed as long as their holder lives.
func (r Request) IsWork() bool { return r.Verb != "watch" && r.ObjectRef.Resource != "leases" }

// By is true for the requests of a client whose user agent begins so.
func (r Request) By(agent string) bool { return strings.HasPrefix(r.UserAgent, agent) }

// Requests are those of the manager that the API server received since then, in its own name or another's, but for renewals of
// its leases.
func (c *Cluster) Requests(t testing.TB, since time.Time) []Request {
	t.Helper()
	return slices.DeleteFunc(c.RequestsOf(t, since, manager.UserAgent), func(r Request) bool { return r.ObjectRef.Resource == "leases" })
}

// RequestsOf are those that the API server received since then from clients whose user agents begin so.
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

// auditLog is an API server's audit log. It remembers what it has read: a suite asks hundreds of times, of a log that grows
// to hundreds of megabytes.
type auditLog struct {
	path string

	mu       sync.Mutex
	offset   int64
	requests []Request
}

// read returns the requests that have been answered, the first to be answered first. Nobody may change them.
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
			return l.requests, nil // a line that is still being written is of a request that has just come
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

// AwaitIdle waits until the manager, or whoever calls itself so, has asked the API server for nothing but watches that
// long, and returns when.
func (c *Cluster) AwaitIdle(t testing.TB, quiet time.Duration, agents ...string) time.Time {
	t.Helper()
	if len(agents) == 0 {
		agents = []string{manager.UserAgent}
	}
	last := time.Now()
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, Timeout, true, func(context.Context) (bool, error) {
		for _, r := range c.RequestsOf(t, last, agents...) {
			if r.IsWork() && r.Received.After(last) {
				last = r.Received.Time
			}
		}
		return time.Since(last) > quiet, nil
	})
	if err != nil {
		t.Fatalf("%v does not come to rest: %v", agents, err)
	}
	return time.Now()
}

// CheckTakeover fails the test where a manager that has taken over from another, and found all as it should be, has written anything
// but once to each Probe that it is the one now who reads.
func (c *Cluster) CheckTakeover(t testing.TB, since time.Time, probes int) {
	t.Helper()
	reads := map[ObjectRef]bool{}
	for _, r := range c.Requests(t, since) {
		switch {
		case !r.IsWrite():
		case r.ObjectRef.Resource == "probes" && r.ObjectRef.Subresource == "status" && !reads[r.ObjectRef]:
			reads[r.ObjectRef] = true
		default:
			t.Errorf("a manager that finds all as it should be writes: %s %s", r.Verb, r.URI)
		}
	}
	if len(reads) != probes {
		t.Errorf("that it reads now it says on %d Probes of %d", len(reads), probes)
	}
}
