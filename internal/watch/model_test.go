package watch

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/internal/observed"
)

// client is a Subscription of the model, with its expected state.
type client struct {
	*Subscription
	types []string
	salt  uint32
	known map[string]verdict // by the conditions of an object

	filled           bool
	notified, urgent int
}

// verdict is a client's verdict on an object.
type verdict struct {
	observed.Explanation
	unknown bool
}

func (c *client) judge(conditions []observed.Condition) observed.Verdict {
	v := c.decide(conditions)
	return observed.Verdict{Blocks: v.Blocks != "", Important: v.Important != "", Unknown: v.unknown, Unreadable: v.Unreadable != ""}
}

func (c *client) explain(conditions []observed.Condition) observed.Explanation {
	return c.decide(conditions).Explanation
}

// decide is an arbitrary Judge: its verdict depends on everything that a Judge may read.
func (c *client) decide(conditions []observed.Condition) verdict {
	h := fnv.New32a()
	fmt.Fprint(h, c.salt)
	for _, condition := range conditions {
		if slices.Contains(c.types, condition.Type) {
			fmt.Fprintf(h, "%s=%d ", condition.Type, condition.Status)
		}
	}
	var v verdict
	n := h.Sum32() / 16
	if n%4 == 0 {
		v.Blocks = fmt.Sprint("blocks ", n%16)
	}
	if n%5 == 0 {
		v.Important = fmt.Sprint("tells ", n%3)
		v.Reasons = []string{fmt.Sprint(n % 7)}
	}
	if v.unknown = n%3 == 0; n%9 == 0 {
		v.Unreadable = fmt.Sprint("unreadable ", n%5)
	}
	return v
}

