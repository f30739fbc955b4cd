package reader

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

// large writes a catalog with packages and versions to a folder. Each version has objects of that many bytes.
func large(t testing.TB, packages, versions, bytes int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	filler := make([]byte, bytes*3/4)
	random := rand.NewChaCha8([32]byte{})
	for p := range packages {
		name := fmt.Sprintf("package-%d", p)
		var numbers []string
		for v := range versions {
			numbers = append(numbers, fmt.Sprintf("1.%d.0", v))
		}
		var out strings.Builder
		fbc := catalogtest.FBC(name, numbers...)
		out.WriteString(strings.Split(fbc, "---\nschema: olm.bundle")[0])
		for _, n := range numbers {
			_, _ = random.Read(filler) // never fails
			crd := strings.Replace(catalogtest.CRD, "metadata: {", "metadata: {annotations: {filler: "+base64.StdEncoding.EncodeToString(filler)+"}, ", 1)
			out.WriteString(catalogtest.BundleYAML(name, name+".v"+n, n, "", catalogtest.CSV(name+".v"+n, n), crd))
			fmt.Fprintf(&out, "- type: olm.gvk\n  value: {group: example.com, version: v1, kind: Foo%d}\n", p)
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "catalog.yaml"), []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// heapDuring returns the peak heap usage while f runs, including garbage, and the heap that its result keeps.
func heapDuring(f func() any) (peak, kept uint64) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before := heap()
	var most atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most.Store(max(most.Load(), heap()))
			}
		}
	}()
	result := f()
	close(stop)
	<-done
	runtime.GC()
	kept = heap() - min(before, heap())
	runtime.KeepAlive(result)
	return most.Load() - min(before, most.Load()), kept
}

func TestMemoryOfALargeCatalog(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes and reads 200 MB")
	}
	const packages, versions, bytes = 300, 5, 100 << 10
	dir := large(t, packages, versions, bytes)
	start := time.Now()
	peak, kept := heapDuring(func() any {
		content, err := Read(context.Background(), os.DirFS(dir), catalog.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		if len(content.Packages) != packages {
			t.Fatalf("%d packages, %d invalid", len(content.Packages), len(content.Invalid))
		}
		return content
	})
	const objects = packages * versions * bytes
	t.Logf("%d packages × %d versions with %s of objects: %s, peak heap %s, kept %s",
		packages, versions, messages.Size(objects), time.Since(start).Round(time.Millisecond), messages.Size(int64(peak)), messages.Size(int64(kept)))
	if kept > objects/20 {
		t.Errorf("%s are in use after the read: objects are kept in memory", messages.Size(int64(kept)))
	}
	if peak > objects/2 {
		t.Errorf("the heap grows to %s: the catalog is not streamed", messages.Size(int64(peak)))
	}
}

func BenchmarkRead(b *testing.B) {
	dir := large(b, 30, 5, 100<<10)
	b.SetBytes(30 * 5 * 100 << 10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(context.Background(), os.DirFS(dir), catalog.DefaultLimits); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(catalogtest.Archive(f, catalogtest.Files("configs/a.yaml", "a", "../b", "b", "/c", "c")))
	f.Add(catalogtest.Archive(f, []catalogtest.TarEntry{{Name: "configs", Link: "/etc"}, {Name: "configs/passwd", Content: "x"},
		{Name: "a", Link: "../../b", Hard: true}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		image, err := catalogtest.ImageOf(bytes.Clone(data))
		if err != nil {
			return
		}
		scratch, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = scratch.Close() }()
		s := &session{Request: catalog.Request{Image: "example.com/fuzz", Limits: catalog.DefaultLimits}, scratch: scratch}
		size, err := s.extract(context.Background(), image, "/configs")
		if err != nil {
			return // an error is fine
		}
		if _, err := zip.NewReader(scratch, size); err != nil && !errors.Is(err, zip.ErrInsecurePath) {
			t.Fatalf("the unpacked archive cannot be read: %v", err)
		}
	})
}
