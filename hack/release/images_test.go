package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

var (
	images = flag.Bool("images", false, "Build images and a release, which takes minutes.")
	cosign = flag.String("cosign", "", "Path of cosign.")
	krew   = flag.String("krew", "", "Folder with krew and validate-krew-manifest.")
)

const version = "0.1.0"

// built is a release that was built in a clone of the repository, and pushed to a registry.
type built struct {
	clone, out, repository string
	err                    error
}

// builds are the releases built so far, in folders that are kept until the tests end.
var builds = struct {
	sync.Mutex
	done   map[int]built
	dir    string
	commit string // of all of them; the last one when the first was built
}{done: map[int]built{}}

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if builds.dir, err = os.MkdirTemp("", "release"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	registryHost = strings.TrimPrefix(server.URL, "http://")
	code := m.Run()
	server.Close()
	_ = os.RemoveAll(builds.dir) // a folder of temporary files
	os.Exit(code)
}

var registryHost string

// releaseOf returns the release that was built in one of several clones.
func releaseOf(t *testing.T, n int) built {
	t.Helper()
	if !*images {
		t.Skip("without -images; `make test-images` runs it")
	}
	builds.Lock()
	defer builds.Unlock()
	if b, ok := builds.done[n]; ok {
		if b.err != nil {
			t.Fatal(b.err)
		}
		return b
	}
	dir := filepath.Join(builds.dir, fmt.Sprint(n))
	b := built{clone: filepath.Join(dir, "clone"), out: filepath.Join(dir, "clone", "dist"), repository: registryHost + "/test/operator-status"}
	b.err = b.build(t.Context())
	builds.done[n] = b
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b
}

func (b built) build(ctx context.Context) error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	if _, err := output(exec.CommandContext(ctx, "git", "clone", "--quiet", root, b.clone)); err != nil {
		return err
	}
	if builds.commit == "" {
		if builds.commit, err = git(ctx, root, "rev-parse", "HEAD"); err != nil {
			return err
		}
	}
	if _, err := git(ctx, b.clone, "checkout", "--quiet", "--detach", builds.commit); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(b.clone, "bin"), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(root, "bin", "kustomize"), filepath.Join(b.clone, "bin", "kustomize")); err != nil {
		return err
	}
	return run(ctx, []string{"-dir", b.clone, "-out", b.out, "-version", version, "-repository", b.repository, "-push", "-draft"})
}

// TestRelease verifies that two clones of a commit build the same release, byte by byte, and that a build changes nothing else in the
// repository.
func TestRelease(t *testing.T) {
	first, second := releaseOf(t, 0), releaseOf(t, 1)
	sums := map[string]string{}
	for _, b := range []built{first, second} {
		files, err := os.ReadDir(b.out)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			content, err := os.ReadFile(filepath.Join(b.out, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(content))
			if b.clone == first.clone {
				sums[f.Name()] = sum
				t.Logf("%11d bytes  %s", len(content), f.Name())
			} else if sums[f.Name()] != sum {
				t.Errorf("%s differs in a second build, in another folder", f.Name())
			}
		}
		if changed, err := git(t.Context(), b.clone, "status", "--porcelain"); err != nil || changed != "" {
			t.Errorf("the build changed the repository (%v):\n%s", err, changed)
		}
	}
	for _, name := range []string{
		"checksums.txt", "release-notes.md", "crds.yaml", "install.yaml", "crds-lifecycle.yaml", "install-lifecycle.yaml", "policies.yaml", "manager-linux-amd64", "manager-linux-arm64",
		"operator-status-" + version + ".oci.tar", "operator-status-bundle-" + version + ".oci.tar", "operator-status-catalog-" + version + ".oci.tar",
		"manager-linux-amd64.spdx.json", "manager-linux-arm64.spdx.json", "manager-index.spdx.json",
		"operator-status.yaml", program + "-" + version + "-darwin-arm64.tar.gz", program + "-" + version + "-windows-amd64.tar.gz",
	} {
		if sums[name] == "" {
			t.Errorf("the release does not contain %s; it contains %v", name, sums)
		}
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--quiet", "checksums.txt")
	check.Dir = first.out
	if _, err := output(check); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"install.yaml", "install-lifecycle.yaml"} {
		text, err := os.ReadFile(filepath.Join(first.out, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "image: "+first.repository+"@sha256:") || strings.Contains(string(text), "controller:latest") {
			t.Errorf("%s does not refer to the image by its digest", name)
		}
	}
}

// TestReferences verifies that the catalog refers to the bundle that was pushed, and the bundle to the image, by digest.
func TestReferences(t *testing.T) {
	b := releaseOf(t, 0)
	images := map[string]string{}
	for _, suffix := range []string{"", "-bundle", "-catalog"} {
		tag, err := name.NewTag(b.repository + suffix + ":v" + version)
		if err != nil {
			t.Fatal(err)
		}
		descriptor, err := remote.Head(tag)
		if err != nil {
			t.Fatalf("%s was not pushed: %v", tag, err)
		}
		images[suffix] = b.repository + suffix + "@" + descriptor.Digest.String()
	}
	for suffix, refersTo := range map[string][]string{"-bundle": {""}, "-catalog": {"", "-bundle"}} {
		digest, err := name.NewDigest(images[suffix])
		if err != nil {
			t.Fatal(err)
		}
		image, err := remote.Image(digest)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Builder{}
		for _, f := range contents(t, image) {
			all.WriteString(f.content)
		}
		for _, other := range refersTo {
			if !strings.Contains(all.String(), images[other]) {
				t.Errorf("the image with suffix %q does not refer to %s", suffix, images[other])
			}
		}
		if strings.Contains(all.String(), bundledImage) || strings.Contains(all.String(), catalogedImage) {
			t.Errorf("the image with suffix %q refers to an image by its tag", suffix)
		}
	}
}

// TestImage verifies user, entry point, labels and size of the images of the manager.
func TestImage(t *testing.T) {
	b := releaseOf(t, 0)
	for architecture, image := range b.managers(t) {
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if c := file.Config; c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/ko-app/manager" {
			t.Errorf("%s: user %q, entry point %q", architecture, c.User, c.Entrypoint)
		}
		for _, key := range []string{"title", "description", "source", "version", "licenses", "revision", "created"} {
			key = "org.opencontainers.image." + key
			if file.Config.Labels[key] == "" || manifest.Annotations[key] != file.Config.Labels[key] {
				t.Errorf("%s: label %s is %q and the annotation %q", architecture, key, file.Config.Labels[key], manifest.Annotations[key])
			}
		}
		size := 0
		for path, f := range contents(t, image) {
			size += len(f.content)
			if strings.HasSuffix(path, "sh") || strings.HasPrefix(path, "bin/") {
				t.Errorf("%s: the image contains %s", architecture, path)
			}
		}
		const megabytes = 1e6
		t.Logf("%s: %.1f MB unpacked", architecture, float64(size)/megabytes)
	}
}

