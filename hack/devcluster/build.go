package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/modfile"
)

// heartbeat is how often a long build says that it still lives.
const heartbeat = 15 * time.Second

// recipe is how one binary is made: a command of a module pinned in hack/devcluster/<module>/go.mod.
type recipe struct {
	name    string
	module  string                      // the folder under hack/devcluster
	command string                      // the package that is built
	pinned  string                      // the dependency whose version is the binary's
	stamp   func(version string) string // linker flags that tell the binary its version; nil if its source does
	tags    string                      // build tags
	extra   bool                        // not of every control plane: built only where it is asked for

	cacheMB, binaryMB uint64 // what a cold build leaves in the build cache beyond those before it, and the result
	cold              string // how long that takes on two cores
}

var recipes = []recipe{
	{name: "etcd", module: "etcd", command: "go.etcd.io/etcd/server/v3", pinned: "go.etcd.io/etcd/server/v3",
		cacheMB: 320, binaryMB: 30, cold: "1 min"},
	{name: "kube-apiserver", module: "kubernetes", command: "k8s.io/kubernetes/cmd/kube-apiserver", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 2200, binaryMB: 110, cold: "3 min"},
	{name: "kube-controller-manager", module: "kubernetes", command: "k8s.io/kubernetes/cmd/kube-controller-manager", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 700, binaryMB: 100, cold: "2 min"},
	{name: "kube-scheduler", module: "kubernetes", command: "k8s.io/kubernetes/cmd/kube-scheduler", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 100, binaryMB: 80, cold: "15 s"},
	{name: "kubectl", module: "kubernetes", command: "k8s.io/kubernetes/cmd/kubectl", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 150, binaryMB: 60, cold: "30 s"},
	{name: "kwok", module: "kwok", command: "sigs.k8s.io/kwok/cmd/kwok", pinned: "sigs.k8s.io/kwok",
		cacheMB: 500, binaryMB: 70, cold: "1 min"},
	{name: "olm", module: "olm", command: olmModule + "/cmd/olm", pinned: olmModule, stamp: variable(olmModule + "/pkg/version.OLMVersion"),
		extra: true, cacheMB: 1300, binaryMB: 80, cold: "3 min"},
	{name: "catalog", module: "olm", command: olmModule + "/cmd/catalog", pinned: olmModule, stamp: variable(olmModule + "/pkg/version.OLMVersion"),
		extra: true, cacheMB: 50, binaryMB: 80, cold: "10 s"},
	{name: "opm", module: "registry", command: registryModule + "/cmd/opm", pinned: registryModule, stamp: variable(registryModule + "/cmd/opm/version.opmVersion"),
		tags:  "json1,exclude_graphdriver_btrfs,containers_image_openpgp",
		extra: true, cacheMB: 900, binaryMB: 70, cold: "2 min"},
}

const (
	olmModule      = "github.com/operator-framework/operator-lifecycle-manager"
	registryModule = "github.com/operator-framework/operator-registry"
)

func recipeNames() []string {
	var names []string
	for _, r := range recipes {
		names = append(names, r.name)
	}
	return names
}

// kubernetesVersion is what Kubernetes' own release scripts stamp, so that /version, discovery and user agents read as
// those of a release.
func kubernetesVersion(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			"-X "+pkg+".gitVersion="+version,
			"-X "+pkg+".gitMajor="+major,
			"-X "+pkg+".gitMinor="+minor,
			"-X "+pkg+".gitCommit=") // a module does not know it
	}
	return strings.Join(flags, " ")
}

// variable is the stamp of a program that keeps its version in one variable.
func variable(name string) func(version string) string {
	return func(version string) string { return "-X " + name + "=" + version }
}

// workshop is where the binaries are made.
type workshop struct {
	root string // the repository's
	bin  string // where the binaries lie; Go's envtest suites take it as KUBEBUILDER_ASSETS
	out  io.Writer

	readyMade bool // the binaries came from elsewhere: used as they are, never built
}

// newWorkshop works in the repository at root. DEVCLUSTER_BIN names a folder of ready-made binaries to use instead.
func newWorkshop(root string, out io.Writer) *workshop {
	if bin := os.Getenv("DEVCLUSTER_BIN"); bin != "" {
		if whole, err := filepath.Abs(bin); err == nil {
			bin = whole
		}
		return &workshop{root: root, bin: bin, out: out, readyMade: true}
	}
	return &workshop{root: root, bin: filepath.Join(root, "bin", "controlplane"), out: out}
}

// job is one binary that is wanted, and the stamp it has to carry to be up to date.
type job struct {
	recipe
	version string
	args    []string // of go build, but for -o
	stamp   string
}

// build brings the named binaries (those of every control plane, if none is named) up to date. Told to, it mentions those
// that already are.
func (w *workshop) build(ctx context.Context, names []string, mention bool) error {
	if w.readyMade {
		return nil
	}
	goes, err := goEnvironment(ctx, filepath.Join(w.root, "hack", "devcluster"))
	if err != nil {
		return err
	}
	jobs, err := w.jobs(names, goes.Version)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(jobs, w.stale) {
		if mention {
			fmt.Fprintf(w.out, "up to date in %s: %s\n", w.bin, strings.Join(jobNames(jobs), ", "))
		}
		return nil
	}

	if err := os.MkdirAll(filepath.Join(w.bin, "logs"), 0o755); err != nil {
		return fmt.Errorf("making the folder of the binaries: %w", err)
	}
	unlock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	// Looked at again: another build may just have made them.
	if err := checkSpace(w.spaceFor(slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return !w.stale(j) }), goes)); err != nil {
		return err
	}
	for i, j := range jobs {
		turn := fmt.Sprintf("[%d of %d] %s %s", i+1, len(jobs), j.name, j.version)
		if !w.stale(j) {
			fmt.Fprintf(w.out, "%s: up to date\n", turn)
			continue
		}
		fmt.Fprintf(w.out, "%s: building (about %s with a cold build cache)\n", turn, j.cold)
		start := time.Now()
		if err := w.buildOne(ctx, j); err != nil {
			return err
		}
		fmt.Fprintf(w.out, "%s: built in %s\n", turn, seconds(time.Since(start)))
	}
	return nil
}

