package clusteroperator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/clusteroperator/cvotest"
)

// TestRandom plays what may happen to a platform, in any order, and after every event holds the status against the rules
// of the Cluster Version Operator, and against what an onlooker would say who has seen it all.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const games, events = 150, 120
	degraded, released := 0, 0
	for game := range uint64(games) {
		g := newGame(rand.New(rand.NewPCG(seed, game)))
		for range events {
			event := g.play()
			g.check(t)
			if t.Failed() {
				t.Fatalf("game %d, after: %s", game, event)
			}
			if g.status(configv1.OperatorDegraded) == configv1.ConditionTrue {
				degraded++
			}
		}
		if g.installedOnce {
			released++
		}
	}
	t.Logf("%d games of %d events: Degraded after %d events, installed in %d games", games, events, degraded, released)
	if degraded == 0 || released == 0 {
		t.Error("the games have no trouble, or no end to it")
	}
}

// game is a platform, its clock, and what an onlooker remembers.
type game struct {
	*rand.Rand
	now       time.Time
	release   string
	operators []platformv1alpha1.PlatformOperator
	co        configv1.ClusterOperator
	cvo       *cvotest.Checker

	installedOnce bool   // all were, at one moment at least
	reached       string // the last release that all were installed in
}

func newGame(r *rand.Rand) *game {
	g := &game{Rand: r, now: time.Unix(10000, 0), release: "1.0.0", cvo: cvotest.New()}
	if r.IntN(2) == 0 {
		g.co.Status.Versions = []configv1.OperandVersion{{Name: "operand", Version: "3"}}
	}
	for i := range r.IntN(4) {
		g.operators = append(g.operators, healthy(fmt.Sprintf("at-first-%d", i), unread))
	}
	return g
}

// play has one thing happen, a while after the last, and says what.
func (g *game) play() string {
	g.now = g.now.Add(time.Second + time.Duration(g.Int64N(int64(pick(g.Rand, 2*time.Second, 30*time.Second, 3*time.Minute)))))
	if g.IntN(12) == 0 {
		name := fmt.Sprintf("po-%d", g.IntN(5))
		if !slices.ContainsFunc(g.operators, func(p platformv1alpha1.PlatformOperator) bool { return p.Name == name }) {
			g.operators = append(g.operators, healthy(name, unread))
			return "created " + name
		}
	}
	if g.IntN(25) == 0 {
		g.release = fmt.Sprintf("%d.0.0", 1+g.IntN(3))
		return "release " + g.release
	}
	if len(g.operators) == 0 || g.IntN(10) == 0 {
		return "time passed"
	}
	i := g.IntN(len(g.operators))
	p := &g.operators[i]
	if !p.DeletionTimestamp.IsZero() {
		g.operators = slices.Delete(g.operators, i, i+1)
		return "one gone"
	}
	return p.Name + " " + g.change(p)
}

// change changes a PlatformOperator as its controller does, or somebody else.
func (g *game) change(p *platformv1alpha1.PlatformOperator) string {
	moment := metav1.NewTime(g.now).Rfc3339Copy()
	if len(p.Status.Conditions) == 0 {
		p.Status = healthy(p.Name, says("Installed", "False/"+onItsWay)).Status
		return "looked at"
	}
	switch event := g.IntN(18); {
	case event < 5:
		says("Installed", "True/Installed: It is installed")(p)
		says("Progressing", "False/AsDesired: Nothing is to do")(p)
		p.Status.ObservedGeneration = p.Generation
		return "installed"
	case event < 6:
		says("Installed", "False/"+pick(g.Rand, noPackage, noUnpack, refused, noRollout))(p)
		return "not installed any more"
	case event < 8:
		says("Progressing", "True/"+beingMoved)(p)
		return "being updated"
	case event < 10:
		if p.Status.FailingSince.IsZero() {
			p.Status.FailingSince, p.Status.FailingReason = &moment, pick(g.Rand, "PackageNotFound", "BundleInvalid")
		}
		p.Status.QuietSince = nil
		return "fails"
	case event < 12:
		if !p.Status.FailingSince.IsZero() && p.Status.QuietSince.IsZero() {
			p.Status.QuietSince = &moment
		}
		return "fails no more"
	case event < 14:
		if q := p.Status.QuietSince; !q.IsZero() && g.now.Sub(q.Time) >= 2*time.Minute {
			p.Status.FailingSince, p.Status.QuietSince, p.Status.FailingReason = nil, nil, ""
		}
		return "may be forgiven"
	case event < 15:
		p.Generation++
		return "changed"
	case event < 16:
		p.Spec.HoldClusterUpdates = !p.Spec.HoldClusterUpdates
		return "changed its mind about cluster updates"
	case event < 17:
		says("Upgradeable", pick(g.Rand, "True", "False", "Unknown")+"/Because: So it is")(p)
		return "says whether it is upgradeable"
	}
	p.DeletionTimestamp = &moment
	return "being deleted"
}

