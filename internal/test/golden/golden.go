// Package golden compares the results of the status functions with recorded ones. A change that should keep every status
// proves that it does, and any other change lists the statuses that it affects.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Update is the environment variable that makes the files be written anew instead of compared.
const Update = "UPDATE_GOLDEN"

// File holds one value for each row of a table test.
type File struct {
	path   string
	want   map[string]any
	update bool

	mu  sync.Mutex
	got map[string]any
}

// Open reads testdata/<name of the test>.yaml. A value of a row that no longer exists fails the test, unless only some of its
// rows ran.
func Open(t *testing.T) *File {
	t.Helper()
	f := &File{path: filepath.Join("testdata", t.Name()+".yaml"), got: map[string]any{}}
	if f.update = os.Getenv(Update) != ""; f.update {
		t.Cleanup(func() { f.write(t) })
		return f
	}
	text, err := os.ReadFile(f.path)
	if err == nil {
		err = yaml.Unmarshal(text, &f.want)
	}
	if err != nil {
		t.Fatalf("reading the golden file (%s=1 writes it): %v", Update, err)
	}
	t.Cleanup(func() { f.checkRows(t) })
	return f
}

// Check compares the value of a row with the one in the file.
func (f *File) Check(t *testing.T, name string, value any) {
	t.Helper()
	got, err := plain(value)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.got[name] = got
	f.mu.Unlock()
	if f.update {
		return
	}
	if diff := cmp.Diff(f.want[name], got); diff != "" {
		t.Errorf("%s has another value of %s (-want +got); %s=1 writes it anew\n%s", f.path, name, Update, diff)
	}
}

// plain returns a value as it is once it was written to a file and read.
func plain(value any) (any, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out any
	return out, yaml.Unmarshal(text, &out)
}

func (f *File) checkRows(t *testing.T) {
	t.Helper()
	if run := flag.Lookup("test.run"); run != nil && strings.Contains(run.Value.String(), "/") {
		return // only some rows ran
	}
	for name := range f.want {
		if _, ok := f.got[name]; !ok {
			t.Errorf("%s has a value of %s, which is no row; %s=1 removes it", f.path, name, Update)
		}
	}
}

func (f *File) write(t *testing.T) {
	t.Helper()
	text, err := yaml.Marshal(f.got)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.path), 0o750)
	}
	if err == nil {
		err = os.WriteFile(f.path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
