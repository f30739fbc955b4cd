// Package faults puts a proxy between clients and their API server that delays, cuts, refuses and falsifies the traffic.
// A seed determines its random choices.
package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Config holds the faults of a Proxy. Requests about Leases are left alone unless Leases is true.
type Config struct {
	// Requests are the probabilities of faults for each request that is not a watch, and Watches for each that is.
	Requests map[Fault]float64
	Watches  map[Fault]float64

	// Longest is the longest Delay and Hang.
	Longest time.Duration

	// WatchLife is the mean life of a watch, which ends in a random way. Zero means no limit. A watch that stalls at its end
	// does so for up to Longest.
	WatchLife time.Duration

	// ConnectionLife is the mean time between cuts of all connections of a client. Zero means no cuts.
	ConnectionLife time.Duration

	// Refused are requests that are refused, and whose watches are cut.
	Refused []Refusal

	// Behind is how long the events of the watches on a resource are held back; "*" stands for all resources. Silent is
	// longer than any test waits.
	Behind map[string]time.Duration

	// StaleLists is how old the lists of a resource are that a client accepts from a cache (resourceVersion=0).
	StaleLists map[string]time.Duration

	Leases bool
}

// Silent is the value of Behind for watches that are open and send nothing.
const Silent = time.Hour

// Fault is one way in which a request fails.
type Fault string

// Faults of requests, and TooManyRequests, InternalError and Expired also of watches when they are opened.
const (
	TooManyRequests Fault = "429"               // with Retry-After
	InternalError   Fault = "500"               //
	Unavailable     Fault = "503"               //
	Timeout         Fault = "504"               //
	Conflict        Fault = "409"               // of a write
	Expired         Fault = "410"               // of a read with a resourceVersion
	Reset           Fault = "reset"             // the connection is cut before the request is sent on
	Delay           Fault = "delay"             // the request is sent on later
	Hang            Fault = "hang"              // the connection is cut after a while
	LostTimeout     Fault = "commit-then-504"   // of a write that succeeds
	LostReset       Fault = "commit-then-reset" // of a write that succeeds
	cut             Fault = "cut"               //
	refused         Fault = "refused"           //
	staleList       Fault = "stale-list"        //
	watchEnds       Fault = "watch-ends"        //
)

// Refusal selects requests that are refused.
type Refusal struct {
	Client   string // empty for all
	Resource string
	Writes   bool // writes, except of statuses and dry runs, instead of reads
	Code     int

	// RetryAfter is the number of seconds after which the client is asked to retry. Zero sends no Retry-After.
	RetryAfter int
}

// Proxy stands between its Clients and an API server.
type Proxy struct {
	server    *url.URL
	transport http.RoundTripper

	mu      sync.Mutex
	random  *rand.Rand
	config  Config
	counts  map[Fault]int
	clients []*Client
	lists   map[string]*list
	ended   chan struct{}
}

// New returns a Proxy for the API server of a config, whose credentials it does not use: clients send their own. It ends
// with the test.
func New(t testing.TB, config *rest.Config, seed uint64) *Proxy {
	t.Helper()
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(&rest.Config{Host: config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData, CAFile: config.CAFile}})
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		server: server, transport: transport, random: rand.New(rand.NewPCG(seed, 0)),
		counts: map[Fault]int{}, lists: map[string]*list{}, ended: make(chan struct{}),
	}
	go p.cutConnections()
	go p.recordLists()
	t.Cleanup(func() {
		close(p.ended)
		for _, c := range p.clients {
			c.CloseClientConnections()
			c.Close()
		}
	})
	return p
}

// Set replaces the faults, also of open watches.
func (p *Proxy) Set(c Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = c
}

// String returns how often each fault occurred.
func (p *Proxy) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, f := range slices.Sorted(maps.Keys(p.counts)) {
		out = append(out, fmt.Sprintf("%s=%d", f, p.counts[f]))
	}
	return strings.Join(out, " ")
}

// Count returns how often a fault occurred.
func (p *Proxy) Count(f Fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[f]
}

func (p *Proxy) current() Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

func (p *Proxy) note(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[f]++
}

// pick returns one of the faults according to their probabilities, or empty.
func (p *Proxy) pick(from map[Fault]float64) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	roll := p.random.Float64()
	for _, f := range slices.Sorted(maps.Keys(from)) {
		if roll -= from[f]; roll < 0 {
			return f
		}
	}
	return ""
}

func (p *Proxy) upTo(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(n)
}

func (p *Proxy) upToTime(most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.random.Float64() * float64(most))
}

// exponential returns a time with that mean.
func (p *Proxy) exponential(mean time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.random.ExpFloat64() * float64(mean))
}

// wait waits, unless the proxy ends or done is closed. It reports whether the time has passed.
func (p *Proxy) wait(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
	case <-p.ended:
	}
	return false
}

// Client is the proxy as one client sees it.
type Client struct {
	*httptest.Server
	proxy *Proxy
	name  string

	mu     sync.Mutex
	isCut  bool
	thawed chan struct{} // closed unless the client is frozen
}

// Client returns a new client of the proxy.
func (p *Proxy) Client(name string) *Client {
	thawed := make(chan struct{})
	close(thawed)
	c := &Client{proxy: p, name: name, thawed: thawed}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.EnableHTTP2 = true
	c.Config.ErrorLog = discard
	c.StartTLS()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients = append(p.clients, c)
	return c
}

// Cut cuts the client off the API server until Mend.
func (c *Client) Cut() {
	c.mu.Lock()
	c.isCut = true
	c.mu.Unlock()
	c.CloseClientConnections()
}

// Mend ends a Cut.
func (c *Client) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = false
}

// Freeze lets nothing pass to and from the client until Thaw, and keeps its connections open.
func (c *Client) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thawed = make(chan struct{})
}

// Thaw ends a Freeze.
func (c *Client) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.thawed)
}

func (c *Client) state() (isCut bool, thawed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isCut, c.thawed
}

// cutConnections cuts the connections of all clients at random moments.
func (p *Proxy) cutConnections() {
	for {
		life := p.current().ConnectionLife
		if life == 0 {
			if !p.wait(time.Second, nil) && p.hasEnded() {
				return
			}
			continue
		}
		if !p.wait(p.exponential(life), nil) {
			return
		}
		p.note(cut)
		for _, c := range p.all() {
			c.CloseClientConnections()
		}
	}
}

func (p *Proxy) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *Proxy) all() []*Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.clients)
}