func (g *game) inputs() Inputs {
	return Inputs{Current: g.co.Status, Operators: g.operators, Release: g.release, Now: metav1.NewTime(g.now)}
}

func (g *game) status(t configv1.ClusterStatusConditionType) configv1.ConditionStatus {
	if i := find(&g.co.Status, t); i >= 0 {
		return g.co.Status.Conditions[i].Status
	}
	return ""
}

// check gives the status, and tells what is wrong with it.
func (g *game) check(t *testing.T) {
	t.Helper()
	g.Shuffle(len(g.operators), func(i, j int) { g.operators[i], g.operators[j] = g.operators[j], g.operators[i] })
	var lasts time.Duration
	g.co.Status, lasts = Status(g.inputs())
	if err := g.cvo.Observe(&g.co); err != nil {
		t.Errorf("rules of the Cluster Version Operator: %v", err)
	}
	g.checkOnlooker(t)
	g.checkNames(t)
	g.checkLasts(t, lasts)
}

// checkOnlooker compares the answers with those of one who has watched.
func (g *game) checkOnlooker(t *testing.T) {
	t.Helper()
	all, busy, failing, holding := true, false, false, false
	for _, p := range g.operators {
		if !p.DeletionTimestamp.IsZero() {
			continue
		}
		says := map[string]metav1.ConditionStatus{}
		for _, c := range p.Status.Conditions {
			says[c.Type] = c.Status
		}
		all = all && says["Installed"] == "True"
		busy = busy || says["Progressing"] == "True" || p.Status.ObservedGeneration != p.Generation
		if since := p.Status.FailingSince; since != nil {
			until := metav1.NewTime(g.now).Rfc3339Copy()
			if p.Status.QuietSince != nil {
				until = *p.Status.QuietSince
			}
			failing = failing || until.Unix()-since.Unix() >= 120
		}
		holding = holding || p.Spec.HoldClusterUpdates && says["Upgradeable"] == "False"
	}
	if all {
		g.installedOnce, g.reached = true, g.release
	}
	want := map[configv1.ClusterStatusConditionType]bool{
		"Available": g.installedOnce, "Progressing": !all || busy, "Degraded": failing,
	}
	for conditionType, want := range want {
		if is := g.status(conditionType); is != map[bool]configv1.ConditionStatus{true: "True", false: "False"}[want] {
			t.Errorf("%s is %s", conditionType, is)
		}
	}
	if is := g.status("Upgradeable"); (is == "False") != holding {
		t.Errorf("Upgradeable is %q", is)
	}
	version := ""
	for _, v := range g.co.Status.Versions {
		if v.Name == "operator" {
			version = v.Version
		}
	}
	if version != g.reached {
		t.Errorf("the version is %q, and should be %q", version, g.reached)
	}
}

// checkNames: who is not installed is named, and everybody that is there is related.
func (g *game) checkNames(t *testing.T) {
	t.Helper()
	var related []string
	for _, o := range g.co.Status.RelatedObjects {
		related = append(related, o.Name)
	}
	there := []string{}
	for _, p := range g.operators {
		if !p.DeletionTimestamp.IsZero() {
			continue
		}
		there = append(there, p.Name)
		o := read(&p)
		if said := message(g.co.Status, configv1.OperatorProgressing); !o.isInstalled() && !strings.Contains(said, p.Name) {
			t.Errorf("Progressing does not name %s: %s", p.Name, said)
		}
	}
	if len(there) == 0 {
		there = append(there, "")
	}
	slices.Sort(there)
	if diff := cmp.Diff(there, related); diff != "" {
		t.Errorf("relatedObjects: -want +got\n%s", diff)
	}
}

// checkLasts: the status stays what it is for as long as it said, and no longer.
func (g *game) checkLasts(t *testing.T, lasts time.Duration) {
	t.Helper()
	in := g.inputs()
	still := []time.Duration{0}
	if lasts == 0 {
		still = append(still, time.Hour)
	} else {
		still = append(still, lasts-time.Second)
	}
	for _, d := range still {
		in.Now = metav1.NewTime(g.now.Add(d))
		again, _ := Status(in)
		if diff := cmp.Diff(g.co.Status, again); diff != "" {
			t.Errorf("%s later, of %s: %s", d, lasts, diff)
		}
	}
	in.Now = metav1.NewTime(g.now.Add(lasts))
	again, _ := Status(in)
	if lasts != 0 && cmp.Equal(g.co.Status, again) {
		t.Errorf("it should have changed after %s", lasts)
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
