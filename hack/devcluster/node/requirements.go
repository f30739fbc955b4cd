package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Install is the command that installs the requirements of a real node on Debian and Ubuntu.
const Install = "apt-get install --no-install-recommends containerd runc containernetworking-plugins iptables nftables"

// Path is the search path of a node's processes.
const Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// programs lists the programs of a real node that devcluster does not build.
var programs = []string{"containerd", "containerd-shim-runc-v2", "runc", "nft", "iptables"}

// pluginFolders lists where distributions install CNI plugins.
var pluginFolders = []string{"/usr/lib/cni", "/usr/libexec/cni", "/opt/cni/bin"}

var plugins = []string{"bridge", "host-local", "loopback", "portmap"}

// Machine provides the properties of a machine that Check reads. Tests replace them.
type Machine struct {
	UID         int
	Find        func(program string) error
	Plugins     func(folder string) error
	Hierarchies func() ([]hierarchy, error)
}

// ThisMachine returns the machine that this process runs on.
func ThisMachine() Machine {
	return Machine{
		UID:         os.Geteuid(),
		Find:        func(program string) error { _, err := Find(program); return err },
		Plugins:     hasPlugins,
		Hierarchies: hierarchies,
	}
}

// Check returns a one-line error, with the remedy, if a real node cannot run on m.
func (m Machine) Check() error {
	if m.UID != 0 {
		return errors.New("--nodes=real needs root, for namespaces and cgroups: run it as root, or use --nodes=fake")
	}
	var missing []string
	for _, program := range programs {
		if m.Find(program) != nil {
			missing = append(missing, program)
		}
	}
	if m.pluginFolder() == "" {
		missing = append(missing, "CNI plugins")
	}
	if len(missing) > 0 {
		return fmt.Errorf("--nodes=real needs %s: install with %s", strings.Join(missing, ", "), Install)
	}
	all, err := m.Hierarchies()
	if err == nil {
		err = checkCgroups(all)
	}
	if err != nil {
		return fmt.Errorf("--nodes=real needs cgroups: %w", err)
	}
	return nil
}

func (m Machine) pluginFolder() string {
	for _, folder := range pluginFolders {
		if m.Plugins(folder) == nil {
			return folder
		}
	}
	return ""
}

// PluginFolder returns the folder of the CNI plugins.
func PluginFolder() string { return ThisMachine().pluginFolder() }

func hasPlugins(folder string) error {
	for _, plugin := range plugins {
		if _, err := os.Stat(filepath.Join(folder, plugin)); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the path of a program in Path.
func Find(program string) (string, error) {
	for _, folder := range filepath.SplitList(Path) {
		if path, err := exec.LookPath(filepath.Join(folder, program)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in %s", program, Path)
}
