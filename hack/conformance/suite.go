package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is the Go module of the suite, in the version that the control plane's go.mod requires.
const module = "github.com/operator-framework/operator-lifecycle-manager"

// edit replaces a piece of text in a file of the suite.
type edit struct {
	file, from, to string
}

// edits lists the changes that the suite needs to run here. Each piece must occur exactly once, so a version of the
// suite with other text does not build.
var edits = []edit{
	// The manager reads a catalog without a registry pod, so the suite finds no Service whose pod it could query.
	{"util.go", "if registry != nil && connState != nil &&",
		"if registry == nil && state == \"READY\" {\n\t\t\treturn true\n\t\t}\n\t\tif registry != nil && connState != nil &&"},
	// Specs that pass take seconds, or wait this long to verify that nothing happens.
	{"util.go", "pollDuration = 5 * time.Minute", "pollDuration = 30 * time.Second"},
}

// build builds the edited suite in a folder and returns its binary and the folder of its sources.
func build(root, folder string) (binary, sources string, err error) {
	// The module of the control plane, whose packages have been compiled already.
	controlPlane := filepath.Join(root, "hack", "devcluster", "controlplane")
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir, list.Stderr = controlPlane, os.Stderr
	out, err := list.Output()
	if err != nil {
		return "", "", fmt.Errorf("finding the suite: %w", err)
	}
	// Go does not build edited files in its module cache, even with an overlay.
	copied := filepath.Join(folder, "olm")
	if err := copyModule(strings.TrimSpace(string(out)), copied); err != nil {
		return "", "", fmt.Errorf("copying the suite: %w", err)
	}
	sources = filepath.Join(copied, "test", "e2e")
	for _, e := range edits {
		if err := e.apply(sources); err != nil {
			return "", "", fmt.Errorf("editing the suite: %w", err)
		}
	}
	mod := filepath.Join(folder, "go.mod")
	if err := replaceModule(controlPlane, mod, copied); err != nil {
		return "", "", fmt.Errorf("writing a go.mod with the edited suite: %w", err)
	}
	binary = filepath.Join(folder, "suite.test")
	compile := exec.Command("go", "test", "-c", "-modfile="+mod, "-tags=json1", "-o", binary, module+"/test/e2e")
	compile.Dir, compile.Stdout, compile.Stderr = controlPlane, os.Stderr, os.Stderr
	if err := compile.Run(); err != nil {
		return "", "", fmt.Errorf("building the suite: %w", err)
	}
	return binary, sources, nil
}

// replaceModule writes the go.mod and go.sum of a folder to mod and the file beside it, with the suite's module in the
// folder replacement.
func replaceModule(from, mod, replacement string) error {
	for source, to := range map[string]string{"go.mod": mod, "go.sum": strings.TrimSuffix(mod, ".mod") + ".sum"} {
		content, err := os.ReadFile(filepath.Join(from, source))
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return err
		}
	}
	edit := exec.Command("go", "mod", "edit", "-replace="+module+"="+replacement, mod)
	edit.Stderr = os.Stderr
	return edit.Run()
}

func copyModule(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	// Files in Go's module cache are read-only, and so are its folders.
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}

func (e edit) apply(sources string) error {
	path := filepath.Join(sources, e.file)
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(content), e.from); n != 1 {
		return fmt.Errorf("%s has %q %d times, want once", e.file, e.from, n)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(content), e.from, e.to, 1)), 0o644)
}
