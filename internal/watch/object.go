package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// object is the part of a custom resource that the engine and a Reflector need.
type object struct {
	metav1.Object // zero values for everything that a Reflector does not read
	key           string
	version       string
	pattern       string
	initialEnd    bool
}

// newObject returns the object of a record. Unlike the record, it stays valid when the decoder reads on.
func newObject(r record) *object {
	return &object{
		Object: noMeta, key: string(r.key), version: string(r.version), pattern: r.pattern, initialEnd: r.initialEnd,
	}
}

var noMeta metav1.Object = &metav1.ObjectMeta{}

func (o *object) GetNamespace() string       { namespace, _ := splitKey(o.key); return namespace }
func (o *object) GetName() string            { _, name := splitKey(o.key); return name }
func (o *object) GetResourceVersion() string { return o.version }

// GetAnnotations returns the one annotation that a Reflector reads, on the bookmark that ends the initial list.
func (o *object) GetAnnotations() map[string]string {
	if o.initialEnd {
		return map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return nil
}

func (o *object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (o *object) DeepCopyObject() runtime.Object   { c := *o; return &c }

// contents holds the number of each object's pattern, by key.
type contents struct {
	objects  map[string]uint32
	patterns patternTable
}

// set adds or updates an object.
func (c *contents) set(key, pattern string) {
	before, had := c.objects[key]
	if c.objects == nil {
		c.objects = map[string]uint32{}
	}
	c.objects[key], _ = c.patterns.take(pattern)
	if had {
		c.patterns.drop(before)
	}
}

// unset removes an object, if present.
func (c *contents) unset(key string) {
	if before, had := c.objects[key]; had {
		delete(c.objects, key)
		c.patterns.drop(before)
	}
}

// merge adds or updates the objects of d.
func (c *contents) merge(d contents) {
	for key, number := range d.objects {
		c.set(key, d.patterns.entries[number].pattern)
	}
}

// objectBatch holds all objects of an initial list, or of one page. The Reflector gets them as one object, because it buffers
// separate objects until the list is complete, which takes several times the memory of contents.
type objectBatch struct {
	metav1.Object
	contents
	streamed bool // whether it is from a watch, which then continues
}

func (w *objectBatch) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (w *objectBatch) DeepCopyObject() runtime.Object   { c := *w; return &c }

// page is a list response.
type page struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []objectBatch
}

func (p *page) DeepCopyObject() runtime.Object {
	c := *p
	c.Items = append([]objectBatch(nil), p.Items...)
	return &c
}
