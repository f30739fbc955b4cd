package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// CgroupName returns the name of the cgroup that contains every pod of the node with an ID. It is at the top of each
// hierarchy.
func CgroupName(id string) string { return "devcluster-" + id }

// hierarchy is a mounted tree of cgroups: one for each controller or pair of them with cgroup v1, a single one with v2.
type hierarchy struct {
	path        string
	controllers []string
	v2          bool
}

// needed lists the controllers that the kubelet needs, with v1 and v2.
var needed = map[bool][]string{
	false: {"cpu", "cpuacct", "cpuset", "memory", "pids", "devices", "freezer"},
	true:  {"cpu", "cpuset", "memory", "pids"},
}

// hierarchies returns those that are mounted below /sys/fs/cgroup.
func hierarchies() ([]hierarchy, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("reading the mounts: %w", err)
	}
	found := parseHierarchies(string(mountinfo))
	for i, h := range found {
		if !h.v2 {
			continue
		}
		controllers, err := os.ReadFile(filepath.Join(h.path, "cgroup.controllers"))
		if err != nil {
			return nil, fmt.Errorf("reading the controllers of %s: %w", h.path, err)
		}
		found[i].controllers = strings.Fields(string(controllers))
	}
	return found, nil
}

// parseHierarchies parses /proc/PID/mountinfo. The controllers of v1 are among the options of a mount.
func parseHierarchies(mountinfo string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		const mountPoint, kind, options = 4, 0, 2
		if len(head) <= mountPoint || len(tail) <= options || !strings.HasPrefix(head[mountPoint], "/sys/fs/cgroup") {
			continue
		}
		switch tail[kind] {
		case "cgroup2":
			found = append(found, hierarchy{path: head[mountPoint], v2: true})
		case "cgroup":
			found = append(found, hierarchy{path: head[mountPoint], controllers: strings.Split(tail[options], ",")})
		}
	}
	return found
}

// checkCgroups returns an error if a controller is missing that the kubelet needs.
func checkCgroups(all []hierarchy) error {
	var has []string
	v2 := true
	for _, h := range all {
		v2 = v2 && h.v2
		has = append(has, h.controllers...)
	}
	var missing []string
	for _, controller := range needed[v2] {
		if !slices.Contains(has, controller) {
			missing = append(missing, controller)
		}
	}
	switch {
	case len(all) == 0:
		return errors.New("no cgroups are mounted below /sys/fs/cgroup")
	case len(missing) > 0:
		return fmt.Errorf("these cgroup controllers are missing below /sys/fs/cgroup: %s", strings.Join(missing, ", "))
	}
	return nil
}

// CreateCgroups creates the cgroup of a node in every hierarchy.
func CreateCgroups(id string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.v2 {
			enable(h)
		}
		path := filepath.Join(h.path, CgroupName(id))
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("creating the node's cgroup: %w", err)
		}
		for _, file := range []string{"cpuset.mems", "cpuset.cpus"} { // empty in a new cgroup of v1
			value, err := os.ReadFile(filepath.Join(h.path, file))
			if err != nil || h.v2 {
				continue
			}
			if err := os.WriteFile(filepath.Join(path, file), value, 0o644); err != nil {
				return fmt.Errorf("creating the node's cgroup: %w", err)
			}
		}
	}
	return nil
}

// enable makes the controllers of v2 available in the cgroups at the top. They stay enabled, as with any other container
// engine. A controller that cannot be enabled is reported by the kubelet.
func enable(h hierarchy) {
	for _, controller := range h.controllers {
		_ = os.WriteFile(filepath.Join(h.path, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
}

// Cgroups returns the cgroups of a node in all hierarchies, parents first.
func Cgroups(id string) []string {
	all, _ := hierarchies()
	var found []string
	for _, h := range all {
		_ = filepath.WalkDir(filepath.Join(h.path, CgroupName(id)), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return nil // a cgroup may be removed meanwhile
		})
	}
	return found
}

// Thaw resumes the frozen containers of a node. With cgroup v1 a frozen process does not even react to SIGKILL.
func Thaw(id string) {
	for _, path := range Cgroups(id) {
		state := filepath.Join(path, "freezer.state")
		if _, err := os.Stat(state); err == nil {
			_ = os.WriteFile(state, []byte("THAWED"), 0o644)
		}
	}
}

// RemoveCgroups kills the processes in the cgroups of a node and removes them.
func RemoveCgroups(id string) error {
	var err error
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // until the kernel has removed the processes
		left := Cgroups(id)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("removing the node's cgroup %s: %w", left[0], err)
		}
		for _, path := range slices.Backward(left) {
			kill(path)
			err = syscall.Rmdir(path)
		}
	}
}

func kill(cgroup string) {
	content, _ := os.ReadFile(filepath.Join(cgroup, "cgroup.procs"))
	for field := range strings.FieldsSeq(string(content)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