// managers returns the images of the manager by architecture.
func (b built) managers(t *testing.T) map[string]v1.Image {
	t.Helper()
	dir := t.TempDir()
	if _, err := output(exec.CommandContext(t.Context(), "tar", "-xf", filepath.Join(b.out, "operator-status-"+version+".oci.tar"), "-C", dir)); err != nil {
		t.Fatal(err)
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	index, err := top.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		if out[m.Platform.Architecture], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if len(out) != len(architectures) {
		t.Fatalf("the index has images for architectures %v", out)
	}
	return out
}

// entry is a file in an image.
type entry struct {
	kind    fs.FileMode
	execute bool
	content string // or target of a link
}

func (e entry) String() string {
	return fmt.Sprintf("%s, executable %t, %d bytes with checksum %.8x", e.kind, e.execute, len(e.content), sha256.Sum256([]byte(e.content)))
}

// contents returns all files and links in an image by path.
func contents(t *testing.T, image v1.Image) map[string]entry {
	t.Helper()
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }() // read whole
	out := map[string]entry{}
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir && strings.Trim(h.Name, "/") != "tmp" {
			continue
		}
		content := &bytes.Buffer{}
		if _, err := io.Copy(content, r); err != nil {
			t.Fatal(err)
		}
		mode := h.FileInfo().Mode()
		out[strings.Trim(h.Name, "/")] = entry{mode.Type() | mode&fs.ModeSticky, mode&1 != 0, content.String() + h.Linkname}
	}
}

