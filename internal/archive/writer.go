package archive

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Writer writes an archive that Open reads.
type Writer struct {
	folder string // that all files are in
	taken  time.Time
	gzip   *gzip.Writer
	tar    *tar.Writer
}

// NewWriter returns a Writer of an archive with everything in one folder.
func NewWriter(to io.Writer, folder string, taken time.Time) (*Writer, error) {
	compressed := gzip.NewWriter(to)
	out := &Writer{folder: folder, taken: taken, gzip: compressed, tar: tar.NewWriter(compressed)}
	return out, out.File(timestamp, []byte(taken.UTC().Format(time.RFC3339)+"\n"))
}

// Object redacts and writes an object. resource is the plural of its kind.
func (w *Writer) Object(o *unstructured.Unstructured, resource string) error {
	Redact(o)
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	group := o.GroupVersionKind().Group
	if group == "" {
		group = "core"
	}
	name := path.Join("cluster-scoped-resources", group, resource, o.GetName()+".yaml")
	if o.GetNamespace() != "" {
		name = path.Join("namespaces", o.GetNamespace(), group, resource, o.GetName()+".yaml")
	}
	return w.File(name, text)
}

// Log redacts and writes the log of a container.
func (w *Writer) Log(namespace, pod, container string, text []byte) error {
	return w.File(path.Join("namespaces", namespace, "pods", pod, container, container, "logs", "current.log"), []byte(RedactText(string(text))))
}

// File writes a file.
func (w *Writer) File(name string, content []byte) error {
	header := &tar.Header{Name: path.Join(w.folder, name), Mode: 0o644, Size: int64(len(content)), ModTime: w.taken}
	if err := w.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.tar.Write(content)
	return err
}

// Close completes the archive.
func (w *Writer) Close() error {
	if err := w.tar.Close(); err != nil {
		return err
	}
	return w.gzip.Close()
}
