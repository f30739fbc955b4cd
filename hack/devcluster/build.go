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

// heartbeat is how often a long build prints that it is running.
const heartbeat = 15 * time.Second

// recipe describes how a binary is built: from a command of a module that is pinned in hack/devcluster/<module>/go.mod,
// or from the Go files in that folder, if command is here.
type recipe struct {
	name    string
	module  string                      // the folder under hack/devcluster
	command string                      // the package to build
	pinned  string                      // the dependency that determines the binary's version, or empty
	stamp   func(version string) string // linker flags that set the version, or nil if the source sets it
	tags    string                      // build tags
	extras  []string                    // built only with all of these (forOLM, forNodes, forArgo); for every control plane if empty

	cacheMB, binaryMB uint64 // MB that a cold build adds to the build cache, and the size of the binary
	cold              string // the duration of a cold build on two cores
}

var recipes = []recipe{
	{name: "etcd", module: controlPlane, command: "go.etcd.io/etcd/server/v3", pinned: "go.etcd.io/etcd/server/v3",
		cacheMB: 320, binaryMB: 30, cold: "30 s"},
	{name: "kube-apiserver", module: controlPlane, command: "k8s.io/kubernetes/cmd/kube-apiserver", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 2200, binaryMB: 110, cold: "4 min"},
	{name: "kube-controller-manager", module: controlPlane, command: "k8s.io/kubernetes/cmd/kube-controller-manager", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 700, binaryMB: 100, cold: "1 min"},
	{name: "kube-scheduler", module: controlPlane, command: "k8s.io/kubernetes/cmd/kube-scheduler", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 100, binaryMB: 80, cold: "10 s"},
	{name: "kubectl", module: controlPlane, command: "k8s.io/kubernetes/cmd/kubectl", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, cacheMB: 150, binaryMB: 60, cold: "30 s"},
	{name: "kubelet", module: controlPlane, command: "k8s.io/kubernetes/cmd/kubelet", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, extras: []string{forNodes}, cacheMB: 300, binaryMB: 90, cold: "1 min"},
	{name: "kube-proxy", module: controlPlane, command: "k8s.io/kubernetes/cmd/kube-proxy", pinned: "k8s.io/kubernetes",
		stamp: kubernetesVersion, extras: []string{forNodes}, cacheMB: 100, binaryMB: 75, cold: "20 s"},
	{name: "coredns", module: "coredns", command: here, pinned: "github.com/coredns/coredns",
		extras: []string{forNodes}, cacheMB: 1000, binaryMB: 60, cold: "2 min"},
	{name: pauseProgram, module: "pause", command: here,
		extras: []string{forNodes}, cacheMB: 20, binaryMB: 2, cold: "5 s"},
	{name: "kwok", module: controlPlane, command: "sigs.k8s.io/kwok/cmd/kwok", pinned: "sigs.k8s.io/kwok",
		cacheMB: 100, binaryMB: 70, cold: "15 s"},
	{name: "olm", module: controlPlane, command: olmModule + "/cmd/olm", pinned: olmModule, stamp: variable(olmModule + "/pkg/version.OLMVersion"),
		extras: []string{forOLM}, cacheMB: 300, binaryMB: 80, cold: "45 s"},
	{name: "catalog", module: controlPlane, command: olmModule + "/cmd/catalog", pinned: olmModule, stamp: variable(olmModule + "/pkg/version.OLMVersion"),
		extras: []string{forOLM}, cacheMB: 50, binaryMB: 80, cold: "10 s"},
	{name: "opm", module: controlPlane, command: registryModule + "/cmd/opm", pinned: registryModule,
		stamp:  variable(registryModule + "/cmd/opm/version.opmVersion"),
		tags:   "json1,exclude_graphdriver_btrfs,containers_image_openpgp",
		extras: []string{forOLM}, cacheMB: 100, binaryMB: 70, cold: "15 s"},
	{name: "cpb", module: controlPlane, command: olmModule + "/util/cpb", pinned: olmModule,
		extras: []string{forOLM, forNodes}, cacheMB: 20, binaryMB: 5, cold: "5 s"},
	{name: "copy-content", module: controlPlane, command: olmModule + "/cmd/copy-content", pinned: olmModule,
		extras: []string{forOLM, forNodes}, cacheMB: 20, binaryMB: 5, cold: "5 s"},
	{name: "cp", module: "cp", command: here,
		extras: []string{forOLM, forNodes}, cacheMB: 20, binaryMB: 2, cold: "5 s"},
	{name: argoProgram, module: argoProgram, command: argoModule + "/cmd", pinned: argoModule, stamp: argoVersion,
		extras: []string{forArgo}, cacheMB: 2500, binaryMB: 210, cold: "6 min"},
	{name: "grpc_health_probe", module: "healthprobe", command: healthProbeModule, pinned: healthProbeModule,
		extras: []string{forOLM, forNodes}, cacheMB: 100, binaryMB: 15, cold: "30 s"},
}

