// Package archive reads and writes objects of a cluster as files, in the layout of `oc adm must-gather`.
package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operator-status/operator-status/internal/messages"
)

// Archive holds the objects of archives: those of a must-gather, of `kubectl operator-status gather`, or any other folders
// or files with manifests.
type Archive struct {
	// Taken is when the last of them was written.
	Taken time.Time

	// Skipped are the objects and files that cannot be read, and why.
	Skipped []string

	// incomplete are the kinds of these objects, and those of which these files may have objects.
	incomplete map[schema.GroupVersionKind]bool

	// marks are texts. A file with an object of the scheme has at least one of them.
	marks [][]byte

	scheme  *runtime.Scheme
	limits  limits
	files   int        // that were read
	read    int64      // bytes of them
	parsed  int64      // bytes of manifests
	values  int        // that they have
	notes   [][]string // of each part
	objects map[schema.GroupVersionKind]map[types.NamespacedName]client.Object
}

// limits of an archive, which is untrusted: a few bytes of it can expand to very many.
type limits struct {
	file     int64 // bytes of a file; a larger one is skipped
	nodes    int   // lines and values of a file in YAML, each of which takes far more memory than text; one with more is skipped
	files    int   // files with manifests
	unpacked int64 // bytes of a tar file that is compressed
	read     int64 // bytes of files with manifests
	parsed   int64 // bytes of manifests of kinds that are read
	values   int   // nodes of all of them
}

var defaultLimits = limits{
	file: 64 << 20, nodes: 2_000_000, files: 200_000, unpacked: 16 << 30, read: 4 << 30, parsed: 512 << 20, values: 10_000_000,
}

// inFolder is the remedy for an archive that exceeds a limit.
const inFolder = ": extract the relevant files into a folder, and read that folder"

// Open reads the objects of the kinds in a scheme from folders or files: tar files that may be compressed by gzip or xz, zip files, and
// manifests. Of an object that several have, that of the last one counts. None with such an object is an error.
func Open(names []string, scheme *runtime.Scheme) (*Archive, error) {
	return open(names, scheme, defaultLimits)
}

func open(names []string, scheme *runtime.Scheme, l limits) (*Archive, error) {
	out := &Archive{
		scheme: scheme, marks: marksOf(scheme), limits: l,
		incomplete: map[schema.GroupVersionKind]bool{}, objects: map[schema.GroupVersionKind]map[types.NamespacedName]client.Object{},
	}
	for _, name := range names {
		if err := out.readPart(name); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	if len(out.objects) == 0 {
		return nil, fmt.Errorf("%s has no objects of OLM or operator-status", strings.Join(names, ", "))
	}
	return out, nil
}

// part describes a folder or file of an archive.
type part struct {
	// taken is when it was written, and modified is when the last of its files was.
	taken, modified time.Time

	// notes are the resources that its writer could not read. It is nil unless gather wrote it.
	notes []string
}

// readPart reads a folder or file.
func (a *Archive) readPart(name string) error {
	p := &part{}
	err := eachFile(name, a.limits.unpacked, func(f file) error {
		if f.modified.After(p.modified) {
			p.modified = f.modified
		}
		return a.readFile(p, f)
	})
	if err != nil {
		return err
	}
	if p.taken.IsZero() {
		p.taken = p.modified
	}
	if p.taken.After(a.Taken) {
		a.Taken = p.taken
	}
	a.notes = append(a.notes, p.notes)
	return nil
}

// timestamp is the name of the file with the time of a must-gather.
const timestamp = "timestamp"

// wanted reports whether a file may have manifests, or the time of the archive.
func wanted(name string) bool {
	return isManifest(name) || path.Base(name) == timestamp || path.Base(name) == Notes
}

func isManifest(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func (a *Archive) readFile(p *part, f file) error {
	if a.files++; a.files > a.limits.files {
		return fmt.Errorf("it has more than %d files"+inFolder, a.limits.files)
	}
	text, err := io.ReadAll(io.LimitReader(f.content, a.limits.file))
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if a.read += int64(len(text)); a.read > a.limits.read {
		return fmt.Errorf("it has more than %s of files that may have manifests"+inFolder, messages.Size(a.limits.read))
	}
	switch {
	case f.size > a.limits.file:
		err := fmt.Errorf("its size of %s exceeds the limit of %s", messages.Size(f.size), messages.Size(a.limits.file))
		a.skip(f.name, err, a.kindsIn(text)...)
	case path.Base(f.name) == timestamp:
		p.readTimestamp(string(text))
	case path.Base(f.name) == Notes:
		p.notes = strings.Split(string(text), "\n")
	case a.relevant(text):
		n := nodes(text)
		if n > a.limits.nodes {
			a.skip(f.name, fmt.Errorf("it has %d values, more than the limit of %d", n, a.limits.nodes), a.kindsIn(text)...)
			return nil
		}
		if a.parsed, a.values = a.parsed+int64(len(text)), a.values+n; a.parsed > a.limits.parsed || a.values > a.limits.values {
			return fmt.Errorf("it has more than %s of manifests, or more than %d values in them"+inFolder, messages.Size(a.limits.parsed), a.limits.values)
		}
		a.readManifests(f.name, text)
	}
	return nil
}

// nodes returns about how many values a text in YAML or JSON has.
func nodes(text []byte) int {
	out := 0
	for _, b := range text {
		switch b {
		case '\n', ',', '[', '{':
			out++
		}
	}
	return out
}

// readTimestamp reads the time of a must-gather, which is that of its last line. Go's printed times have a monotonic part.
func (p *part) readTimestamp(text string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " m=")
		for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05.999999999 -0700 MST"} {
			if taken, err := time.Parse(layout, line); err == nil {
				p.taken = taken
			}
		}
	}
}

