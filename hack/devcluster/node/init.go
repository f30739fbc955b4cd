package node

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadyFile exists in a node whose mounts and settings are complete.
const ReadyFile = "/run/devcluster.ready"

// ResolverFile in the node's data is its /etc/resolv.conf.
const ResolverFile = "resolv.conf"

// Root returns the path by which this machine sees the file system of the node whose first process is pid.
func Root(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid), "root") }

// own maps folders of the node that are not those of the machine to subfolders of the node's data. /run is in memory.
var own = map[string]string{"/var/lib": "lib", "/var/log": "log"}

// kernelSettings are the values that the kubelet sets for the whole machine. The node has copies of them, so the
// kubelet leaves the machine's as they are.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// networkSettings apply to the node's network namespace only.
var networkSettings = map[string]string{
	"net/ipv4/ip_forward":                "1",
	"net/bridge/bridge-nf-call-iptables": "1", // a Service whose pod is on the same bridge; missing without br_netfilter
}

// Init is the first process of a node. It gives the node its own file systems and settings, and then waits for SIGTERM.
// Its data is in the folder data; the folders in visible keep their paths even below a folder that is replaced.
func Init(name, data string, visible []string) error {
	terminated := make(chan os.Signal, 16)
	signal.Notify(terminated, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)

	if err := mounts(data, visible); err != nil {
		return err
	}
	if err := settings(data); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("setting the node's host name: %w", err)
	}
	if err := os.WriteFile(ReadyFile, nil, 0o600); err != nil {
		return fmt.Errorf("reporting the node as ready: %w", err)
	}
	for sig := range terminated {
		if sig != syscall.SIGCHLD {
			return nil
		}
		collectOrphans()
	}
	return nil
}

// mounts gives the node its own /proc, /sys, /run, /var/lib and /var/log.
func mounts(data string, visible []string) error {
	// Mounts of the node do not appear on the machine.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return err
	}
	keep := map[string]*os.File{}
	for _, path := range visible {
		file, err := os.OpenFile(path, unix.O_PATH, 0)
		if err != nil {
			return fmt.Errorf("opening %s for the node: %w", path, err)
		}
		defer func() { _ = file.Close() }()
		keep[path] = file
	}
	sources := map[string]*os.File{}
	for target, sub := range own {
		source := filepath.Join(data, sub)
		if err := os.MkdirAll(source, 0o755); err != nil {
			return fmt.Errorf("creating the node's %s: %w", target, err)
		}
		file, err := os.OpenFile(source, unix.O_PATH, 0)
		if err != nil {
			return fmt.Errorf("opening the node's %s: %w", target, err)
		}
		defer func() { _ = file.Close() }()
		sources[target] = file
	}
	if err := sysfs(data); err != nil {
		return err
	}
	for target, source := range sources {
		if err := bind(source, target); err != nil {
			return err
		}
	}
	if err := mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return err
	}
	for path, file := range keep {
		if err := reveal(path, file); err != nil {
			return err
		}
	}
	if err := bindResolver(filepath.Join(data, ResolverFile)); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	// Pods may ask for mounts that appear in other pods, so those are shared, but only within the node.
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// bindResolver replaces /etc/resolv.conf, which may be a link to a file in the machine's /run.
func bindResolver(own string) error {
	target := "/etc/resolv.conf"
	if link, err := os.Readlink(target); err == nil {
		if target = link; !filepath.IsAbs(link) {
			target = filepath.Join("/etc", link)
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("creating the folder of the node's resolv.conf: %w", err)
		}
		file, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return fmt.Errorf("creating the node's resolv.conf: %w", err)
		}
		_ = file.Close() // nothing was written
	}
	return mount(own, target, "", unix.MS_BIND, "")
}

// sysfs mounts a /sys that shows the node's network, with the cgroups of the machine.
func sysfs(data string) error {
	const cgroups = "/sys/fs/cgroup"
	aside := filepath.Join(data, "cgroup")
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return fmt.Errorf("creating a folder for the node's cgroups: %w", err)
	}
	if err := mount(cgroups, aside, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	return mount(aside, cgroups, "", unix.MS_MOVE, "")
}

// reveal mounts a folder at its path again if that was replaced.
func reveal(path string, file *os.File) error {
	under := path == "/run" || strings.HasPrefix(path, "/run/")
	for target := range own {
		under = under || strings.HasPrefix(path, target+"/")
	}
	if !under {
		return nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("creating %s in the node: %w", path, err)
	}
	return bind(file, path)
}

// bind mounts an open folder, whose path may be hidden by now.
func bind(source *os.File, target string) error {
	return mount(fmt.Sprintf("/proc/self/fd/%d", source.Fd()), target, "", unix.MS_BIND|unix.MS_REC, "")
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s for the node: %w", target, err)
	}
	return nil
}

// settings writes the node's settings without changing the machine's.
func settings(data string) error {
	for name, value := range networkSettings {
		err := os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("setting %s in the node: %w", name, err)
		}
	}
	folder := filepath.Join(data, "sys")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("creating the node's settings: %w", err)
	}
	for name, value := range kernelSettings {
		target := "/proc/sys/" + name
		if _, err := os.Stat(target); errors.Is(err, os.ErrNotExist) {
			continue
		}
		file := filepath.Join(folder, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("creating the node's settings: %w", err)
		}
		if err := mount(file, target, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}
