package reader

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Read reads a file-based catalog: all files of root except those that .indexignore excludes. An invalid package is
// recorded in Content.Invalid and does not affect others. The objects of bundles are not kept.
func Read(ctx context.Context, root fs.FS, limits catalog.Limits) (*catalog.Content, error) {
	return read(ctx, root, newBuilder(limits))
}

// concurrency is the number of files of a catalog that are read at once. Each uses memory.
const concurrency = 2

func read(ctx context.Context, root fs.FS, b *builder) (*catalog.Content, error) {
	err := declcfg.WalkMetasFS(ctx, root, func(file string, meta *declcfg.Meta, err error) error {
		return b.add(file, meta, err)
	}, declcfg.WithConcurrency(concurrency))
	if err != nil {
		return nil, err
	}
	return b.content()
}

// builder collects the blobs of a catalog, in any order, and converts them to Content. It is safe for concurrent use.
type builder struct {
	limits catalog.Limits

	// keep is called with each bundle that has objects. It may be nil.
	keep func(whole *declcfg.Meta, b declcfg.Bundle) error

	mu       sync.Mutex
	drafts   map[string]*draft
	inFile   map[string]map[string]bool
	keptSize int64
}

// draft collects the blobs of one package.
type draft struct {
	declcfg.DeclarativeConfig
	problems []string
}

func newBuilder(limits catalog.Limits) *builder {
	return &builder{limits: limits, drafts: map[string]*draft{}, inFile: map[string]map[string]bool{}}
}

// readFile adds all blobs of one file.
func (b *builder) readFile(file string, r io.Reader) error {
	return declcfg.WalkMetasReader(r, func(meta *declcfg.Meta, err error) error {
		return b.add(file, meta, err)
	})
}

// add adds one blob of a file, or the error that ends reading the file. It returns an error only if the whole catalog
// cannot be used.
func (b *builder) add(file string, meta *declcfg.Meta, err error) error {
	if err != nil {
		b.broken(file, err)
		return nil
	}
	part, name, err := parse(meta)
	if err != nil {
		if name == "" {
			b.broken(file, err)
		} else {
			b.note(name, fmt.Sprintf("%s: %v", file, err))
		}
		return nil
	}
	if part == nil {
		return nil // of an unknown schema
	}
	if err := b.merge(file, name, part); err != nil || b.keep == nil {
		return err
	}
	if bundle, ok := part.(declcfg.Bundle); ok && bundle.Objects != nil {
		return b.keep(meta, bundle)
	}
	return nil
}

// merge adds a blob to the draft of its package.
func (b *builder) merge(file, name string, part any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.draft(name)
	if b.inFile[file] == nil {
		b.inFile[file] = map[string]bool{}
	}
	b.inFile[file][name] = true
	switch part := part.(type) {
	case declcfg.Package:
		d.Packages = append(d.Packages, part)
	case declcfg.Channel:
		d.Channels = append(d.Channels, part)
		for _, e := range part.Entries {
			b.keptSize += weight(e)
		}
	case declcfg.Bundle:
		d.Bundles = append(d.Bundles, part)
		for _, p := range part.Properties {
			b.keptSize += int64(len(p.Type) + len(p.Value))
		}
	case declcfg.Deprecation:
		d.Deprecations = append(d.Deprecations, part)
		for _, e := range part.Entries {
			b.keptSize += int64(len(e.Reference.Name) + len(e.Message))
		}
	}
	return b.count(0)
}

// weight estimates the memory that an entry of a channel uses, in bytes.
func weight(e declcfg.ChannelEntry) int64 {
	out := int64(100 + len(e.Name) + len(e.Replaces) + len(e.SkipRange))
	for _, skipped := range e.Skips {
		out += int64(16 + len(skipped))
	}
	return out
}

// count adds to the bytes that are kept. It returns an Error with reason TooLarge if they exceed the limit.
func (b *builder) count(bytes int64) error {
	if b.keptSize += bytes; b.keptSize > b.limits.Kept {
		return catalog.Errorf(v1alpha1.ReasonTooLarge, "the metadata of its bundles is larger than the limit of %s", messages.Size(b.limits.Kept))
	}
	return nil
}

func (b *builder) draft(name string) *draft {
	if b.drafts[name] == nil {
		b.drafts[name] = &draft{}
	}
	return b.drafts[name]
}

