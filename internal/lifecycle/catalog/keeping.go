package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// keeping is a content that is taken from the disk, or written to it while it is read.
type keeping struct {
	disk    *disk
	digest  string
	content *Content // what is there, or has been read so far

	// release lets go of the content on the disk; nil once somebody else is to.
	release func()

	// What is read is written to a folder, and the answers that told it to a file in it.
	dir     string
	answers *os.File
}

// keep begins to keep a content, unless it is there.
func (d *disk) keep(digest string, limits Limits) (k *keeping, there bool, err error) {
	k = &keeping{disk: d, digest: digest, release: d.hold(digest)}
	if k.content, err = d.read(digest, limits); err == nil {
		return k, true, nil
	}
	k.content = newContent()
	if k.dir, err = d.folder(); err == nil {
		k.answers, err = os.Create(filepath.Join(k.dir, contentFile))
	}
	if err != nil {
		k.close()
		return nil, false, fmt.Errorf("keeping the catalog: %w", err)
	}
	return k, false, nil
}

// add takes up an answer.
func (k *keeping) add(a Answer) error {
	k.content.add(a)
	return json.NewEncoder(k.answers).Encode(a)
}

// finish puts the content on the disk, if it was not there. Whoever calls release takes it away again.
func (k *keeping) finish() (release func(), err error) {
	if k.answers != nil {
		err := k.answers.Close()
		k.answers = nil
		if err != nil {
			return nil, fmt.Errorf("keeping the catalog: %w", err)
		}
		if err := k.disk.add(k.digest, k.dir); err != nil {
			return nil, err
		}
	}
	release = k.release
	k.release = nil
	return release, nil
}

// close gives up what was not finished.
func (k *keeping) close() {
	if k.answers != nil {
		_ = k.answers.Close() // it goes
	}
	if k.dir != "" {
		_ = os.RemoveAll(k.dir) // the next start removes what is left
	}
	if k.release != nil {
		k.release()
	}
}
