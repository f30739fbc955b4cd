package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// object is what the engine takes from a custom resource, and all that a Reflector needs of one.
type object struct {
	metav1.Object // answers with zero values what no Reflector asks
	key           string
	version       string
	pattern       string
	initialEnd    bool
}

// newObject is the object of a record, for longer than until the decoder reads on.
func newObject(r record) *object {
	return &object{
		Object: noMeta, key: string(r.key), version: string(r.version), pattern: r.pattern, initialEnd: r.initialEnd,
	}
}

var noMeta metav1.Object = &metav1.ObjectMeta{}

func (o *object) GetNamespace() string       { namespace, _ := splitKey(o.key); return namespace }
func (o *object) GetName() string            { _, name := splitKey(o.key); return name }
func (o *object) GetResourceVersion() string { return o.version }

// GetAnnotations has the one annotation that a Reflector looks for, on the bookmark that ends the initial list.
func (o *object) GetAnnotations() map[string]string {
	if o.initialEnd {
		return map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return nil
}

func (o *object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (o *object) DeepCopyObject() runtime.Object   { c := *o; return &c }

// contents are many objects: the number of each one's pattern, by key.
type contents struct {
	objects  map[string]uint32
	patterns patternTable
}

// set takes an object as it is now.
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

// unset forgets an object.
func (c *contents) unset(key string) {
	if before, had := c.objects[key]; had {
		delete(c.objects, key)
		c.patterns.drop(before)
	}
}

// merge takes the objects of d as well.
func (c *contents) merge(d contents) {
	for key, number := range d.objects {
		c.set(key, d.patterns.entries[number].pattern)
	}
}

// whole is all objects of an initial list, or of a page of one, which a Reflector is given as if it were one object. It
// would keep an object for each until it has them all, and that is several times what is kept of them.
type whole struct {
	metav1.Object
	contents
	streamed bool // by a watch, which goes on from there
}

func (w *whole) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (w *whole) DeepCopyObject() runtime.Object   { c := *w; return &c }

// page is a list response.
type page struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []whole
}

func (p *page) DeepCopyObject() runtime.Object {
	c := *p
	c.Items = append([]whole(nil), p.Items...)
	return &c
}
