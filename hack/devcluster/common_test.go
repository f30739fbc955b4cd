package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMain runs a component instead of the tests if this program was started as one: the node, the registry and the
// gateway are commands of devcluster.
func TestMain(m *testing.M) {
	if os.Getenv(ownerVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// repository returns the root of the repository.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	return root
}

func write(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), mode))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
