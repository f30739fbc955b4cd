// Package rootfs defines the content of the manager's images besides the manager: certificates of public registries, a user and a
// folder for temporary files. They have no shell and no package manager.
package rootfs

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// User is the numeric user and group that the manager runs as. `runAsNonRoot` accepts only numeric ones.
const User = "65532:65532"

// Manager is the path of the manager in the image, which is where ko puts it. /manager is a link to it.
const Manager = "/ko-app/manager"

// File is a file, folder or symbolic link in the image, owned by root.
type File struct {
	Name    string // relative to the root
	Mode    fs.FileMode
	Content []byte // or the target of a link
}

// Files returns everything in the image besides the manager, parents first.
func Files() []File {
	return []File{
		{Name: "etc", Mode: fs.ModeDir | 0o755},
		{Name: "etc/group", Mode: 0o644, Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{Name: "etc/ssl", Mode: fs.ModeDir | 0o755},
		{Name: "etc/ssl/certs", Mode: fs.ModeDir | 0o755},
		{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Content: certificates()},
		{Name: "manager", Mode: fs.ModeSymlink | 0o777, Content: []byte(Manager)},
		{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

// certificates returns the roots that Mozilla trusts, without those that it trusts under conditions that a file of certificates
// cannot express.
func certificates() []byte {
	out := &bytes.Buffer{}
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer does not fail
		}
	}
	return out.Bytes()
}

// Tar returns an archive of all files, with that modification time.
func Tar(modified time.Time) ([]byte, error) {
	out := &bytes.Buffer{}
	w := tar.NewWriter(out)
	for _, f := range Files() {
		h := &tar.Header{Name: f.Name, Mode: int64(f.Mode.Perm()), ModTime: modified, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		content := f.Content
		switch f.Mode.Type() &^ fs.ModeSticky {
		case fs.ModeDir:
			h.Name, h.Typeflag = f.Name+"/", tar.TypeDir
			if f.Mode&fs.ModeSticky != 0 {
				const sticky = 0o1000
				h.Mode |= sticky
			}
		case fs.ModeSymlink:
			h.Typeflag, h.Linkname, content = tar.TypeSymlink, string(f.Content), nil
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("archiving %s: %w", f.Name, err)
		}
		if _, err := w.Write(content); err != nil {
			return nil, fmt.Errorf("archiving %s: %w", f.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("closing the archive: %w", err)
	}
	return out.Bytes(), nil
}

// Write creates all files in a folder.
func Write(dir string) error {
	for _, f := range Files() {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		var err error
		switch f.Mode.Type() {
		case fs.ModeDir:
			if err = os.MkdirAll(path, f.Mode.Perm()); err == nil {
				err = os.Chmod(path, f.Mode) // regardless of the umask
			}
		case fs.ModeSymlink:
			err = os.Symlink(string(f.Content), path)
		default:
			err = os.WriteFile(path, f.Content, f.Mode)
		}
		if err != nil {
			return fmt.Errorf("writing /%s: %w", f.Name, err)
		}
	}
	return nil
}
