package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStamped(t *testing.T) {
	const stamp = "abc"
	installed := func(t *testing.T) string {
		binary := filepath.Join(t.TempDir(), "etcd")
		must(t, install(write(t, binary+".half", "whole binary", 0o755), binary, stamp))
		return binary
	}
	cases := map[string]struct {
		reason string
		binary func(*testing.T) string
		want   bool
	}{
		"installed": {
			reason: "A binary that was built from the pinned sources is up to date.",
			binary: installed,
			want:   true,
		},
		"missing": {
			reason: "A stamp without its binary is not up to date.",
			binary: func(t *testing.T) string { b := installed(t); must(t, os.Remove(b)); return b },
		},
		"no stamp": {
			reason: "A binary without a stamp, as after a killed build, is not up to date.",
			binary: func(t *testing.T) string { b := installed(t); must(t, os.Remove(stampPath(b))); return b },
		},
		"cut short": {
			reason: "A binary whose size differs from its stamp is not up to date.",
			binary: func(t *testing.T) string { b := installed(t); must(t, os.Truncate(b, 3)); return b },
		},
		"not executable": {
			reason: "A binary that is not executable is not up to date.",
			binary: func(t *testing.T) string { b := installed(t); must(t, os.Chmod(b, 0o644)); return b },
		},
		"made from something else": {
			reason: "A binary with the stamp of other sources is not up to date.",
			binary: func(t *testing.T) string {
				b := installed(t)
				must(t, install(write(t, b+".half", "whole binary", 0o755), b, "def"))
				return b
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := stamped(tc.binary(t), stamp); got != tc.want {
				t.Errorf("%s: stamped is %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestJobStamp(t *testing.T) {
	root := t.TempDir()
	lay := func(gomod, gosum string) {
		write(t, filepath.Join(root, "hack/devcluster/controlplane/go.mod"), gomod, 0o644)
		write(t, filepath.Join(root, "hack/devcluster/controlplane/go.sum"), gosum, 0o644)
	}
	const gomod = "module x\n\nrequire go.etcd.io/etcd/server/v3 v3.6.4\n"
	stampWith := func(gomod, gosum, goVersion string) string {
		lay(gomod, gosum)
		jobs, err := newBuilder(root, io.Discard).jobs([]string{"etcd"}, goVersion)
		must(t, err)
		return jobs[0].stamp
	}
	base := stampWith(gomod, "sum", "go1.26.0")
	cases := map[string]struct {
		reason, gomod, gosum, goVersion string
		same                            bool
	}{
		"nothing":    {"The same sources have the same stamp.", gomod, "sum", "go1.26.0", true},
		"go.mod":     {"Another pinned version has another stamp.", strings.Replace(gomod, "v3.6.4", "v3.6.5", 1), "sum", "go1.26.0", false},
		"go.sum":     {"Another go.sum has another stamp.", gomod, "sums", "go1.26.0", false},
		"go version": {"Another version of Go has another stamp.", gomod, "sum", "go1.26.1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if same := stampWith(tc.gomod, tc.gosum, tc.goVersion) == base; same != tc.same {
				t.Errorf("%s: same stamp is %v, want %v", tc.reason, same, tc.same)
			}
		})
	}
}

func TestJobVersions(t *testing.T) {
	jobs, err := newBuilder(repository(t), io.Discard).jobs(nil, "go1.26.0")
	must(t, err)
	every := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"}
	if diff := cmp.Diff(every, jobNames(jobs)); diff != "" {
		t.Errorf("the default jobs are not those of every control plane (-want +got):\n%s", diff)
	}
	jobs, err = newBuilder(repository(t), io.Discard).jobs(recipeNames(), "go1.26.0")
	must(t, err)
	for _, j := range jobs {
		if j.version == "" && j.pinned != "" {
			t.Errorf("%s has no version", j.name)
		}
		args := strings.Join(j.args, " ")
		stamped := strings.Contains(args, "ersion="+j.version) || strings.Contains(args, "ersion="+strings.TrimPrefix(j.version, "v"))
		if j.stamp == "" || j.recipe.stamp != nil && !stamped {
			t.Errorf("the arguments of %s do not contain its version %s: %v", j.name, j.version, j.args)
		}
	}
	if _, err := newBuilder(repository(t), io.Discard).jobs([]string{"docker"}, ""); err == nil {
		t.Error("jobs accepted an unknown binary")
	}
}

func TestKubernetesVersion(t *testing.T) {
	got := kubernetesVersion("v1.36.3")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.36.3",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/client-go/pkg/version.gitMinor=36",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the linker flags %q do not contain %q", got, want)
		}
	}
}

// TestKwokStagesVersion verifies that the stages, from our own go.mod, have the version of kwok's module.
func TestKwokStagesVersion(t *testing.T) {
	if diff := cmp.Diff(pin(t, controlPlane+"/go.mod", "sigs.k8s.io/kwok"), pin(t, "go.mod", "sigs.k8s.io/kwok")); diff != "" {
		t.Errorf("the version of kwok differs between its go.mod and ours (-kwok +stages):\n%s", diff)
	}
}

// TestOLMCRDsVersion verifies that the CRDs, from our own go.mod, have the version in OLM's module.
func TestOLMCRDsVersion(t *testing.T) {
	if diff := cmp.Diff(pin(t, controlPlane+"/go.mod", "github.com/operator-framework/api"), pin(t, "go.mod", "github.com/operator-framework/api")); diff != "" {
		t.Errorf("the version of OLM's API differs between its go.mod and ours (-OLM +CRDs):\n%s", diff)
	}
}

func pin(t *testing.T, path, module string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	version, err := pinnedVersion(content, module)
	must(t, err)
	return version
}

func TestCheckSpace(t *testing.T) {
	here := t.TempDir()
	_, free, err := freeSpace(here)
	must(t, err)
	cases := map[string]struct {
		reason string
		wanted []space
		want   string
	}{
		"enough":          {"Enough free space is accepted.", []space{{"the binaries", here, 1}}, ""},
		"not there yet":   {"The free space of a missing folder is that of its parent.", []space{{"the binaries", filepath.Join(here, "a", "b"), 1}}, ""},
		"nothing to lay":  {"A folder that needs no space is not checked.", []space{{"the module cache", "\x00", 0}}, ""},
		"too little":      {"The error has the size, the purpose and the folder.", []space{{"the binaries", here, free + 9999}}, "MB for the binaries in " + here},
		"too little both": {"The needs of two folders on one disk are added.", []space{{"a", here, free/2 + 999}, {"b", here, free/2 + 999}}, "too little disk space"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := checkSpace(tc.wanted)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestFailedBuildReportsCompilerOutput(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "hack", "devcluster", controlPlane)
	write(t, filepath.Join(folder, "go.mod"), "module x\n\ngo 1.26.0\n\nrequire go.etcd.io/etcd/server/v3 v3.6.4\n", 0o644)
	write(t, filepath.Join(folder, "go.sum"), "", 0o644)
	w := newBuilder(root, io.Discard)
	w.readyMade, w.bin = false, filepath.Join(root, "bin")
	err := w.build(t.Context(), []string{"etcd"}, true)
	if err == nil {
		t.Fatal("building a module without go.sum entries succeeded")
	}
	for _, want := range []string{"building etcd v3.6.4", "missing go.sum entry", filepath.Join(root, "bin", "logs", "etcd.log")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q: %v", want, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "etcd")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the binary of a failed build exists: %v", err)
	}
}

func TestRecipesFor(t *testing.T) {
	every := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}
	cases := map[string]struct {
		reason string
		extras []string
		want   []string
	}{
		"nothing more": {"The default has only the binaries of the control plane and kwok.", nil, append(every, "kwok")},
		"real nodes":   {"Real nodes do not need the binaries of OLM.", []string{forNodes}, append(every, "kubelet", "kube-proxy", "coredns", "pause", "kwok")},
		"OLM":          {"OLM does not need the binaries of real nodes.", []string{forOLM}, append(every, "kwok", "olm", "catalog", "opm")},
		"Argo CD":      {"Argo CD needs only its own binary in addition.", []string{forArgo}, append(every, "kwok", "argocd")},
		"all":          {"All extras can be combined.", []string{forOLM, forNodes, forArgo}, recipeNames()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, recipesFor(tc.extras...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStampCoversOwnSources(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "hack/devcluster/pause/go.mod"), "module pause\n", 0o600)
	stamp := func(source string) string {
		write(t, filepath.Join(root, "hack/devcluster/pause/main.go"), source, 0o600)
		jobs, err := newBuilder(root, io.Discard).jobs([]string{pauseProgram}, "go1.26.0")
		must(t, err)
		return jobs[0].stamp
	}
	if first := stamp("package main"); first != stamp("package main") || first == stamp("package main // changed") {
		t.Error("the stamp of a program does not change exactly when its source changes")
	}
}
