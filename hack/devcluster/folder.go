package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// markerName is the file that marks a cluster's folder. It is written first and removed last. A folder that has content
// but no marker belongs to another user and is left alone.
const markerName = ".devcluster"

const marker = "A cluster of devcluster lives here. `devcluster down` stops it and removes this folder.\n"

// folder is the folder with all files of a cluster.
type folder string

func (f folder) path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

func (f folder) log(name string) string { return f.path("logs", name+".log") }

func (f folder) marked() bool {
	_, err := os.Stat(f.path(markerName))
	return err == nil
}

// check returns an error if the folder is not ours. A folder that is missing or empty is accepted.
func (f folder) check() error {
	entries, err := os.ReadDir(string(f))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("reading the cluster's folder: %w", err)
	case len(entries) > 0 && !f.marked():
		return fmt.Errorf("%s is not empty and not a folder of devcluster: name another with --dir", f)
	}
	return nil
}

// claim writes the marker, unless the folder belongs to another user.
func (f folder) claim() error {
	if err := f.check(); err != nil {
		return err
	}
	if !f.marked() {
		if err := os.WriteFile(f.path(markerName), []byte(marker), 0o600); err != nil {
			_ = os.Remove(f.path(markerName))
			_ = os.Remove(string(f))
			return fmt.Errorf("marking the cluster's folder: %w", err)
		}
	}
	return nil
}

// errNoFolder means that the folder to lock does not exist.
var errNoFolder = errors.New("no such folder")

// lock prevents two devclusters from working on a folder at once. It locks the folder itself, so no lock file is left
// behind. If the folder is removed while it waits, it tries again with the new one.
func (f folder) lock(ctx context.Context, create bool, waiting func()) (func(), error) {
	for {
		if create {
			if err := os.MkdirAll(string(f), 0o700); err != nil {
				return nil, fmt.Errorf("creating the cluster's folder: %w", err)
			}
		}
		dir, err := os.Open(string(f))
		if errors.Is(err, os.ErrNotExist) {
			if create {
				continue // removed by a down
			}
			return nil, errNoFolder
		}
		if err != nil {
			return nil, fmt.Errorf("opening the cluster's folder: %w", err)
		}
		if err := lockFile(ctx, dir, waiting); err != nil {
			return nil, errors.Join(fmt.Errorf("locking the cluster's folder: %w", err), dir.Close())
		}
		if f.is(dir) {
			return func() { _ = dir.Close() }, nil
		}
		_ = dir.Close()
	}
}

func (f folder) is(dir *os.File) bool {
	locked, err := dir.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(string(f))
	return err == nil && os.SameFile(locked, named)
}

// empty removes everything except the marker.
func (f folder) empty() error {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("emptying the cluster's folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == markerName {
			continue
		}
		if err := os.RemoveAll(f.path(entry.Name())); err != nil {
			return fmt.Errorf("emptying the cluster's folder: %w", err)
		}
	}
	return nil
}

// remove removes the folder, the marker last, so a partially removed folder is still ours.
func (f folder) remove() error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.empty(); err != nil {
		return err
	}
	if err := os.RemoveAll(f.path(markerName)); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	err := os.Remove(string(f))
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.EBUSY) { // busy: a mount point
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	return nil
}

// state is stored in the cluster's folder between two commands.
type state struct {
	Tier      string         `json:"tier"`
	Ports     map[string]int `json:"ports"`
	Network   int            `json:"network,omitempty"` // the N of node.Network; 0 without a real node
	Ready     bool           `json:"ready"`             // whether up has completed
	Processes []process      `json:"processes"`
}

func (f folder) load() (state, error) {
	var s state
	content, err := os.ReadFile(f.path("state.json"))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &s)
	}
	if err != nil {
		return s, fmt.Errorf("reading the cluster's state: %w", err)
	}
	return s, nil
}

func (f folder) save(s state) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = writeWhole(f.path("state.json"), content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the cluster's state: %w", err)
	}
	return nil
}
