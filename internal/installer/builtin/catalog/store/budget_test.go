package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// contentOf returns a content that uses about that many MiB.
func contentOf(mebibytes int) *catalog.Content {
	b := &catalog.Bundle{Name: "foo.v1", Properties: []property.Property{{Value: []byte(strings.Repeat("x", mebibytes<<20))}}}
	stable := &catalog.Channel{Entries: map[string]*catalog.Entry{b.Name: {Bundle: b}}}
	return &catalog.Content{Packages: map[string]*catalog.Package{"foo": {Channels: map[string]*catalog.Channel{"stable": stable, "alpha": stable}}}}
}

// TestFits verifies the limits of memory and disk for content: one for the catalogs of each namespace, one for all
// untrusted catalogs together, and none for trusted ones.
func TestFits(t *testing.T) {
	trusts := func(c types.NamespacedName) bool { return c.Namespace == "olm" }
	s := NewStore("olm")
	add := func(namespace, name string, mebibytes, stored int) error {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		read := &reading{content: contentOf(mebibytes), stored: int64(stored) << 20}
		if err := s.fits(key, read, trusts); err != nil {
			return err
		}
		s.see(key, 0)
		s.record(key, read, outcome{at: time.Now()})
		return nil
	}
	for i, tt := range []struct {
		reason          string
		namespace, name string
		mebibytes       int
		stored          int // MiB
		want            string
	}{
		{"", "a", "one", 10, 0, ""},
		{"A new version of a catalog replaces the previous one in the sum.", "a", "one", 12, 0, ""},
		{"", "a", "two", 10, 0, "the packages of all catalogs of the namespace would take 22MiB of memory. The limit is 16MiB"},
		{"", "olm", "one", 30, 600, ""},
		{"", "b", "one", 15, 120, ""},
		{"", "c", "one", 15, 120, ""},
		{"", "d", "one", 15, 120, ""},
		{"", "e", "one", 15, 0, "the packages of all catalogs that are not trusted would take 72MiB of memory. The limit is 64MiB"},
		{"", "olm", "two", 30, 600, ""},
		{"The disk is limited independently of the memory, since few packages may have many objects.", "b", "two", 0, 9, "the contents of all catalogs of the namespace would take 129MiB of disk space. The limit is 128MiB"},
		{"", "e", "two", 0, 120, ""},
		{"", "f", "one", 0, 50, "the contents of all catalogs that are not trusted would take 530MiB of disk space. The limit is 512MiB"},
	} {
		err := add(tt.namespace, tt.name, tt.mebibytes, tt.stored)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%d: %s\ngot  %v\nwant %s", i, tt.reason, err, tt.want)
		}
	}
	s.forget(types.NamespacedName{Namespace: "b", Name: "one"})
	if err := add("e", "one", 15, 0); err != nil {
		t.Errorf("content is refused after other content was removed: %v", err)
	}
}

func TestOldest(t *testing.T) {
	var all []olm.CatalogSource
	for i := range namespaceCatalogs + 1 {
		all = append(all, olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("c%02d", i), CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-i), 0)),
		}})
	}
	if newest := all[0].Name; oldest(slices.Clone(all))[newest] {
		t.Error("the newest CatalogSource beyond the limit is read")
	}
	if older := all[1].Name; !oldest(slices.Clone(all))[older] {
		t.Error("a CatalogSource within the limit is not read")
	}
	if newest := all[1].Name; !oldest(slices.Clone(all[1:]))[newest] {
		t.Error("the newest CatalogSource is not read although their number is within the limit")
	}
}
