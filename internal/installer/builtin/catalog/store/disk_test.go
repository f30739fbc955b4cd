package store

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestDiskKeepsWhatIsUsed(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	put(t, d, "sha256:1")
	put(t, d, "sha256:2")
	a, b := key("ns", "a"), key("ns", "b")
	remember(t, d, a, "sha256:1")
	remember(t, d, b, "sha256:1")

	remember(t, d, a, "sha256:2")
	check(t, d, "sha256:1", true, "b still uses it")
	release := d.hold("sha256:1")
	if err := d.forget(b); err != nil {
		t.Fatal(err)
	}
	check(t, d, "sha256:1", true, "it is being read")
	release()
	release() // a second call does nothing
	check(t, d, "sha256:1", false, "it is no longer used")
	check(t, d, "sha256:2", true, "a uses it")

	put(t, d, "sha256:3") // of a run that ended before the content was used
	if err := os.WriteFile(filepath.Join(dir, "new", "half"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, dir)
	if got := again.last(a, "example.com/image").Digest; got != "sha256:2" {
		t.Errorf("last digest of a: %q", got)
	}
	if got := again.last(a, "example.com/other").Digest; got != "" {
		t.Errorf("last digest of another image: %q", got)
	}
	if err := again.forgetOthers(func(types.NamespacedName) bool { return true }); err != nil {
		t.Fatal(err)
	}
	check(t, again, "sha256:2", true, "a used it before the restart")
	check(t, again, "sha256:3", false, "it was never used")
	if err := again.forgetOthers(func(types.NamespacedName) bool { return false }); err != nil {
		t.Fatal(err)
	}
	check(t, again, "sha256:2", false, "a was deleted before the restart")
}

func mustOpen(t *testing.T, dir string) *disk {
	t.Helper()
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t *testing.T, d *disk, digest string) {
	t.Helper()
	folder, err := d.folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, contentFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.add(digest, folder); err != nil {
		t.Fatal(err)
	}
}

func remember(t *testing.T, d *disk, key types.NamespacedName, digest string) {
	t.Helper()
	if err := d.remember(key, use{Image: "example.com/image", Digest: digest}); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, d *disk, digest string, want bool, reason string) {
	t.Helper()
	if got := d.has(digest); got != want {
		t.Errorf("%s is kept: %v, but %s", digest, got, reason)
	}
}
