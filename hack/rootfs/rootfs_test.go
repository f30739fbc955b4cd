package rootfs

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"io"
	"io/fs"
	"path/filepath"
	"testing"
	"time"
)

// TestArchiveMatchesFolder verifies that the archive for ko and the folder for the Dockerfile contain the same files.
func TestArchiveMatchesFolder(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	inFolder := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(dir, path)
		inFolder[name] = info.Mode().String()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	archive, err := Tar(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for r := tar.NewReader(bytes.NewReader(archive)); ; count++ {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := h.FileInfo().Mode().String(), inFolder[filepath.Clean(h.Name)]; got != want {
			t.Errorf("%s is %s in the archive and %q in the folder", h.Name, got, want)
		}
	}
	if count != len(inFolder) {
		t.Errorf("the archive has %d files and the folder %d", count, len(inFolder))
	}
}

// TestCertificates verifies that Go trusts the roots.
func TestCertificates(t *testing.T) {
	const fewest = 100
	text := certificates()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) || bytes.Count(text, []byte("BEGIN CERTIFICATE")) < fewest {
		t.Errorf("the file of %d bytes does not contain at least %d certificates", len(text), fewest)
	}
}
