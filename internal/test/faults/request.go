package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var discard = log.New(io.Discard, "", 0)

// request is a request to the API server.
type request struct {
	*http.Request
	resource    string
	subresource string
}

func read(r *http.Request) request {
	out := request{Request: r}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return out
	}
	if parts[0] == "namespaces" && len(parts) >= 3 {
		parts = parts[2:]
	}
	if out.resource = parts[0]; len(parts) >= 3 {
		out.subresource = parts[2]
	}
	return out
}

func (r request) isWatch() bool {
	return r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1"
}

func (r request) isWrite() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// matches reports whether a Refusal selects a request of a client.
func (f Refusal) matches(client string, r request) bool {
	if f.Resource != r.resource || f.Client != "" && f.Client != client {
		return false
	}
	if !f.Writes {
		return !r.isWrite()
	}
	return r.isWrite() && r.subresource == "" && r.URL.Query().Get("dryRun") == ""
}

func (c *Client) serve(w http.ResponseWriter, raw *http.Request) {
	r := read(raw)
	isCut, thawed := c.state()
	if isCut {
		panic(http.ErrAbortHandler)
	}
	select {
	case <-thawed:
	case <-r.Context().Done():
		return
	}
	config := c.proxy.current()
	if r.resource == "leases" && !config.Leases {
		c.proxy.forward(w, r, nil)
		return
	}
	if f := config.refusal(c.name, r); f != nil {
		c.proxy.note(refused)
		answer(w, f.Code, f.RetryAfter)
		return
	}
	if r.isWatch() {
		c.watch(w, r, config)
		return
	}
	c.request(w, r, config)
}

func (c Config) refusal(client string, r request) *Refusal {
	for i := range c.Refused {
		if c.Refused[i].matches(client, r) {
			return &c.Refused[i]
		}
	}
	return nil
}

// request sends a request on, or has it fail.
func (c *Client) request(w http.ResponseWriter, r request, config Config) {
	p := c.proxy
	fault := p.pick(config.Requests)
	if !applies(fault, r) {
		fault = ""
	}
	if fault != "" {
		p.note(fault)
	}
	switch fault {
	case TooManyRequests, InternalError, Unavailable, Timeout, Conflict, Expired:
		refuse(w, fault)
	case Reset:
		panic(http.ErrAbortHandler)
	case Hang:
		p.wait(p.upToTime(config.Longest), r.Context().Done())
		panic(http.ErrAbortHandler)
	case Delay:
		p.wait(p.upToTime(config.Longest), r.Context().Done())
		p.forward(w, r, nil)
	case LostTimeout:
		p.forward(w, r, func() { refuse(w, Timeout) })
	case LostReset:
		p.forward(w, r, func() { panic(http.ErrAbortHandler) })
	default:
		if !p.stale(w, r, config) {
			p.forward(w, r, nil)
		}
	}
}

// applies reports whether a request can have a fault.
func applies(f Fault, r request) bool {
	switch f {
	case LostTimeout, LostReset:
		return r.isWrite()
	case Conflict:
		return r.Method == http.MethodPut || r.Method == http.MethodPatch
	case Expired:
		return !r.isWrite() && r.URL.Query().Get("resourceVersion") != ""
	default:
		return true
	}
}

// forward sends a request on and returns the response. If lost is not nil, it is called instead once the API server has
// responded, even if the client has left.
func (p *Proxy) forward(w http.ResponseWriter, r request, lost func()) {
	ctx := r.Context()
	if lost != nil {
		const most = 30 * time.Second
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), most)
		defer cancel()
	}
	response, err := p.send(ctx, r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or abandoned
	if lost != nil {
		_, _ = io.Copy(io.Discard, response.Body) // the client does not get it
		lost()
		return
	}
	writeHeader(w, response)
	_, _ = io.Copy(w, response.Body) // the client notices an incomplete body
}

func (p *Proxy) send(ctx context.Context, r request) (*http.Response, error) {
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.server.Scheme, p.server.Host, p.server.Host, ""
	for _, name := range []string{"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		out.Header.Del(name)
	}
	if out.Header.Get("Accept-Encoding") == "" {
		out.Header.Set("Accept-Encoding", "identity") // or the transport would decompress
	}
	return p.transport.RoundTrip(out)
}

func writeHeader(w http.ResponseWriter, response *http.Response) {
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
}

// reasons of the API server by code.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusConflict: metav1.StatusReasonConflict, http.StatusGone: metav1.StatusReasonExpired,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
}

// refuse answers with the error that a fault is named after.
func refuse(w http.ResponseWriter, f Fault) {
	var code, after int
	_, _ = fmt.Sscan(string(f), &code) // these are codes
	if f == TooManyRequests {
		after = 1
	}
	answer(w, code, after)
}

// answer answers with an error as the API server would.
func answer(w http.ResponseWriter, code, retryAfter int) {
	w.Header().Set("Content-Type", "application/json")
	if retryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(retryAfter))
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reasons[code], Code: int32(code), Message: "injected: " + http.StatusText(code),
		Details: &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)},
	}) // the client may have left
}
