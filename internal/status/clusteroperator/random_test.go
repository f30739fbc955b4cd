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
	"github.com/operator-status/operator-status/internal/test/cvotest"
)

// TestRandom plays random events, and after each of them checks the status against the rules of the Cluster Version
// Operator and against an independent record of the events.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const games, events = 150, 120
	degraded, released, completed := 0, 0, 0
	for game := range uint64(games) {
		g := newGame(rand.New(rand.NewPCG(seed, game)))
		for range events {
			event := g.play(t)
			g.tick(event)
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
		if g.cvo != nil && !g.installing {
			completed++
		}
	}
	t.Logf("%d games of %d events: Degraded after %d events, installed in %d games, by the Cluster Version Operator in %d",
		games, events, degraded, released, completed)
	if degraded == 0 || released == 0 || completed == 0 {
		t.Error("no failure, or no end of one, occurred in the games")
	}
}

// game holds a platform, its clock, and an independent record of the events.
type game struct {
	*rand.Rand
	now       time.Time
	release   string
	operators []platformv1alpha1.PlatformOperator
	co        configv1.ClusterOperator
	rules     *cvotest.Checker
	cvo       *payload // nil on a cluster without a Cluster Version Operator

	installing    bool   // during the first installation of the cluster
	installedOnce bool   // whether all have been installed at the same moment
	reached       string // the last release in which all were installed
	former        string // the last release that the Cluster Version Operator has completed
}

// payload is a release, and the progress of the Cluster Version Operator in applying it.
type payload struct {
	cvotest.Payload
	named   bool // whether the related objects name its PlatformOperators
	related bool // whether the related objects are written
	applied int
	waits   bool // whether it has checked the ClusterOperator, and waits for it
	done    bool
}

func newGame(r *rand.Rand) *game {
	g := &game{Rand: r, now: time.Unix(10000, 0), release: "1.0.0", rules: cvotest.New()}
	if r.IntN(2) == 0 {
		g.installing = true
		g.cvo = g.newPayload()
		g.co = g.cvo.Create()
		g.co.CreationTimestamp = metav1.NewTime(g.now)
		return g
	}
	if r.IntN(2) == 0 {
		g.co.Status.Versions = []configv1.OperandVersion{{Name: "operand", Version: "3"}}
	}
	for i := range r.IntN(4) {
		g.operators = append(g.operators, healthy(fmt.Sprintf("at-first-%d", i), unread))
	}
	return g
}

// newPayload returns the next release: some PlatformOperators, and a ClusterOperator that may name them.
func (g *game) newPayload() *payload {
	out := &payload{named: g.IntN(3) > 0}
	out.Manifest.Status.Versions = []configv1.OperandVersion{{Name: "operator", Version: g.release}}
	for i := range g.IntN(4) {
		out.Objects = append(out.Objects, fmt.Sprintf("po-%d", i))
	}
	names := out.Objects
	if !out.named {
		names = pick(g.Rand, nil, []string{""})
	}
	for _, name := range names {
		out.Manifest.Status.RelatedObjects = append(out.Manifest.Status.RelatedObjects,
			configv1.ObjectReference{Group: "platform.openshift.io", Resource: "platformoperators", Name: name})
	}
	return out
}

// step plays the next action of the Cluster Version Operator and returns a description. Its check reads the
// ClusterOperator as it was before the last applied object was reconciled.
func (g *game) step(t *testing.T) string {
	t.Helper()
	switch p := g.cvo; {
	case !p.related:
		p.related = true
		p.WriteStatus(&g.co)
		return "CVO wrote the related objects"
	case p.applied < len(p.Objects):
		name := p.Objects[p.applied]
		p.applied++
		if !g.has(name) {
			g.operators = append(g.operators, healthy(name, unread))
		}
		if p.applied < len(p.Objects) {
			return "CVO applied " + name
		}
		return "CVO applied " + name + g.checkByCVO(t)
	case !p.done:
		return "CVO has nothing left to apply" + g.checkByCVO(t)
	}
	g.release = fmt.Sprintf("%d.0.0", 1+g.IntN(3))
	g.cvo = g.newPayload()
	g.cvo.related = true // an existing ClusterOperator is not written
	return "CVO updates to " + g.release
}