// marksOf returns texts of which a file has at least one if it has an object of a scheme: its group and version, or its kind if that has no
// group. Of these only Events are read from files of their own: Pods name the workload that they belong to, which has a group.
func marksOf(scheme *runtime.Scheme) [][]byte {
	var out [][]byte
	for _, gv := range scheme.PrioritizedVersionsAllGroups() {
		if gv.Group != "" {
			out = append(out, []byte(gv.String()))
		}
	}
	if scheme.Recognizes(corev1.SchemeGroupVersion.WithKind("Event")) {
		out = append(out, []byte("kind: Event"), []byte(`"kind": "Event`), []byte(`"kind":"Event`)) // also of an EventList
	}
	return out
}

// relevant reports whether a file may have an object of the scheme: most files of a must-gather have none, and are not
// parsed.
func (a *Archive) relevant(text []byte) bool {
	return slices.ContainsFunc(a.marks, func(mark []byte) bool { return bytes.Contains(text, mark) })
}

// kindsIn returns the kinds of which a text that cannot be parsed may have objects.
func (a *Archive) kindsIn(text []byte) []schema.GroupVersionKind {
	if !a.relevant(text) {
		return nil
	}
	var out []schema.GroupVersionKind
	for gvk := range a.scheme.AllKnownTypes() {
		if bytes.Contains(text, []byte(gvk.Kind)) && bytes.Contains(text, []byte(gvk.GroupVersion().String())) {
			out = append(out, gvk)
		}
	}
	return out
}

// manifest holds the kind of an object, or of a list and its items.
type manifest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// add keeps an object, or the items of a list. An item may lack its kind, which is then that of the list.
func (a *Archive) add(name string, document []byte, inList schema.GroupVersionKind) {
	var m manifest
	if len(document) == 0 || json.Unmarshal(document, &m) != nil {
		return // no object
	}
	gvk := schema.FromAPIVersionAndKind(m.APIVersion, m.Kind)
	if m.Kind == "" {
		gvk = inList
	}
	if kind, isList := strings.CutSuffix(gvk.Kind, "List"); isList {
		for _, item := range m.Items {
			a.add(name, item, gvk.GroupVersion().WithKind(kind))
		}
		return
	}
	if !a.scheme.Recognizes(gvk) {
		return
	}
	known, err := a.scheme.New(gvk)
	if err != nil {
		return // the scheme recognizes it
	}
	o, isObject := known.(client.Object)
	if !isObject {
		return
	}
	if err := json.Unmarshal(document, o); err != nil {
		a.skip(name, fmt.Errorf("%s %s: %w", gvk.Kind, client.ObjectKeyFromObject(o), err), gvk)
		return
	}
	if !isName(gvk, o.GetName()) || o.GetNamespace() != "" && len(validation.IsDNS1123Label(o.GetNamespace())) > 0 {
		a.skip(name, fmt.Errorf("%s %q is not a valid name", gvk.Kind, client.ObjectKeyFromObject(o)), gvk)
		return
	}
	if a.objects[gvk] == nil {
		a.objects[gvk] = map[types.NamespacedName]client.Object{}
	}
	a.objects[gvk][client.ObjectKeyFromObject(o)] = o
}

