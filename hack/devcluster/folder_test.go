package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFolderOwnership(t *testing.T) {
	cases := map[string]struct {
		reason string
		lay    func(t *testing.T, dir string)
		ours   bool
	}{
		"empty":   {"An empty folder can be claimed.", func(*testing.T, string) {}, true},
		"marked":  {"A folder with the marker can be claimed again.", func(t *testing.T, dir string) { must(t, folder(dir).claim()); write(t, dir+"/etcd/x", "", 0o600) }, true},
		"foreign": {"A folder with foreign files cannot be claimed.", func(t *testing.T, dir string) { write(t, dir+"/thesis.tex", "", 0o600) }, false},
		"a state only": {"A folder with a state file but no marker cannot be claimed.", func(t *testing.T, dir string) { write(t, dir+"/state.json", "{}", 0o600) },
			false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := folder(filepath.Join(t.TempDir(), "cluster"))
			must(t, os.Mkdir(string(dir), 0o700))
			tc.lay(t, string(dir))
			claimed, removed := dir.claim() == nil, dir.remove() == nil
			_, err := os.Stat(string(dir))
			gone := errors.Is(err, os.ErrNotExist)
			if diff := cmp.Diff([]bool{tc.ours, tc.ours, tc.ours}, []bool{claimed, removed, gone}); diff != "" {
				t.Errorf("%s Claimed, removed, not found (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStateRoundTrip(t *testing.T) {
	dir := folder(t.TempDir())
	want := state{Tier: "none", Ports: map[string]int{"etcd": 1}, Ready: true,
		Processes: []process{{Name: "etcd", Pid: 2, StartTime: 3, Executable: "/bin/etcd", Since: time.Unix(4, 0).UTC()}}}
	must(t, dir.save(want))
	got, err := dir.load()
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-written +read):\n%s", diff)
	}
}

func TestExclusiveLock(t *testing.T) {
	dir := folder(filepath.Join(t.TempDir(), "cluster"))
	unlock, err := dir.lock(t.Context(), true, func() { t.Error("lock waited although the lock was free") })
	must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	if _, err := dir.lock(ctx, true, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("locking a locked folder returned %v, want to wait until interrupted", err)
	}

	// The holder removes the folder while another caller waits, which must then lock a new folder.
	release := func() { must(t, os.Remove(string(dir))); unlock() }
	unlock, err = dir.lock(t.Context(), true, release)
	must(t, err)
	defer unlock()
	if _, err := os.Stat(string(dir)); err != nil {
		t.Errorf("the locked folder: %v", err)
	}
}

func TestLockWithoutFolder(t *testing.T) {
	if _, err := folder(filepath.Join(t.TempDir(), "none")).lock(t.Context(), false, nil); !errors.Is(err, errNoFolder) {
		t.Errorf("locking a missing folder returned %v, want %v", err, errNoFolder)
	}
}
