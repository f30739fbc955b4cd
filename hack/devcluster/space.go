package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/mod/module"
)

// space is disk space that is needed in a place.
type space struct {
	what string
	path string // need not exist yet
	mb   uint64
}

// spaceFor returns the space that building jobs may need, assuming a cold build cache.
func (w *builder) spaceFor(jobs []job, env goEnv) []space {
	var binaries, cache, modules, work uint64
	seen := map[string]bool{}
	for _, j := range jobs {
		binaries += j.binaryMB
		cache += j.cacheMB
		work = max(work, j.cacheMB+j.binaryMB) // go also keeps a build's packages there until it ends
		if !seen[j.module] && !downloaded(env.ModCache, j.pinned, j.version) {
			modules += moduleMB[j.module]
		}
		seen[j.module] = true
	}
	return []space{
		{"the build cache", env.Cache, cache},
		{"the module cache", env.ModCache, modules},
		{"the compiler's work", w.bin, work},
		{"the binaries", w.bin, binaries},
	}
}

// moduleMB is the space that downloading and unpacking all dependencies of each module takes, in MB.
var moduleMB = map[string]uint64{"kubernetes": 1000, "etcd": 300, "kwok": 400, "olm": 900, "registry": 700, "coredns": 500, "healthprobe": 50}

func downloaded(modCache, path, version string) bool {
	escaped, err := module.EscapePath(path)
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(modCache, escaped+"@"+version))
	return err == nil
}

// checkSpace returns an error if a file system has less free space than is needed on it in total.
func checkSpace(wanted []space) error {
	type disk struct {
		free   uint64
		need   uint64
		places []string
	}
	disks := map[uint64]*disk{}
	var order []uint64
	for _, s := range wanted {
		if s.mb == 0 {
			continue
		}
		device, free, err := freeSpace(s.path)
		if err != nil {
			return fmt.Errorf("looking for room for %s in %s: %w", s.what, s.path, err)
		}
		if disks[device] == nil {
			disks[device] = &disk{free: free}
			order = append(order, device)
		}
		disks[device].need += s.mb
		disks[device].places = append(disks[device].places, fmt.Sprintf("%d MB for %s in %s", s.mb, s.what, s.path))
	}
	for _, device := range order {
		if d := disks[device]; d.free < d.need {
			return fmt.Errorf("too little disk space: %d MB free, up to %d MB needed (%s)", d.free, d.need, strings.Join(d.places, ", "))
		}
	}
	return nil
}

// freeSpace returns the file system of path, which need not exist yet, and its free space for ordinary users in MB.
func freeSpace(path string) (device, mb uint64, err error) {
	for {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) && path != filepath.Dir(path) {
			path = filepath.Dir(path)
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		var fs syscall.Statfs_t
		if err := syscall.Statfs(path, &fs); err != nil {
			return 0, 0, err
		}
		return info.Sys().(*syscall.Stat_t).Dev, fs.Bavail * uint64(fs.Bsize) >> 20, nil
	}
}
