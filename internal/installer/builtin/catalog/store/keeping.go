package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// keeping is a content that is on disk, or is written to it while it is read.
type keeping struct {
	disk    *disk
	digest  string
	content *catalog.Content // complete if it is on disk, otherwise the part read so far

	// release ends the hold on the content; nil once the caller of finish is responsible for it.
	release func()

	// dir is the folder that a new content is written to, and answers the file in it with the answers that describe the
	// catalog.
	dir     string
	answers *os.File
}

// keep returns the content on disk, or starts to write a new one. there reports which.
func (d *disk) keep(digest string, limits catalog.Limits) (k *keeping, stored bool, err error) {
	k = &keeping{disk: d, digest: digest, release: d.hold(digest)}
	if k.content, err = d.read(digest, limits); err == nil {
		return k, true, nil
	}
	k.content = catalog.NewContent()
	if k.dir, err = d.folder(); err == nil {
		k.answers, err = os.Create(filepath.Join(k.dir, contentFile))
	}
	if err != nil {
		k.close()
		return nil, false, fmt.Errorf("storing the catalog: %w", err)
	}
	return k, false, nil
}

// add adds an answer to the content.
func (k *keeping) add(a catalog.Answer) error {
	k.content.Add(a)
	return json.NewEncoder(k.answers).Encode(a)
}

// finish moves a new content into place. The content may be removed after release is called.
func (k *keeping) finish() (release func(), err error) {
	if k.answers != nil {
		err := k.answers.Close()
		k.answers = nil
		if err != nil {
			return nil, fmt.Errorf("storing the catalog: %w", err)
		}
		if err := k.disk.add(k.digest, k.dir); err != nil {
			return nil, err
		}
	}
	release = k.release
	k.release = nil
	return release, nil
}

// close discards an unfinished content. It does nothing after finish.
func (k *keeping) close() {
	if k.answers != nil {
		_ = k.answers.Close() // it is removed below
	}
	if k.dir != "" {
		_ = os.RemoveAll(k.dir) // the next start removes the rest
	}
	if k.release != nil {
		k.release()
	}
}