func (g *game) checkByCVO(t *testing.T) string {
	t.Helper()
	if err := g.cvo.Check(&g.co, g.installing); err != nil {
		g.cvo.waits = true
		return fmt.Sprintf(", and waits: %v", err)
	}
	if g.cvo.applied < len(g.cvo.Objects) {
		t.Errorf("release %s completes before it is applied", g.release)
	}
	for _, name := range g.cvo.Objects {
		i := slices.IndexFunc(g.operators, func(p platformv1alpha1.PlatformOperator) bool { return p.Name == name })
		if g.installing && g.cvo.named && (i < 0 || !installs(&g.operators[i])) {
			t.Errorf("the installation of the cluster completes without %s: %+v", name, g.co.Status)
		}
	}
	g.cvo.done, g.installing, g.former = true, false, g.release
	return ", and continues"
}

func installs(p *platformv1alpha1.PlatformOperator) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Installed" && c.Status == "True" })
}

func (g *game) has(name string) bool {
	return slices.ContainsFunc(g.operators, func(p platformv1alpha1.PlatformOperator) bool { return p.Name == name })
}

// play plays one event, usually some time after the last one, and returns a description.
func (g *game) play(t *testing.T) string {
	t.Helper()
	late := g.cvo != nil && !g.cvo.related && g.now.Sub(g.co.CreationTimestamp.Time) > 20*time.Second // the Cluster Version Operator takes milliseconds
	if late || g.cvo != nil && g.IntN(pick(g.Rand, 2, 6)) == 0 {
		return g.step(t) // without delay
	}
	if g.cvo != nil && !g.cvo.related {
		g.now = g.now.Add(time.Second + time.Duration(g.Int64N(int64(5*time.Second))))
		return "time passed"
	}
	g.now = g.now.Add(time.Second + time.Duration(g.Int64N(int64(pick(g.Rand, 2*time.Second, 30*time.Second, 3*time.Minute)))))
	if g.IntN(12) == 0 {
		if name := fmt.Sprintf("po-%d", g.IntN(5)); !g.has(name) {
			g.operators = append(g.operators, healthy(name, unread))
			return "created " + name
		}
	}
	if g.cvo == nil && g.IntN(25) == 0 {
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

// change changes a PlatformOperator as its controller or a user does.
func (g *game) change(p *platformv1alpha1.PlatformOperator) string {
	moment := metav1.NewTime(g.now).Rfc3339Copy()
	if len(p.Status.Conditions) == 0 {
		p.Status = healthy(p.Name, withCondition("Installed", "False/"+onItsWay)).Status
		return "looked at"
	}
	switch event := g.IntN(18); {
	case event < 5:
		withCondition("Installed", "True/Installed: It is installed")(p)
		withCondition("Progressing", "False/AsDesired: Nothing is to do")(p)
		p.Status.ObservedGeneration = p.Generation
		return "installed"
	case event < 6:
		withCondition("Installed", "False/"+pick(g.Rand, noPackage, noUnpack, refused, noRollout))(p)
		return "no longer installed"
	case event < 8:
		withCondition("Progressing", "True/"+beingMoved)(p)
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
		withCondition("Upgradeable", pick(g.Rand, "True", "False", "Unknown")+"/Because: So it is")(p)
		return "reports whether it is upgradeable"
	}
	p.DeletionTimestamp = &moment
	if g.IntN(2) == 0 {
		leaving(platformv1alpha1.ReasonUsersData)(p)
		return "waiting for users' data"
	}
	return "being deleted"
}

func (g *game) inputs() Inputs {
	return Inputs{
		Current: g.co.Status, Created: g.co.CreationTimestamp, Operators: g.operators, Now: metav1.NewTime(g.now),
		Cluster: Cluster{Release: g.release, Installing: g.installing, Reached: g.isReached(), Former: g.former}, DegradedInertia: inertia,
	}
}

// isReached reports whether the Cluster Version Operator waits for the ClusterOperator, or no longer has to.
func (g *game) isReached() bool { return g.cvo == nil || g.cvo.waits || g.cvo.done }

func (g *game) status(t configv1.ClusterStatusConditionType) configv1.ConditionStatus {
	if i := Find(&g.co.Status, t); i >= 0 {
		return g.co.Status.Conditions[i].Status
	}
	return ""
}

// check computes the status and verifies it.
func (g *game) check(t *testing.T) {
	t.Helper()
	g.Shuffle(len(g.operators), func(i, j int) { g.operators[i], g.operators[j] = g.operators[j], g.operators[i] })
	var lasts time.Duration
	g.co.Status, lasts = Compute(g.inputs())
	g.rules.Installing, g.rules.Ahead = g.installing, !g.installing && !g.isReached()
	if err := g.rules.Observe(&g.co); err != nil {
		t.Errorf("rules of the Cluster Version Operator: %v", err)
	}
	if len(g.co.Status.Conditions) == 0 && g.installing && lasts > 0 {
		return // left to the Cluster Version Operator
	}
	g.checkOnlooker(t)
	g.checkNames(t)
	g.checkLasts(t, lasts)
}

// checkOnlooker compares the conditions and the version with the record of the events.
func (g *game) checkOnlooker(t *testing.T) {
	t.Helper()
	all, busy, failing, holding := g.settled(), false, false, false
	for _, p := range g.operators {
		written := map[string]metav1.ConditionStatus{}
		for _, c := range p.Status.Conditions {
			written[c.Type] = c.Status
		}
		runs := p.DeletionTimestamp.IsZero() || len(p.Finalizers) > 0
		holding = holding || runs && p.Spec.HoldClusterUpdates && written["Upgradeable"] == "False"
		if !p.DeletionTimestamp.IsZero() {
			continue
		}
		all = all && written["Installed"] == "True"
		busy = busy || written["Progressing"] == "True" || p.Status.ObservedGeneration != p.Generation
		if since := p.Status.FailingSince; since != nil {
			until := metav1.NewTime(g.now).Rfc3339Copy()
			if p.Status.QuietSince != nil {
				until = *p.Status.QuietSince
			}
			failing = failing || until.Unix()-since.Unix() >= 120
		}
	}
	switch {
	case all && (g.installing || !g.installedOnce):
		g.installedOnce, g.reached = true, g.release
	case all && !busy && g.isReached():
		g.reached = g.release
	case g.installing:
		g.installedOnce, g.reached = false, ""
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

// settled reports whether no PlatformOperator that does not exist is waited for.
func (g *game) settled() bool {
	there := slices.DeleteFunc(slices.Clone(g.operators), func(p platformv1alpha1.PlatformOperator) bool { return !p.DeletionTimestamp.IsZero() })
	expected := 0
	for _, o := range g.co.Status.RelatedObjects {
		if !g.installing || o.Name == "" {
			continue
		}
		expected++
		if !slices.ContainsFunc(there, func(p platformv1alpha1.PlatformOperator) bool { return p.Name == o.Name }) {
			return false
		}
	}
	return !g.installing || expected > 0 || len(there) > 0 || g.now.Sub(g.co.CreationTimestamp.Time) >= 30*time.Second
}

// checkNames verifies that Progressing names the PlatformOperators that are not installed, and relatedObjects names all.
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
		if texts := message(g.co.Status, configv1.OperatorProgressing); !o.isInstalled() && !strings.Contains(texts, p.Name) {
			t.Errorf("Progressing does not name %s: %s", p.Name, texts)
		}
	}
	if g.installing {
		return // the entries are those of the release
	}
	if len(there) == 0 {
		there = append(there, "")
	}
	slices.Sort(there)
	if diff := cmp.Diff(there, related); diff != "" {
		t.Errorf("relatedObjects: -want +got\n%s", diff)
	}
}

// checkLasts verifies that the status stays the same for as long as Status returned, and no longer.
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
		again, _ := Compute(in)
		if diff := cmp.Diff(g.co.Status, again); diff != "" {
			t.Errorf("the status differs after %s of %s: %s", d, lasts, diff)
		}
	}
	in.Now = metav1.NewTime(g.now.Add(lasts))
	again, _ := Compute(in)
	if lasts != 0 && cmp.Equal(g.co.Status, again) {
		t.Errorf("the status did not change after %s", lasts)
	}
}

// tick advances the clock by a second after an event of the Cluster Version Operator, so the next write is later.
func (g *game) tick(event string) {
	if strings.HasPrefix(event, "CVO") {
		g.now = g.now.Add(time.Second)
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