// isName reports whether the API server accepts a name. Roles and their bindings may have almost any.
func isName(gvk schema.GroupVersionKind, name string) bool {
	if gvk.Group == rbacv1.GroupName {
		return name != "" && len(content.IsPathSegmentName(name)) == 0
	}
	return len(validation.IsDNS1123Subdomain(name)) == 0
}

// skip notes an object or file that cannot be read, and the kinds of which the archive therefore lacks objects.
func (a *Archive) skip(name string, err error, kinds ...schema.GroupVersionKind) {
	a.Skipped = append(a.Skipped, messages.Line(fmt.Sprintf("%s: %v", filepath.ToSlash(name), err)))
	for _, k := range kinds {
		a.incomplete[k] = true
	}
}

// Incomplete reports whether objects of a kind were skipped, or may be in files that were. List returns only the others.
func (a *Archive) Incomplete(kind schema.GroupVersionKind) bool {
	return a.incomplete[kind]
}

// ErrMissing is the error for a kind whose objects are not in an archive, while the cluster may have some.
var ErrMissing = errors.New("not in the archive")

// List reads the objects of a kind as a client.Reader does. It returns all at once, whatever the limit. Its error is
// ErrMissing if the cluster may have objects of the kind that the archive lacks.
func (a *Archive) List(_ context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, a.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	if a.misses(gvk) {
		return fmt.Errorf("listing %s: %w", gvk.Kind, ErrMissing)
	}
	var options client.ListOptions
	options.ApplyOptions(opts)
	var selected []runtime.Object
	for _, o := range a.sorted(gvk) {
		inNamespace := options.Namespace == "" || options.Namespace == o.GetNamespace()
		if inNamespace && (options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(o.GetLabels()))) {
			selected = append(selected, o.DeepCopyObject())
		}
	}
	if _, only := out.(*metav1.PartialObjectMetadataList); only {
		selected = metadataOf(selected)
	}
	return meta.SetList(out, selected)
}

// metadataOf returns the metadata of objects.
func metadataOf(objects []runtime.Object) []runtime.Object {
	out := make([]runtime.Object, 0, len(objects))
	for _, o := range objects {
		out = append(out, meta.AsPartialObjectMetadata(o.(client.Object)))
	}
	return out
}

// Notes is the name of the file with a line, Unread and a resource, for each resource that gather could not read.
const (
	Notes  = "notes.txt"
	Unread = "you may not list "
)

// always are kinds of OLM that a cluster with operators has objects of.
var always = []string{"ClusterServiceVersion", "InstallPlan", "OperatorCondition", "CatalogSource"}

// misses reports whether the cluster may have objects of a kind of which the archive has none.
func (a *Archive) misses(gvk schema.GroupVersionKind) bool {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	hasAll := func(notes []string) bool {
		if notes == nil {
			return gvk.Group != "operators.coreos.com" || !slices.Contains(always, gvk.Kind)
		}
		return !slices.Contains(notes, Unread+resource.GroupResource().String())
	}
	return len(a.objects[gvk]) == 0 && (a.incomplete[gvk] || !slices.ContainsFunc(a.notes, hasAll))
}

// sorted returns the objects of a kind by namespace and name, as the API server does.
func (a *Archive) sorted(gvk schema.GroupVersionKind) []client.Object {
	var out []client.Object
	for _, o := range a.objects[gvk] {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}
