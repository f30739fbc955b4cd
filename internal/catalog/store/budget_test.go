package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-status/operator-status/internal/catalog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// contentOf returns a content that uses about that many MiB.
func contentOf(mebibytes int) *catalog.Content {
	b := &catalog.Bundle{Name: "foo.v1", Properties: []property.Property{{Value: []byte(strings.Repeat("x", mebibytes<<20))}}}
	stable := &catalog.Channel{Entries: map[string]*catalog.Entry{b.Name: {Bundle: b}}}
	return &catalog.Content{Packages: map[string]*catalog.Package{"foo": {Channels: map[string]*catalog.Channel{"stable": stable, "alpha": stable}}}}
}

// TestFits verifies the memory limits for content: one for the catalogs of each namespace, one for all untrusted
// catalogs together, and none for trusted ones.
func TestFits(t *testing.T) {
	trusts := func(c types.NamespacedName) bool { return c.Namespace == "olm" }
	s := NewStore("olm")
	add := func(namespace, name string, mebibytes int) error {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		content := contentOf(mebibytes)
		if err := s.fits(key, content, trusts); err != nil {
			return err
		}
		s.see(key, 0)
		s.record(key, &reading{content: content}, outcome{at: time.Now()})
		return nil
	}
	for i, tt := range []struct {
		reason          string
		namespace, name string
		mebibytes       int
		want            string
	}{
		{"", "a", "one", 10, ""},
		{"Another version of the same takes its place.", "a", "one", 12, ""},
		{"", "a", "two", 10, "the packages of all catalogs of the namespace would take 22MiB of memory. The limit is 16MiB"},
		{"", "olm", "one", 30, ""},
		{"", "b", "one", 15, ""},
		{"", "c", "one", 15, ""},
		{"", "d", "one", 15, ""},
		{"", "e", "one", 15, "the packages of all catalogs that are not trusted would take 72MiB of memory. The limit is 64MiB"},
		{"", "olm", "two", 30, ""},
	} {
		err := add(tt.namespace, tt.name, tt.mebibytes)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%d: %s\ngot  %v\nwant %s", i, tt.reason, err, tt.want)
		}
	}
	s.forget(types.NamespacedName{Namespace: "b", Name: "one"})
	if err := add("e", "one", 15); err != nil {
		t.Errorf("there is room again: %v", err)
	}
}

func TestTooMany(t *testing.T) {
	var all []olm.CatalogSource
	for i := range namespaceCatalogs + 1 {
		all = append(all, olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("c%02d", i), CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-i), 0)),
		}})
	}
	if newest := all[0]; !tooMany(&newest, all) {
		t.Error("the newest of too many is read")
	}
	if older := all[1]; tooMany(&older, all) {
		t.Error("one of the oldest is not read")
	}
	if newest := all[len(all)-1]; tooMany(&newest, all[1:]) {
		t.Error("as many as are allowed are not all read")
	}
}
