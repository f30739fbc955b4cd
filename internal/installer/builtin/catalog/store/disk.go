package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// disk stores catalog contents, which keeps their objects out of memory, and saves pulls after a restart of the manager.
//
//	content/<digest>/catalog.json          the catalog, without objects
//	content/<digest>/<hash of name>.json   a bundle with its objects, if the catalog contains them
//	used/<namespace>_<name>.json           the content that a CatalogSource uses
//
// Contents are complete: each is written to another folder and renamed. A content is removed when it is no longer used.
type disk struct {
	dir string

	mu   sync.Mutex
	held map[string]int
	used map[types.NamespacedName]use
}

// use is the content that a CatalogSource uses, and the image reference that its digest was resolved from.
type use struct {
	Image  string `json:"image"`
	Digest string `json:"digest"`

	// Demand is the hash of the ImagePolicies' requirements when the image was read. SignedBy lists the authorities that
	// signed it.
	Demand   string `json:"demand,omitempty"`
	SignedBy string `json:"signedBy,omitempty"`
}

func openDisk(dir string) (*disk, error) {
	d := &disk{dir: dir, held: map[string]int{}, used: map[types.NamespacedName]use{}}
	if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
		return nil, fmt.Errorf("removing the unfinished files of an earlier run: %w", err)
	}
	for _, sub := range []string{"content", "used", "new"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("creating the folder for catalogs: %w", err)
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "used"))
	if err != nil {
		return nil, fmt.Errorf("listing the stored catalogs: %w", err)
	}
	for _, f := range files {
		namespace, name, ok := strings.Cut(strings.TrimSuffix(f.Name(), ".json"), "_")
		data, err := os.ReadFile(filepath.Join(dir, "used", f.Name()))
		var u use
		if ok && err == nil && json.Unmarshal(data, &u) == nil {
			d.used[types.NamespacedName{Namespace: namespace, Name: name}] = u
		}
	}
	return d, nil
}

func (d *disk) contentDir(digest string) string {
	return filepath.Join(d.dir, "content", strings.ReplaceAll(digest, ":", "-"))
}

func (d *disk) usePath(key types.NamespacedName) string {
	return filepath.Join(d.dir, "used", key.Namespace+"_"+key.Name+".json")
}

// hold protects a content from removal until release is called.
func (d *disk) hold(digest string) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[digest]++
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.held[digest]--; d.held[digest] == 0 {
			delete(d.held, digest)
		}
		d.collect(digest)
	})
}

// last returns the last use of a CatalogSource if it was of the image, or the zero value.
func (d *disk) last(key types.NamespacedName, image string) use {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u := d.used[key]; u.Image == image {
		return u
	}
	return use{}
}

// remember records the use of a CatalogSource, so the content survives a restart of the manager.
func (d *disk) remember(key types.NamespacedName, u use) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.used[key]
	if before == u {
		return nil
	}
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	d.used[key] = u
	defer d.collect(before.Digest)
	temporary := filepath.Join(d.dir, "new", filepath.Base(d.usePath(key)))
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, d.usePath(key))
}

// forget removes the record of a CatalogSource that no longer uses a stored content.
func (d *disk) forget(key types.NamespacedName) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, ok := d.used[key]
	if !ok {
		return nil
	}
	delete(d.used, key)
	d.collect(before.Digest)
	if err := os.Remove(d.usePath(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// forgetOthers removes the records of CatalogSources that no longer exist, and unused contents.
func (d *disk) forgetOthers(exists func(types.NamespacedName) bool) error {
	d.mu.Lock()
	var gone []types.NamespacedName
	for key := range d.used {
		if !exists(key) {
			gone = append(gone, key)
		}
	}
	d.mu.Unlock()
	for _, key := range gone {
		if err := d.forget(key); err != nil {
			return fmt.Errorf("removing catalog %s: %w", key, err)
		}
	}
	contents, err := os.ReadDir(filepath.Join(d.dir, "content"))
	if err != nil {
		return fmt.Errorf("listing the stored catalogs: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range contents {
		d.collect(strings.Replace(c.Name(), "-", ":", 1))
	}
	return nil
}

// collect removes a content unless it is used. If the removal fails, it is retried at the next start. The caller holds
// d.mu.
func (d *disk) collect(digest string) {
	if digest == "" || d.held[digest] > 0 {
		return
	}
	for _, u := range d.used {
		if u.Digest == digest {
			return
		}
	}
	_ = os.RemoveAll(d.contentDir(digest))
}

// has reports whether a content is stored.
func (d *disk) has(digest string) bool {
	_, err := os.Stat(filepath.Join(d.contentDir(digest), contentFile))
	return digest != "" && err == nil
}

// size returns the size of a stored content in bytes, or 0.
func (d *disk) size(digest string) (bytes int64) {
	files, err := os.ReadDir(d.contentDir(digest))
	if err != nil {
		return 0
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// folder creates and returns an empty folder to write a content to.
func (d *disk) folder() (string, error) {
	out, err := os.MkdirTemp(filepath.Join(d.dir, "new"), "content")
	if err != nil {
		return "", fmt.Errorf("creating a folder for the catalog: %w", err)
	}
	return out, nil
}

// add moves a folder with a complete content into place. The caller must hold the digest.
func (d *disk) add(digest, folder string) error {
	if d.has(digest) {
		return nil // another CatalogSource with the same content was first
	}
	if err := os.Rename(folder, d.contentDir(digest)); err != nil && !d.has(digest) {
		return fmt.Errorf("storing the catalog: %w", err)
	}
	return nil
}

// read returns a stored catalog, without objects.
func (d *disk) read(digest string, limits catalog.Limits) (*catalog.Content, error) {
	f, err := os.Open(filepath.Join(d.contentDir(digest), contentFile))
	if err != nil {
		return nil, fmt.Errorf("reading the stored catalog: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	out := catalog.NewContent()
	for answers := json.NewDecoder(io.LimitReader(f, limits.Kept+2*limits.Bundle)); ; {
		var a catalog.Answer
		err := answers.Decode(&a)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the stored catalog: %w", err)
		}
		out.Add(a)
	}
}

// bundle returns the stored copy of a bundle with its objects. It is nil if the objects are in the bundle's image.
func (d *disk) bundle(digest string, b *catalog.BundleRequest) (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(d.contentDir(digest), bundleFile(b.Package, b.Name)))
	if errors.Is(err, fs.ErrNotExist) && d.has(digest) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// contentFile holds the answers that describe the catalog.
const contentFile = "catalog.json"

func bundleFile(packageName, bundle string) string {
	hash := sha256.Sum256([]byte(packageName + "/" + bundle))
	return hex.EncodeToString(hash[:]) + ".json"
}