// controlPlane is the folder of the module that most are built from, in which they share dependencies.
const controlPlane = "controlplane"

// here is the command of a recipe whose program is in the folder of its module.
const here = "."

const (
	olmModule      = "github.com/operator-framework/operator-lifecycle-manager"
	registryModule = "github.com/operator-framework/operator-registry"

	healthProbeModule = "github.com/grpc-ecosystem/grpc-health-probe"
)

// forOLM, forNodes and forArgo are the values of recipe.extras.
const (
	forOLM   = "olm"
	forNodes = "nodes"
	forArgo  = "argocd"
)

// recipesFor returns the names of the binaries of every control plane, and of those for the extras.
func recipesFor(extras ...string) []string {
	var names []string
	for _, r := range recipes {
		if !slices.ContainsFunc(r.extras, func(e string) bool { return !slices.Contains(extras, e) }) {
			names = append(names, r.name)
		}
	}
	return names
}

func recipeNames() []string {
	var names []string
	for _, r := range recipes {
		names = append(names, r.name)
	}
	return names
}

// kubernetesVersion returns the linker flags of Kubernetes' release scripts, so /version, discovery and user
// agents look like those of a release.
func kubernetesVersion(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			"-X "+pkg+".gitVersion="+version,
			"-X "+pkg+".gitMajor="+major,
			"-X "+pkg+".gitMinor="+minor,
			"-X "+pkg+".gitCommit=") // unknown to a module
	}
	return strings.Join(flags, " ")
}

// variable returns the stamp function of a program that has its version in one variable.
func variable(name string) func(version string) string {
	return func(version string) string { return "-X " + name + "=" + version }
}

// argoVersion returns the linker flag of Argo CD's version, which its programs compare.
func argoVersion(version string) string {
	return variable(argoModule + "/common.version")(strings.TrimPrefix(version, "v"))
}

// builder builds the binaries.
type builder struct {
	root string // of the repository
	bin  string // the folder of the binaries, also used as KUBEBUILDER_ASSETS by envtest suites
	out  io.Writer

	readyMade bool // the binaries in bin are used as they are and never built
}

// newBuilder returns a builder for the repository at root, with the binaries in DEVCLUSTER_BIN if that is set.
func newBuilder(root string, out io.Writer) *builder {
	if bin := os.Getenv("DEVCLUSTER_BIN"); bin != "" {
		if whole, err := filepath.Abs(bin); err == nil {
			bin = whole
		}
		return &builder{root: root, bin: bin, out: out, readyMade: true}
	}
	return &builder{root: root, bin: filepath.Join(root, "bin", "controlplane"), out: out}
}

// job is a binary to build and the stamp that it has if it is up to date.
type job struct {
	recipe
	version string
	args    []string // of go build, except -o
	stamp   string
}