// TestDockerfile verifies that the Dockerfile builds the same files as ko. The stand-in for its first image contains the Go that runs
// this test, a shell, and their dependencies.
func TestDockerfile(t *testing.T) {
	b := releaseOf(t, 0)
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skipf("buildah is not installed: %v", err)
	}
	if os.Getuid() != 0 {
		t.Skip("chroot isolation needs root")
	}
	storage := t.TempDir()
	buildah := func(args ...string) string {
		t.Helper()
		all := append([]string{"--root", filepath.Join(storage, "root"), "--runroot", filepath.Join(storage, "run"), "--storage-driver", "vfs"}, args...)
		c := exec.CommandContext(t.Context(), "buildah", all...)
		c.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot")
		out, err := output(c)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	env := func(key string) string {
		out, err := output(exec.CommandContext(t.Context(), "go", "env", key))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	download := exec.CommandContext(t.Context(), "go", "mod", "download") // all modules, since the build has no network
	download.Dir = b.clone
	if _, err := output(download); err != nil {
		t.Fatal(err)
	}
	standIn := buildah("from", "scratch")
	root := buildah("mount", standIn)
	shell := exec.CommandContext(t.Context(), "sh", "-euc", `
		mkdir -p "$1/bin" "$1/tmp" "$1/usr/local"
		cp "$(readlink -f /bin/sh)" "$1/bin/sh"
		ldd /bin/sh | grep -o '/[^ ]*' | while read -r f; do mkdir -p "$1$(dirname "$f")"; cp -L "$f" "$1$f"; done
		cp -r "$2" "$1/usr/local/go"`, "sh", root, env("GOROOT"))
	if _, err := output(shell); err != nil {
		t.Fatal(err)
	}
	buildah("config", "--env", "PATH=/usr/local/go/bin:/bin", "--env", "HOME=/tmp", "--env", "GOPATH=/go", "--env", "GOCACHE=/cache",
		"--env", "GOFLAGS=-mod=mod", "--env", "GOPROXY=off", "--env", "GOTOOLCHAIN=local", standIn)
	buildah("commit", "--rm", standIn, "localhost/go")
	buildah("bud", "--pull-never", "--isolation", "chroot", "--timestamp", "0", "--build-arg", "GO_IMAGE=localhost/go", "--build-arg", "VERSION="+version,
		"--volume", env("GOMODCACHE")+":/go/pkg/mod", "--volume", env("GOCACHE")+":/cache", "--tag", "localhost/operator-status", b.clone)
	container := buildah("from", "localhost/operator-status")
	dir := buildah("mount", container)

	got := map[string]entry{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() && name != "tmp" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{info.Mode().Type() | info.Mode()&fs.ModeSticky, info.Mode()&1 != 0, ""}
		switch info.Mode().Type() {
		case 0:
			var content []byte
			content, err = os.ReadFile(path)
			e.content = string(content)
		case fs.ModeSymlink:
			e.content, err = os.Readlink(path)
		}
		got[name] = e
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, b.managers(t)[runtime.GOARCH])
	for name, e := range want {
		if got[name] != e {
			t.Errorf("%s is %s in the image of ko and %s in that of the Dockerfile", name, e, got[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is only in the image of the Dockerfile", name)
		}
	}
	user := buildah("inspect", "--format", "{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}", container)
	if user != "65532:65532 [/ko-app/manager]" {
		t.Errorf("the user and entry point of the Dockerfile's image are %s", user)
	}
	t.Logf("%d files are the same", len(want))
}

// TestSigned verifies that cosign signs the image by its digest, and that a signature by another key is not accepted.
func TestSigned(t *testing.T) {
	if *cosign == "" {
		t.Skip("without -cosign; `make test-images` runs it")
	}
	b := releaseOf(t, 0)
	dir := t.TempDir()
	call := func(args ...string) error {
		c := exec.CommandContext(t.Context(), *cosign, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "COSIGN_PASSWORD=test")
		_, err := output(c)
		return err
	}
	for _, key := range []string{"release", "other"} {
		if err := call("generate-key-pair", "--output-key-prefix", key); err != nil {
			t.Fatal(err)
		}
	}
	for _, suffix := range []string{"", "-bundle", "-catalog"} {
		tag, err := name.NewTag(b.repository + suffix + ":v" + version)
		if err != nil {
			t.Fatal(err)
		}
		head, err := remote.Head(tag)
		if err != nil {
			t.Fatal(err)
		}
		reference := b.repository + suffix + "@" + head.Digest.String()
		err = call("sign", "--key", "release.key", "--use-signing-config=false", "--tlog-upload=false", "--yes", "--allow-http-registry", "--recursive", reference)
		if err != nil {
			t.Fatal(err)
		}
		if err := call("verify", "--key", "release.pub", "--insecure-ignore-tlog=true", "--allow-http-registry", reference); err != nil {
			t.Errorf("the signature is not accepted: %v", err)
		}
		if call("verify", "--key", "other.pub", "--insecure-ignore-tlog=true", "--allow-http-registry", reference) == nil {
			t.Errorf("the signature of %s is accepted with another key", reference)
		}
	}
}

// TestKrew verifies that krew accepts the manifest of the command line and installs its program.
func TestKrew(t *testing.T) {
	if *krew == "" {
		t.Skip("without -krew; `make test-images` sets it")
	}
	project, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	o := options{dir: project, out: t.TempDir(), version: version}
	if err := commandLineTo(t.Context(), o, target{runtime.GOOS, runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(o.out, "operator-status.yaml")
	archive := filepath.Join(o.out, fmt.Sprintf("%s-%s-%s-%s.tar.gz", program, version, runtime.GOOS, runtime.GOARCH))
	root := t.TempDir()
	for _, args := range [][]string{
		{filepath.Join(*krew, "validate-krew-manifest"), "-manifest", manifest, "-skip-install"},
		{filepath.Join(*krew, "krew"), "install", "--manifest=" + manifest, "--archive=" + archive},
		{filepath.Join(root, "bin", program), "--version"},
	} {
		command := exec.CommandContext(t.Context(), args[0], args[1:]...)
		command.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_NO_UPGRADE_CHECK=1")
		printed, err := command.CombinedOutput()
		t.Logf("%s:\n%s", strings.Join(args, " "), printed)
		if err != nil {
			t.Fatal(err)
		}
		if args[1] == "--version" && !strings.Contains(string(printed), version) {
			t.Errorf("the installed command line does not have version %s", version)
		}
	}
}