// broken records that a file cannot be read as a problem of each package read from it, or else of the package that the
// file's top folder is named after.
func (b *builder) broken(file string, err error) {
	b.mu.Lock()
	names := slices.Sorted(maps.Keys(b.inFile[file]))
	b.mu.Unlock()
	if len(names) == 0 {
		names = []string{strings.Split(file, "/")[0]}
	}
	for _, name := range names {
		b.note(name, fmt.Sprintf("%s cannot be read: %v", file, err))
	}
}

// note records a problem of a package.
func (b *builder) note(name, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.draft(name)
	d.problems = append(d.problems, message)
}

// content converts the blobs to Content.
func (b *builder) content() (*catalog.Content, error) {
	out := &catalog.Content{Packages: map[string]*catalog.Package{}, Invalid: map[string]string{}}
	found := false
	for _, name := range slices.Sorted(maps.Keys(b.drafts)) {
		d := b.drafts[name]
		found = found || len(d.Packages) > 0
		if len(d.problems) > 0 {
			slices.Sort(d.problems)
			out.Invalid[name] = catalog.Stable(messages.List(d.problems, 3, "; "))
			continue
		}
		if err := validate(name, &d.DeclarativeConfig); err != nil {
			out.Invalid[name] = catalog.Stable(err.Error())
			continue
		}
		p, err := newPackage(d.DeclarativeConfig)
		if err != nil {
			out.Invalid[name] = catalog.Stable(err.Error())
			continue
		}
		out.Packages[name] = p
	}
	if !found {
		return nil, notACatalog(out.Invalid)
	}
	return out, nil
}

func notACatalog(invalid map[string]string) error {
	if len(invalid) == 0 {
		return catalog.Errorf(v1alpha1.ReasonNotACatalog, "it contains no file-based catalog: no olm.package")
	}
	first := slices.Sorted(maps.Keys(invalid))[0]
	return catalog.Errorf(v1alpha1.ReasonNotACatalog, "it contains no file-based catalog: no olm.package can be read (%s: %s)", first, invalid[first])
}

// parse decodes one blob, without the objects in it, and returns its package. part is nil if the schema is unknown.
func parse(meta *declcfg.Meta) (part any, packageName string, err error) {
	switch meta.Schema {
	case "":
		return nil, meta.Package, fmt.Errorf("%s has no schema", cmp.Or(path.Join(meta.Package, meta.Name), "an object"))
	case declcfg.SchemaPackage:
		var p declcfg.Package
		err = json.Unmarshal(meta.Blob, &p)
		return declcfg.Package{Schema: p.Schema, Name: p.Name, DefaultChannel: p.DefaultChannel}, meta.Name, wrap(err, meta)
	case declcfg.SchemaChannel:
		var c declcfg.Channel
		err = json.Unmarshal(meta.Blob, &c)
		c.Properties = nil
		return c, meta.Package, wrap(err, meta)
	case declcfg.SchemaDeprecation:
		var d declcfg.Deprecation
		err = json.Unmarshal(meta.Blob, &d)
		return d, meta.Package, wrap(err, meta)
	case declcfg.SchemaBundle:
		var b declcfg.Bundle
		if err := json.Unmarshal(meta.Blob, &b); err != nil {
			return nil, meta.Package, wrap(err, meta)
		}
		b, err = withoutObjects(b)
		return b, meta.Package, wrap(err, meta)
	}
	return nil, "", nil
}

func wrap(err error, meta *declcfg.Meta) error {
	if err == nil && meta.Package == "" && (meta.Schema != declcfg.SchemaPackage || meta.Name == "") {
		return fmt.Errorf("%s %q has no package", meta.Schema, meta.Name)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", meta.Schema, meta.Name, err)
	}
	return nil
}

// inlined marks a bundle whose objects are in the catalog.
var inlined = []string{""}

// withoutObjects returns the bundle without the properties that carry objects. If it has no olm.gvk property, one is
// added for each kind that these provide.
func withoutObjects(b declcfg.Bundle) (declcfg.Bundle, error) {
	out := declcfg.Bundle{Schema: b.Schema, Name: b.Name, Package: b.Package, Image: b.Image}
	provides := false
	for _, p := range b.Properties {
		switch p.Type {
		case property.TypeBundleObject:
			out.Objects = inlined
			continue
		case property.TypeCSVMetadata:
			continue
		case property.TypeGVK:
			provides = true
		}
		out.Properties = append(out.Properties, p)
	}
	if provides {
		return out, nil
	}
	gvks, err := providedBy(b.Properties)
	for _, gvk := range gvks {
		out.Properties = append(out.Properties, property.MustBuildGVK(gvk.Group, gvk.Version, gvk.Kind))
	}
	return out, err
}