// build builds the named binaries (by default those of every control plane) unless they are up to date. If all are, it
// prints so only if mention is set.
func (w *builder) build(ctx context.Context, names []string, mention bool) error {
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
		return fmt.Errorf("creating the folder of the binaries: %w", err)
	}
	unlock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	// Check again: another build may have finished in the meantime.
	if err := checkSpace(w.spaceFor(slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return !w.stale(j) }), goes)); err != nil {
		return err
	}
	for i, j := range jobs {
		turn := strings.TrimSpace(fmt.Sprintf("[%d of %d] %s %s", i+1, len(jobs), j.name, j.version))
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

// built reports whether the named binaries are up to date.
func (w *builder) built(ctx context.Context, names []string) (bool, error) {
	if w.readyMade {
		return true, nil
	}
	goes, err := goEnvironment(ctx, filepath.Join(w.root, "hack", "devcluster"))
	if err != nil {
		return false, err
	}
	jobs, err := w.jobs(names, goes.Version)
	return err == nil && !slices.ContainsFunc(jobs, w.stale), err
}

// lock prevents two builds from writing the same binary at once.
func (w *builder) lock(ctx context.Context) (func(), error) {
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

// jobs returns the jobs that build the named binaries, with their stamps.
func (w *builder) jobs(names []string, goVersion string) ([]job, error) {
	for _, name := range names {
		if !slices.Contains(recipeNames(), name) {
			return nil, fmt.Errorf("unknown binary %q: the names are %s", name, strings.Join(recipeNames(), ", "))
		}
	}
	var jobs []job
	for _, r := range recipes {
		if len(names) > 0 && !slices.Contains(names, r.name) || len(names) == 0 && len(r.extras) > 0 {
			continue
		}
		folder := filepath.Join(w.root, "hack", "devcluster", r.module)
		mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil {
			return nil, fmt.Errorf("reading the sources of %s: %w", r.name, err)
		}
		sources, err := r.sources(folder)
		if err != nil {
			return nil, fmt.Errorf("reading the sources of %s: %w", r.name, err)
		}
		var version string
		if r.pinned != "" {
			if version, err = pinnedVersion(mod, r.pinned); err != nil {
				return nil, fmt.Errorf("reading the version of %s from hack/devcluster/%s/go.mod: %w", r.name, r.module, err)
			}
		}
		ldflags := "-s -w"
		if r.stamp != nil {
			ldflags += " " + r.stamp(version)
		}
		args := []string{"-buildvcs=false", "-ldflags", ldflags} // without -trimpath, which would compile all packages again that the tests use
		if r.tags != "" {
			args = append(args, "-tags", r.tags)
		}
		args = append(args, r.command)
		jobs = append(jobs, job{recipe: r, version: version, args: args,
			stamp: stampOf(mod, sources, []byte(strings.Join(append(buildEnvironment, args...), "\n")), []byte(goVersion))})
	}
	return jobs, nil
}

// sources returns the content of a binary's sources besides go.mod: go.sum and the Go files in its folder.
func (r recipe) sources(folder string) ([]byte, error) {
	var files []string
	if r.pinned != "" {
		files = append(files, filepath.Join(folder, "go.sum"))
	}
	if r.command == here {
		own, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		files = append(files, own...)
	}
	var all []byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, content...)
	}
	return all, nil
}

// pinnedVersion returns the version of a module that a go.mod requires.
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
	return "", fmt.Errorf("go.mod does not require %s", module)
}

// stale reports whether j's binary is missing or does not match the pinned sources.
func (w *builder) stale(j job) bool {
	return !stamped(filepath.Join(w.bin, j.name), j.stamp)
}

// buildOne builds in a temporary folder and moves the finished binary into place, so a failed build leaves nothing
// behind. It first removes the remains of a killed build.
func (w *builder) buildOne(ctx context.Context, j job) error {
	target := filepath.Join(w.bin, j.name)
	removeMatching(filepath.Join(w.bin, "."+j.name+".work.*"))
	work, err := os.MkdirTemp(w.bin, "."+j.name+".work.")
	if err != nil {
		return fmt.Errorf("creating a folder to build %s in: %w", j.name, err)
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
	// In a process group of its own, so interrupting a build also kills its compilers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := w.runWithHeartbeat(cmd, j.name); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("building %s: %w", j.name, context.Canceled)
		}
		return fmt.Errorf("building %s %s: %w; the end of the compiler's output:\n%s\nthe whole log: %s", j.name, j.version, err, tail(logPath, 15), logPath)
	}
	if err := install(half, target, j.stamp); err != nil {
		return fmt.Errorf("installing %s: %w", target, err)
	}
	return nil
}

func (w *builder) runWithHeartbeat(cmd *exec.Cmd, name string) error {
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

// buildEnvironment makes builds the same regardless of the environment of the shell.
var buildEnvironment = []string{
	"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH,
}

// goEnv holds the values that are read from go env.
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
		return goEnv{}, fmt.Errorf("getting the go command's environment: %w", err)
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
