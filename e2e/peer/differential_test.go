package peer

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// moment is the state of a settled cluster.
type moment struct {
	verdicts map[string]verdict
	objects  state
	rights   rights
}

// TestDifferential verifies that the built-in loops and a real OLM install and then update the same catalog with no
// differences except those in allowed.
func TestDifferential(t *testing.T) {
	packages := packages(t)
	var ours, theirs []moment
	if !t.Run("operator-status", func(t *testing.T) { ours = record(t, builtIn(t), packages, nil) }) ||
		!t.Run("OLM", func(t *testing.T) { theirs = record(t, realOLM(t), packages, ours) }) {
		return
	}
	used, left, owners := map[allowance]int{}, ours[0].unfinished(), ownersOf(packages)
	for i, stage := range []string{"installed", "updated"} {
		t.Run(stage, func(t *testing.T) {
			checkDifferences(t, ours[i].without(left, owners), theirs[i].without(left, owners), used)
		})
	}
	for _, a := range allowed {
		t.Logf("allowed %d times: %s %s: %s", used[a], a.kind, a.field, a.reason)
	}
}

// record installs the oldest version of every package, then updates those that succeeded, and returns the state of the
// cluster after each. It waits until the verdicts are those in other, if other is not nil.
func record(t *testing.T, c *contender, packages []testcatalog.Package, other []moment) []moment {
	c.cluster.AwaitIdle(t, 3*time.Second, c.agents...) // OLM creates the ClusterRoles of its own OperatorGroups
	before := c.read(t)
	older := oldest(subscribed(packages))
	c.offer(t, oldest(packages)...)
	c.prepare(t, older...)
	start := time.Now()
	c.subscribe(t, older...)
	installed := c.moment(t, before, start, older, other, 0)
	newer := newest(t, packages, installed.verdicts)
	start = time.Now()
	c.offer(t, newer...)
	return []moment{installed, c.moment(t, before, start, updatable(subscribed(newer)), other, 1)}
}

// newest returns all versions of packages, but only the oldest of those that did not succeed: how contenders update an
// operator that never ran differs and is not compared.
func newest(t *testing.T, packages []testcatalog.Package, verdicts map[string]verdict) []testcatalog.Package {
	var out []testcatalog.Package
	for _, p := range packages {
		if v, asked := verdicts[p.Name]; asked && !v.succeeded() {
			t.Logf("%s is not updated and only its phase is compared, since %s is %s: %s", p.Name, v.csv, v.phase, v.reason)
			p = oldest([]testcatalog.Package{p})[0]
		}
		out = append(out, p)
	}
	return out
}

func (c *contender) moment(t *testing.T, before state, start time.Time, packages []testcatalog.Package, other []moment, stage int) moment {
	t.Helper()
	var others map[string]verdict
	if other != nil {
		others = other[stage].verdicts
	}
	out := moment{verdicts: c.settle(t, start, others, packages...)}
	for _, p := range packages {
		c.applyConfig(t, p)
	}
	out.objects = c.readWhenIdle(t).since(before)
	out.rights = c.readRights(t, packages...)
	t.Logf("%s: %d packages, %d objects, rights of %d accounts and namespaces, %.1f s", c.name, len(packages), len(out.objects), len(out.rights),
		time.Since(start).Seconds())
	return out
}

// applyConfig waits until the Deployment of a package has the spec.config of its Subscription. OLM creates the Deployment without
// it while the Subscription's status does not have the ClusterServiceVersion yet, and corrects that when that changes.
func (c *contender) applyConfig(t *testing.T, p testcatalog.Package) {
	t.Helper()
	config := configs[p.Name]
	if config == nil {
		return
	}
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(p), Name: p.Newest().CSV.Name}}
	change := func(value string) {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/changed":%s}}}`, value)
		if err := c.cluster.Client.Patch(t.Context(), csv, client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
	change(`"true"`)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: p.Name + "-operator"}}
	c.cluster.Await(t, deployment, func() string {
		for key, value := range config.Annotations {
			if deployment.Annotations[key] != value {
				return "it does not have the annotation " + key
			}
		}
		return ""
	})
	change("null")
}

// readWhenIdle reads the cluster until two readings are the same and the garbage collector has deleted objects without
// owners. In a new cluster it discovers new kinds only every 30 seconds. Orphans that it has not deleted by then stay.
func (c *contender) readWhenIdle(t *testing.T) state {
	t.Helper()
	const interval, learned = 3 * time.Second, 45 * time.Second
	last, lastChange := c.read(t), time.Now()
	for start := time.Now(); time.Since(start) < patience; {
		time.Sleep(interval) // no event to wait for
		now := c.read(t)
		orphans := now.orphans()
		if len(compare(now, last, func(identity) bool { return false })) > 0 {
			lastChange = time.Now()
		} else if len(orphans) == 0 || time.Since(lastChange) > learned {
			t.Logf("%s: objects without their owners: %v", c.name, orphans)
			return now
		}
		last = now
	}
	t.Errorf("%s does not become idle", c.name)
	return last
}

// unfinished returns the packages that did not succeed. Only their phase is compared: OLM grants rights before an
// operator's requirements are met, and access to its APIs once it runs, while the loops do both on installation.
func (m moment) unfinished() map[string]bool {
	out := map[string]bool{}
	for name, v := range m.verdicts {
		out[name] = !v.succeeded()
	}
	return out
}

// without returns the moment without the objects and rights of the packages in left.
func (m moment) without(left map[string]bool, owners owners) moment {
	m.objects, m.rights = maps.Clone(m.objects), maps.Clone(m.rights)
	maps.DeleteFunc(m.objects, func(i identity, o *unstructured.Unstructured) bool { return left[owners.packageOf(i, o)] })
	maps.DeleteFunc(m.rights, func(h accountNamespace, _ map[string]bool) bool { return left[owners.byNamespace[h.account.Namespace]] })
	return m
}

// checkDifferences fails the test on every difference that is not allowed.
func checkDifferences(t *testing.T, ours, theirs moment, used map[allowance]int) {
	for name, v := range ours.verdicts {
		if their := theirs.verdicts[name]; v.phase != their.phase {
			t.Errorf("%s: ours %s (%s), theirs %s (%s)", v.csv, v.phase, v.reason, their.phase, their.reason)
		}
	}
	for _, d := range ours.rights.differ(theirs.rights) {
		t.Error(d)
	}
	for _, d := range compare(ours.objects, theirs.objects, nameMayDiffer) {
		if a, ok := allowedFor(d); ok {
			used[a]++
			continue
		}
		t.Errorf("%s: %s: ours %q, theirs %q", d.object, d.field, short(d.ours), short(d.theirs))
	}
	t.Logf("compared: %s", counts(ours.objects))
}

func short(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// counts returns the number of objects by kind, as text.
func counts(s state) string {
	by := map[string]int{}
	var order, out []string
	for _, i := range sorted(s) {
		if by[i.kind.Kind] == 0 {
			order = append(order, i.kind.Kind)
		}
		by[i.kind.Kind]++
	}
	for _, kind := range order {
		out = append(out, fmt.Sprintf("%d %s", by[kind], kind))
	}
	return strings.Join(out, ", ")
}