// lock keeps two builds from writing the same binary at once.
func (w *workshop) lock(ctx context.Context) (func(), error) {
	file, err := os.OpenFile(filepath.Join(w.bin, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the binaries: %w", err)
	}
	err = lockFile(ctx, file, func() { fmt.Fprintf(w.out, "waiting for another build into %s\n", w.bin) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for another build into %s: %w", w.bin, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// jobs works out what each named binary has to be built from.
func (w *workshop) jobs(names []string, goVersion string) ([]job, error) {
	for _, name := range names {
		if !slices.Contains(recipeNames(), name) {
			return nil, fmt.Errorf("there is no binary %q to build: the names are %s", name, strings.Join(recipeNames(), ", "))
		}
	}
	var jobs []job
	for _, r := range recipes {
		if len(names) > 0 && !slices.Contains(names, r.name) || len(names) == 0 && r.extra {
			continue
		}
		folder := filepath.Join(w.root, "hack", "devcluster", r.module)
		mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil {
			return nil, fmt.Errorf("reading what %s is built from: %w", r.name, err)
		}
		sum, err := os.ReadFile(filepath.Join(folder, "go.sum"))
		if err != nil {
			return nil, fmt.Errorf("reading what %s is built from: %w", r.name, err)
		}
		version, err := pinnedVersion(mod, r.pinned)
		if err != nil {
			return nil, fmt.Errorf("reading the version of %s from hack/devcluster/%s/go.mod: %w", r.name, r.module, err)
		}
		ldflags := "-s -w"
		if r.stamp != nil {
			ldflags += " " + r.stamp(version)
		}
		args := []string{"-trimpath", "-buildvcs=false", "-ldflags", ldflags}
		if r.tags != "" {
			args = append(args, "-tags", r.tags)
		}
		args = append(args, r.command)
		jobs = append(jobs, job{recipe: r, version: version, args: args,
			stamp: stampOf(mod, sum, []byte(strings.Join(append(buildEnvironment, args...), "\n")), []byte(goVersion))})
	}
	return jobs, nil
}

// pinnedVersion is the version that a go.mod requires of one module.
func pinnedVersion(gomod []byte, module string) (string, error) {
	file, err := modfile.ParseLax("go.mod", gomod, nil)
	if err != nil {
		return "", err
	}
	for _, r := range file.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("it does not require %s", module)
}

// stale says whether j's binary is missing or made from something else than what is pinned now.
func (w *workshop) stale(j job) bool {
	return !stamped(filepath.Join(w.bin, j.name), j.stamp)
}

// buildOne builds in a folder of its own and moves the binary into place whole, so that a broken build never counts and
// leaves nothing. What a build that was killed did leave goes first.
func (w *workshop) buildOne(ctx context.Context, j job) error {
	target := filepath.Join(w.bin, j.name)
	removeMatching(filepath.Join(w.bin, "."+j.name+".work.*"))
	work, err := os.MkdirTemp(w.bin, "."+j.name+".work.")
	if err != nil {
		return fmt.Errorf("making a folder to build %s in: %w", j.name, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	half := filepath.Join(work, j.name)

	logPath := filepath.Join(w.bin, "logs", j.name+".log")
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("opening the build log of %s: %w", j.name, err)
	}
	defer func() { _ = log.Close() }()

	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", half}, j.args...)...)
	cmd.Dir = filepath.Join(w.root, "hack", "devcluster", j.module)
	cmd.Env = append(append(os.Environ(), buildEnvironment...), "GOTMPDIR="+work)
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own, so that an interrupted build takes its compilers along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := w.runWithHeartbeat(cmd, j.name); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("building %s: %w", j.name, context.Canceled)
		}
		return fmt.Errorf("building %s %s: %w; the compiler's last words:\n%s\nthe whole log: %s", j.name, j.version, err, tail(logPath, 15), logPath)
	}
	if err := install(half, target, j.stamp); err != nil {
		return fmt.Errorf("installing %s: %w", target, err)
	}
	return nil
}

func (w *workshop) runWithHeartbeat(cmd *exec.Cmd, name string) error {
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			fmt.Fprintf(w.out, "         %s: still building, %s\n", name, seconds(time.Since(start)))
		}
	}
}

// buildEnvironment makes the build the same everywhere, whatever the shell around it is set to.
var buildEnvironment = []string{
	"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH,
}

// goEnv is what we ask of the go command.
type goEnv struct {
	Version  string `json:"GOVERSION"`
	Cache    string `json:"GOCACHE"`
	ModCache string `json:"GOMODCACHE"`
}

func goEnvironment(ctx context.Context, dir string) (goEnv, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return goEnv{}, fmt.Errorf("building the control plane needs the go command: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOVERSION", "GOCACHE", "GOMODCACHE")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), buildEnvironment...)
	raw, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return goEnv{}, fmt.Errorf("asking the go command for its environment: %w", err)
	}
	var env goEnv
	if err := json.Unmarshal(raw, &env); err != nil {
		return goEnv{}, fmt.Errorf("reading the go command's environment: %w", err)
	}
	return env, nil
}

func removeMatching(pattern string) {
	left, _ := filepath.Glob(pattern)
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

func jobNames(jobs []job) []string {
	var names []string
	for _, j := range jobs {
		names = append(names, j.name)
	}
	return names
}