// want computes the Snapshot that the client should get from all objects.
func (c *client) want(objects map[string]string) observed.Snapshot {
	if !c.filled {
		return observed.Snapshot{}
	}
	out := observed.Snapshot{Filled: true}
	for name, conditions := range objects {
		v, ok := c.known[conditions]
		if !ok {
			v = c.decide(parseConditions(conditions))
			c.known[conditions] = v
		}
		out.Total++
		if v.Blocks != "" {
			out.Blocking++
		}
		if v.Important != "" {
			out.Important++
		}
		if v.unknown {
			out.Unknown++
		}
		if v.Unreadable != "" {
			out.Unreadable++
		}
		if v.Blocks != "" || v.Important != "" || v.Unreadable != "" {
			namespace, name, _ := strings.Cut(name, "/")
			out.Items = append(out.Items, observed.Item{Namespace: namespace, Name: name, Explanation: v.Explanation})
		}
	}
	slices.SortFunc(out.Items, func(a, b observed.Item) int {
		rank := func(i observed.Item) int {
			switch {
			case i.Blocks != "":
				return 0
			case i.Important != "":
				return 1
			}
			return 2
		}
		later := func(i observed.Item) int {
			if c.request.Preferred == "" || i.Namespace == c.request.Preferred {
				return 0
			}
			return 1
		}
		return cmp.Or(later(a)-later(b), rank(a)-rank(b), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if len(out.Items) > c.request.Listed {
		out.Omitted = len(out.Items) - c.request.Listed
		out.Items = out.Items[:c.request.Listed]
	}
	if len(out.Items) == 0 {
		out.Items = nil
	}
	return out
}

// parseConditions returns the conditions of an object, each type once.
func parseConditions(conditions string) []observed.Condition {
	var out []observed.Condition
	for condition := range strings.FieldsSeq(conditions) {
		conditionType, status, _ := strings.Cut(condition, "=")
		if !slices.ContainsFunc(out, func(c observed.Condition) bool { return c.Type == conditionType }) {
			out = append(out, observed.Condition{Type: conditionType, Status: statusOf([]byte(status))})
		}
	}
	return out
}

// TestModel adds and closes many Subscriptions while objects change, and verifies their state after each step.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for run := range uint64(8) {
		t.Run(fmt.Sprint(run), func(t *testing.T) { runModel(t, rand.New(rand.NewPCG(seed, run)), 1500) })
	}
}

func runModel(t *testing.T, random *rand.Rand, steps int) {
	m := &model{random: random, engine: silentEngine(t)}
	m.subscribe(t)
	for step := range steps {
		before := map[*client]observed.Snapshot{}
		for _, c := range m.clients {
			before[c] = c.want(m.objects)
			c.notified, c.urgent = 0, 0
		}
		did := m.step(t)
		if problem := m.check(before); problem != "" {
			t.Fatalf("step %d: %s: %s", step, did, problem)
		}
	}
}

// model is the expected state of an engine with its clients.
type model struct {
	random  *rand.Rand
	engine  *Engine
	clients []*client

	now, before script            // the current reading, and one that has ended
	objects     map[string]string // conditions by name
	most        int               // most objects at once since all were replaced
}

func (m *model) name() string { return fmt.Sprintf("ns%d/foo-%d", m.random.IntN(5), m.random.IntN(60)) }

func (m *model) conditionType() string { return string(rune('A' + m.random.IntN(6))) }

func (m *model) randomConditions() string {
	var out []string
	for range m.random.IntN(5) {
		out = append(out, m.conditionType()+"="+[]string{"True", "False", "Unknown"}[m.random.IntN(3)])
	}
	return strings.Join(out, " ")
}

func (m *model) subscribe(t *testing.T) string {
	c := &client{salt: m.random.Uint32(), known: map[string]verdict{}}
	for range 1 + m.random.IntN(3) {
		c.types = append(c.types, m.conditionType())
	}
	sub, err := m.engine.Subscribe(Request{
		Target: foos, Terms: c.types, Judge: c.judge, Explain: c.explain, Listed: m.random.IntN(12), Preferred: []string{"", "ns2"}[m.random.IntN(2)],
		Notify: func(urgent bool) {
			c.notified++
			if urgent {
				c.urgent++
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Subscription = sub
	if len(m.clients) == 0 { // a new source
		m.now, m.before, m.objects, m.most = script{}, script{}, map[string]string{}, 0
	}
	if current := scriptOf(sub); current.reading != m.now.reading {
		m.before, m.now = m.now, current
	} else {
		c.filled = sub.source.filled == m.now.round // it needs no new types, so it is filled at once
	}
	m.clients = append(m.clients, c)
	return fmt.Sprintf("subscribe to %v", c.types)
}

func (m *model) unsubscribe(t *testing.T) string {
	i := m.random.IntN(len(m.clients))
	m.clients[i].Close()
	m.clients = slices.Delete(m.clients, i, i+1)
	if len(m.clients) == 0 {
		return "unsubscribe the last, and " + m.subscribe(t)
	}
	return fmt.Sprint("unsubscribe ", i)
}

func (m *model) replace() string {
	if m.random.IntN(3) == 0 {
		m.objects = map[string]string{}
	}
	for range m.random.IntN(150) {
		m.objects[m.name()] = m.randomConditions()
	}
	m.now.replace(1+m.random.IntN(3), m.objects)
	m.most = len(m.objects)
	for _, c := range m.clients {
		c.filled = true
	}
	return "replace"
}

// step performs a random operation and returns its description.
func (m *model) step(t *testing.T) string {
	switch op := m.random.IntN(100); {
	case op < 3 && len(m.clients) < 6:
		return m.subscribe(t)
	case op < 6 && len(m.clients) > 1 || op == 6:
		return m.unsubscribe(t)
	case op < 12 && m.before.source != nil:
		m.before.update(m.name(), m.randomConditions())
		m.before.delete(m.name())
		m.before.replace(1, nil)
		m.before.failed(fmt.Errorf("of no interest"))
		return "events of a reading that has ended"
	case op < 15 || m.now.source.filled < m.now.round:
		return m.replace()
	case op < 35:
		name := m.name()
		delete(m.objects, name)
		m.now.delete(name)
		return "delete " + name
	case op < 40:
		_ = m.now.Resync()
		return "resync"
	default:
		name, conditions := m.name(), m.randomConditions()
		m.objects[name] = conditions
		m.most = max(m.most, len(m.objects))
		m.now.update(name, conditions)
		return fmt.Sprintf("update %s: %s", name, conditions)
	}
}

// check returns a description of the first failure, or empty.
func (m *model) check(before map[*client]observed.Snapshot) string {
	for i, c := range m.clients {
		want := c.want(m.objects)
		if was, ok := before[c]; ok {
			if !reflect.DeepEqual(was, want) && c.notified == 0 {
				return fmt.Sprintf("client %d is not notified", i)
			}
			if was.Filled && (was.Blocking > 0) != (want.Blocking > 0) && c.urgent == 0 {
				return fmt.Sprintf("client %d is not notified urgently", i)
			}
		}
		if m.random.IntN(3) == 0 {
			continue // more changes accumulate until the next Snapshot
		}
		if got := c.Snapshot(); !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("client %d: -want +got\n%s", i, gocmp.Diff(want, got))
		}
	}
	source := m.now.source
	if len(source.patterns.entries) > m.most+1 || len(source.patterns.numbers) > len(source.objects) {
		return fmt.Sprintf("%d objects, at most %d, have %d patterns in %d entries",
			len(source.objects), m.most, len(source.patterns.numbers), len(source.patterns.entries))
	}
	return ""
}

// TestPatternTable verifies that the numbers of unused patterns are reused.
func TestPatternTable(t *testing.T) {
	var objects contents
	for i := range 10_000 {
		objects.set(fmt.Sprint(i%10), fmt.Sprint("pattern ", i))
		if i%7 == 0 {
			objects.unset(fmt.Sprint(i % 10))
		}
	}
	if got := len(objects.patterns.entries); got > 11 {
		t.Errorf("10 objects have %d entries", got)
	}
	for key, number := range objects.objects {
		if got := objects.patterns.entries[number]; got.count != 1 || !strings.HasSuffix(got.pattern, key) {
			t.Errorf("object %s has %+v", key, got)
		}
	}
}
