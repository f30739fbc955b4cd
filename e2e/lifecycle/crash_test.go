package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/testcatalog"
	"github.com/operator-status/operator-status/internal/testcluster"
)

// TestKilledAfterEveryWrite updates an operator while the manager is killed after its first write, another while it is
// killed after the second, and so on, until one is updated without that many writes: all end up the same.
func TestKilledAfterEveryWrite(t *testing.T) {
	const most = 80
	sub, s, name := map[int]*v1alpha1.Subscription{}, map[int]*stage{}, func(k int) string { return fmt.Sprintf("crash%02d", k) }
	foo := func(k int, version string) testcatalog.Foo {
		return testcatalog.Foo{Name: name(k), Version: version, Upgradeable: "!Migrating"}
	}
	var want []string
	for k := range most {
		manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
		s[k] = newStage(t, name(k), publish(t, foo(k, "1.0.0")))
		sub[k] = s[k].subscribe(t, name(k))
		s[k].installed(t, sub[k], foo(k, "1.0.0").CSV())
		ownedBy(t, s[k], foo(k, "1.0.0").CSV())
		manager.Terminate(t)

		s[k].offer(t, publish(t, foo(k, "1.0.0"), foo(k, "1.1.0")))
		writes := s[k].updateKilledAfter(t, k, sub[k], foo(k, "1.1.0").CSV())
		again := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
		s[k].installed(t, sub[k], foo(k, "1.1.0").CSV())
		cluster.AwaitGone(t, s[k].csv(foo(k, "1.0.0").CSV()))
		got := s[k].settled(t, name(k))
		again.CheckAlive(t)
		again.Terminate(t)
		if k == 0 {
			want = got
			t.Logf("undisturbed, an update takes %d writes and leaves\n%s", writes, strings.Join(want, "\n"))
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("killed after write %d, it ends up otherwise (-undisturbed +killed):\n%s", k, diff)
		}
		if writes < k {
			t.Logf("%d writes were the most: the manager was killed after each", writes)
			return
		}
	}
	t.Errorf("an update takes more than %d writes", most)
}

// updateKilledAfter runs a manager that is killed after its k-th write, or ends when the update is done. It returns the
// number of writes.
func (s *stage) updateKilledAfter(t *testing.T, k int, sub *v1alpha1.Subscription, csv string) int {
	t.Helper()
	var manager atomic.Pointer[testcluster.Manager]
	killed := make(chan struct{})
	proxy, writes := cluster.CountWrites(t, func(*http.Request) bool { return true }, func(n int) {
		if n == k {
			manager.Load().Kill(t)
			close(killed)
		}
	})
	m := cluster.Through(proxy).StartManager(t, "--catalog-dir="+t.TempDir())
	manager.Store(m)
	ctx, done := context.WithTimeout(t.Context(), testcluster.Timeout)
	defer done()
	for ctx.Err() == nil {
		select {
		case <-killed:
			return int(writes.Load())
		case <-time.After(20 * time.Millisecond): // the interval of a poll
		}
		if s.updated(ctx, sub, csv) {
			m.Kill(t)
			return int(writes.Load())
		}
	}
	t.Fatal("neither was the manager killed nor the update done")
	return 0
}

// updated is true when the update is done and the old version is gone.
func (s *stage) updated(ctx context.Context, sub *v1alpha1.Subscription, csv string) bool {
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(sub), sub); err != nil || !sub.Status.UpToDate || sub.Status.InstalledCSV != csv {
		return false
	}
	old := s.csv(strings.Replace(csv, "1.1.0", "1.0.0", 1))
	return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(old), old))
}

// generated are the parts of names that differ by namespace and package alone: what follows a version, or makes an
// InstallPlan's name its own, or that of an OperatorGroup's role.
var generated = regexp.MustCompile(`(-operator\.v1\.[01]\.0).*|^(olm\.og\..*)-[0-9A-Za-z]+$|[0-9a-f]{10}$`)

// settled is what there is once the garbage collector has taken what belonged to the old version, with the names of the
// package and the namespace taken out.
func (s *stage) settled(t *testing.T, pkg string) []string {
	t.Helper()
	var out []string
	old := func(l string) bool {
		return strings.Contains(l, "operator.v1.0.0") && !strings.Contains(l, "InstallPlan") && !strings.Contains(l, "replaces=")
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(context.Context) (bool, error) {
		out = s.lines(t, pkg)
		return !slices.ContainsFunc(out, old), nil
	})
	if err != nil {
		t.Errorf("something of the old version is left:\n%s", strings.Join(out, "\n"))
	}
	return out
}

// lines are what there is.
func (s *stage) lines(t *testing.T, pkg string) []string {
	t.Helper()
	var out []string
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterServiceVersionList{}, &v1alpha1.SubscriptionList{}, &v1alpha1.ProbeList{}, &olm.InstallPlanList{}, &operatorsv2.OperatorConditionList{},
		&appsv1.DeploymentList{}, &corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		options := []client.ListOption{client.InNamespace(s.namespace)}
		switch list.(type) {
		case *rbacv1.ClusterRoleList, *rbacv1.ClusterRoleBindingList:
			options = []client.ListOption{client.MatchingLabels{"olm.owner.namespace": s.namespace}}
		}
		if err := cluster.Client.List(t.Context(), list, options...); err != nil {
			t.Fatal(err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			out = append(out, line(item.(client.Object)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	kind := strings.ToUpper(pkg[:1]) + pkg[1:]
	for i := range out {
		out[i] = strings.NewReplacer(s.namespace, "NAMESPACE", pkg, "PACKAGE", kind, "KIND").Replace(out[i])
	}
	slices.Sort(out)
	return out
}

// line says what an object is, whose, and what matters of its state.
func line(o client.Object) string {
	var owners []string
	for _, owner := range o.GetOwnerReferences() {
		owners = append(owners, fmt.Sprintf("%s controller=%v", owner.Name, owner.Controller != nil && *owner.Controller))
	}
	state := ""
	switch o := o.(type) {
	case *v1alpha1.ClusterServiceVersion:
		state = fmt.Sprintf("%s replaces=%s version=%s", o.Status.Phase, o.Spec.Replaces, o.Status.Version.Version)
	case *v1alpha1.Subscription:
		state = fmt.Sprintf("installed=%s current=%s upToDate=%v message=%q", o.Status.InstalledCSV, o.Status.CurrentCSV, o.Status.UpToDate, o.Status.Message)
	case *olm.InstallPlan:
		state = fmt.Sprintf("%v %s approved=%v", o.Spec.ClusterServiceVersionNames, o.Status.Phase, o.Spec.Approved)
	case *appsv1.Deployment:
		state = o.Spec.Template.Spec.Containers[0].Image
	case *rbacv1.Role:
		state = fmt.Sprint(o.Rules)
	case *rbacv1.ClusterRole:
		state = fmt.Sprint(o.Rules)
	}
	return strings.TrimSpace(fmt.Sprintf("%T %s %v %v %s", o, generated.ReplaceAllString(o.GetName(), "$1$2"), owners, o.GetLabels()["olm.owner"], state))
}
