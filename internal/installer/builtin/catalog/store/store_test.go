package store

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestVisible(t *testing.T) {
	s := NewStore("olm")
	s.see(key("olm", "a"), 0)
	s.see(key("olm", "z"), 7)
	s.see(key("ns", "b"), 0)
	s.see(key("ns", "c"), 0)
	s.see(key("ns", "last"), -1)
	s.see(key("other", "a"), 100)
	tests := map[string]struct {
		reason    string
		namespace string
		group     *operatorsv1.OperatorGroup
		want      []string
	}{
		"of a tenant": {
			reason:    "Visible catalogs are sorted by priority, then own before global ones, then by name.",
			namespace: "ns",
			want:      []string{"olm/z", "ns/b", "ns/c", "olm/a", "ns/last"},
		},
		"excluding the global ones": {
			reason:    "The OperatorGroup can exclude the global catalogs.",
			namespace: "ns",
			group: &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{
				Annotations: map[string]string{operatorgroup.AnnotationExcludeGlobal: "true"},
			}},
			want: []string{"ns/b", "ns/c", "ns/last"},
		},
		"global": {
			reason:    "A catalog of the global namespace is listed once in that namespace.",
			namespace: "olm",
			want:      []string{"olm/z", "olm/a"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range s.VisibleBy(tc.group, tc.namespace) {
				got = append(got, c.Key.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// listenTo collects the events of a source.
func listenTo(t *testing.T, s *Store, meanwhile func(client.Object)) chan string {
	t.Helper()
	out := make(chan string, 100)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	h := handler.Funcs{GenericFunc: func(_ context.Context, e event.GenericEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		meanwhile(e.Object)
		out <- client.ObjectKeyFromObject(e.Object).String()
	}}
	if err := s.Changes(h).Start(ctx, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

func next(t *testing.T, c chan string) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(time.Minute):
		t.Fatal("the listener was not called")
		return ""
	}
}

func TestChanges(t *testing.T) {
	s := NewStore("olm")
	s.see(key("ns", "a"), 0)
	hold := make(chan struct{})
	slow := listenTo(t, s, func(client.Object) { <-hold })
	quick := listenTo(t, s, func(client.Object) {})
	if got := next(t, quick); got != "ns/a" {
		t.Errorf("a new listener is not called for an existing catalog: got %s", got)
	}
	a := &reading{content: &catalog.Content{Packages: map[string]*catalog.Package{"foo": {Name: "foo"}}}}
	s.record(key("ns", "a"), a, outcome{})
	if got := next(t, quick); got != "ns/a" {
		t.Errorf("the listener was called for %s", got)
	}
	first, _ := s.Get(key("ns", "a"))
	s.record(key("ns", "a"), &reading{content: &catalog.Content{Packages: map[string]*catalog.Package{"foo": {Name: "foo"}}}}, outcome{})
	second, _ := s.Get(key("ns", "a"))
	if first.Content != second.Content {
		t.Error("unchanged content was replaced")
	}
	s.see(key("ns", "b"), 0)
	if got := next(t, quick); got != "ns/b" {
		t.Errorf("the listener was called for unchanged content: %s", got)
	}
	s.record(key("ns", "a"), &reading{from: "another", content: &catalog.Content{Packages: map[string]*catalog.Package{"foo": {Name: "foo"}}}}, outcome{})
	if got := next(t, quick); got != "ns/a" {
		t.Errorf("the listener was not called for the same content from another image: got %s", got)
	}
	s.record(key("ns", "b"), nil, outcome{err: catalog.AsError(catalog.Errorf(v1alpha1.ReasonUnreachable, "away"), "")})
	s.forget(key("ns", "b"))
	next(t, quick)
	close(hold)
	got := []string{next(t, slow), next(t, slow)}
	slices.Sort(got)
	if got[0] == got[1] { // ns/a may appear twice, since it changed while the listener was slow
		got[1] = next(t, slow)
		slices.Sort(got)
	}
	if diff := cmp.Diff([]string{"ns/a", "ns/b"}, got); diff != "" {
		t.Errorf("A slow listener hears of all that changed.\n-want +got\n%s", diff)
	}
}

func TestRecordReleases(t *testing.T) {
	s := NewStore("olm")
	released := map[string]int{}
	of := func(name string) *reading {
		return &reading{content: &catalog.Content{}, from: name, done: func() { released[name]++ }}
	}
	k := key("ns", "a")
	s.see(k, 0)
	first, second := of("first"), of("second")
	s.record(k, first, outcome{})
	s.record(k, first, outcome{}) // read again, unchanged
	s.record(k, second, outcome{})
	s.forget(k)
	s.record(k, of("late"), outcome{}) // of a poller that was not stopped yet
	want := map[string]int{"first": 1, "second": 1, "late": 1}
	if diff := cmp.Diff(want, released); diff != "" {
		t.Errorf("What is read is released once, when it is no longer in use.\n-want +got\n%s", diff)
	}
}
