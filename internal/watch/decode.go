package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/observed"
)

// decoder reads custom resources from a stream of JSON in one pass. It keeps the conditions and fields of its plan and
// buffers no object. It accepts any JSON: it skips values of an unexpected type, and records whether `status.conditions` had any.
type decoder struct {
	from  io.Reader
	json  *jsontext.Decoder
	plan  *plan
	heard func() // called for each object and list
	// patterns interns the patterns seen, since few differ.
	patterns map[string]string

	scratch    []byte
	key        []byte
	version    []byte
	pattern    []byte
	namespace  []byte
	name       []byte
	conditions conditionReader
	fields     fieldReader
}

// record is one object, or the error in place of one. Its bytes are valid until the decoder reads on.
type record struct {
	key, version []byte
	pattern      string
	initialEnd   bool           // whether a bookmark has the annotation that ends the initial list
	failure      *metav1.Status // the Status of an ERROR event
}

// maxInterned is how many patterns a decoder interns. Thousands of decoders may exist, each as long-lived as its watch.
const maxInterned = 128

// maxKept is the size of an event, in bytes, above which the decoder releases its buffers.
const maxKept = 64 << 10

func newDecoder(r io.Reader, plan *plan, heard func()) *decoder {
	return &decoder{from: r, json: newJSON(r), plan: plan, heard: heard, patterns: map[string]string{}}
}

func newJSON(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// event reads the next watch event. At the end of the stream the error is io.EOF.
func (d *decoder) event() (kind apiwatch.EventType, r record, err error) {
	start := d.json.InputOffset()
	defer func() {
		if d.json.InputOffset()-start > maxKept {
			d.release()
		}
	}()
	err = d.members(func(name string) (err error) {
		switch name {
		case `"type"`:
			d.scratch, err = d.appendText(d.scratch[:0])
			kind = eventType(d.scratch)
			return err
		case `"object"`:
			r, err = d.object(true)
			return err
		default:
			return d.json.SkipValue()
		}
	})
	if err == nil && kind == "" {
		err = errors.New("a watch event without a type")
	}
	return kind, r, err
}

// release drops the buffers, which have grown to the longest text so far and would never shrink.
func (d *decoder) release() {
	unread := bytes.Clone(d.json.UnreadBuffer())
	d.from = io.MultiReader(bytes.NewReader(unread), d.from)
	d.json = newJSON(d.from)
	d.scratch, d.conditions, d.fields = nil, conditionReader{}, fieldReader{}
}

func eventType(text []byte) apiwatch.EventType {
	switch string(text) {
	case string(apiwatch.Added):
		return apiwatch.Added
	case string(apiwatch.Modified):
		return apiwatch.Modified
	case string(apiwatch.Deleted):
		return apiwatch.Deleted
	default:
		return apiwatch.EventType(text)
	}
}

// list reads a list response. A response without items is an error, not an empty list.
func (d *decoder) list() (meta metav1.ListMeta, objects contents, err error) {
	isList := false
	err = d.members(func(name string) error {
		switch name {
		case `"metadata"`:
			return d.listMeta(&meta)
		case `"items"`:
			kind := d.json.PeekKind()
			isList = kind == '[' || kind == 'n'
			objects = contents{}
			return d.elements(func() error {
				r, err := d.object(false)
				if err == nil {
					objects.set(string(r.key), r.pattern)
				}
				return err
			})
		default:
			return d.json.SkipValue()
		}
	})
	if err == nil && !isList {
		err = errors.New("the response has no items")
	}
	if err != nil {
		return meta, objects, fmt.Errorf("decoding a list: %w", err)
	}
	d.heard()
	return meta, objects, nil
}

func (d *decoder) listMeta(out *metav1.ListMeta) error {
	return d.members(func(name string) (err error) {
		switch name {
		case `"resourceVersion"`:
			out.ResourceVersion, err = d.text()
		case `"continue"`:
			out.Continue, err = d.text()
		default:
			err = d.json.SkipValue()
		}
		return err
	})
}

// object reads a custom resource or, if mayFail, a Status with an error.
func (d *decoder) object(mayFail bool) (r record, err error) {
	d.version, d.namespace, d.name = d.version[:0], d.namespace[:0], d.name[:0]
	d.conditions.reset()
	d.fields.reset(d.plan.values)
	err = d.members(func(name string) error {
		switch name {
		case `"metadata"`:
			return d.metadata(&r)
		case `"spec"`:
			return d.field(d.plan.spec)
		case `"status"`:
			d.conditions.reset()
			return d.status()
		case `"message"`, `"reason"`, `"code"`:
			if mayFail {
				if r.failure == nil {
					r.failure = &metav1.Status{Status: metav1.StatusFailure}
				}
				return d.errorField(name, r.failure)
			}
		}
		return d.json.SkipValue()
	})
	d.pattern = d.appendPattern(d.pattern[:0])
	d.key = append(append(append(d.key[:0], d.namespace...), keySeparator), d.name...)
	r.key, r.version, r.pattern = d.key, d.version, d.intern(pack(d.pattern))
	if err == nil && r.failure == nil {
		d.heard()
	}
	return r, err
}

func (d *decoder) metadata(r *record) error {
	d.version, d.namespace, d.name, r.initialEnd = d.version[:0], d.namespace[:0], d.name[:0], false
	d.fields.forget(d.plan.metadata)
	return d.rawMembers(func(quoted []byte) (err error) {
		field := d.plan.metadata.member(quoted)
		switch memberName(quoted) {
		case `"name"`:
			d.name, err = d.appendText(d.name[:0])
			d.fields.keep(field, expression.String, d.name)
		case `"namespace"`:
			d.namespace, err = d.appendText(d.namespace[:0])
			d.fields.keep(field, expression.String, d.namespace)
		case `"resourceVersion"`:
			d.version, err = d.appendText(d.version[:0])
		case `"annotations"`:
			err = d.annotations(r, field)
		default:
			err = d.field(field)
		}
		return err
	})
}

func (d *decoder) annotations(r *record, field *fieldNode) error {
	r.initialEnd = false
	d.fields.forget(field)
	return d.rawMembers(func(quoted []byte) (err error) {
		field := field.member(quoted)
		if memberName(quoted) != `"`+metav1.InitialEventsAnnotationKey+`"` {
			return d.field(field)
		}
		d.scratch, err = d.appendText(d.scratch[:0])
		r.initialEnd = string(d.scratch) == "true"
		return err
	})
}

func (d *decoder) status() error {
	d.fields.forget(d.plan.status)
	return d.rawMembers(func(quoted []byte) error {
		field := d.plan.status.member(quoted)
		if memberName(quoted) != `"conditions"` {
			return d.field(field)
		}
		d.conditions.reset()
		return d.readConditions()
	})
}

// appendPattern appends the pattern of the object that was read.
func (d *decoder) appendPattern(pattern []byte) []byte {
	pattern = d.conditions.appendPattern(pattern, d.fields.integer(generationValue), d.fields.integer(observedGenerationValue))
	pattern = d.appendComparisons(pattern)
	if d.conditions.malformed {
		pattern = append(pattern, malformed)
	}
	return pattern
}

// readConditions reads a list of conditions, or a map of them by type.
func (d *decoder) readConditions() error {
	switch d.json.PeekKind() {
	case '[':
		return d.elements(d.condition)
	case '{':
		return d.conditionMap()
	case 'n':
		return d.json.SkipValue()
	default:
		d.conditions.malformed = true
		return d.json.SkipValue()
	}
}

// condition reads an element of a list of conditions.
func (d *decoder) condition() error {
	if d.json.PeekKind() != '{' {
		d.conditions.malformed = true
		return d.json.SkipValue()
	}
	c := foundCondition{status: observed.Unreadable}
	named, known := false, false
	err := d.members(func(name string) (err error) {
		if name != `"type"` {
			return d.conditionField(name, &c)
		}
		named = d.json.PeekKind() == '"'
		d.scratch, err = d.appendText(d.scratch[:0])
		c.number, known = d.plan.numbers[string(d.scratch)]
		return err
	})
	if !named {
		d.conditions.malformed = true
		return err
	}
	d.conditions.saw(c)
	if known {
		d.conditions.add(c)
	}
	return err
}

// conditionMap reads conditions by type, each an object or only a status.
func (d *decoder) conditionMap() error {
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() == '"' {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		d.scratch = appendUnquoted(d.scratch[:0], name)
		number, known := d.plan.numbers[string(d.scratch)]
		c := foundCondition{number: number, status: observed.Unreadable}
		if d.json.PeekKind() == '{' {
			err = d.members(func(name string) error { return d.conditionField(name, &c) })
		} else if c.status, err = d.conditionStatus(); c.status == observed.Unreadable {
			d.conditions.malformed = true
		}
		if err != nil {
			return err
		}
		d.conditions.saw(c)
		if known {
			d.conditions.add(c)
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// conditionField reads a member of a condition, except its type.
func (d *decoder) conditionField(name string, c *foundCondition) (err error) {
	switch name {
	case `"status"`:
		c.status, err = d.conditionStatus()
	case `"lastTransitionTime"`:
		d.scratch, err = d.appendText(d.scratch[:0])
		c.since = d.conditions.keep(d.scratch, maxTime)
	case `"reason"`:
		if !d.plan.readsReasons {
			return d.json.SkipValue()
		}
		d.scratch, err = d.appendText(d.scratch[:0])
		c.reason = d.conditions.keep(d.scratch, expression.MaxLength)
	case `"observedGeneration"`:
		c.observed, err = d.number()
	default:
		err = d.json.SkipValue()
	}
	return err
}

// conditionStatus reads the status of a condition, which some operators write as a boolean.
func (d *decoder) conditionStatus() (out observed.Status, err error) {
	switch kind := d.json.PeekKind(); kind {
	case 't', 'f':
		out = observed.False
		if kind == 't' {
			out = observed.True
		}
		return out, d.json.SkipValue()
	case '"':
		d.scratch, err = d.appendText(d.scratch[:0])
		return statusOf(d.scratch), err
	default:
		return observed.Unreadable, d.json.SkipValue()
	}
}

// number reads an integer. Any other value reads as 0.
func (d *decoder) number() (int64, error) {
	if d.json.PeekKind() != '0' {
		return 0, d.json.SkipValue()
	}
	value, err := d.json.ReadValue()
	if err != nil {
		return 0, err
	}
	return integerOf(value), nil
}

func (d *decoder) errorField(name string, status *metav1.Status) error {
	if name == `"code"` {
		value, err := d.json.ReadValue()
		if err == nil {
			// If it is not a number the code stays 0, which reads as an unknown error.
			_, _ = fmt.Sscan(string(value), &status.Code)
		}
		return err
	}
	text, err := d.text()
	if name == `"reason"` {
		status.Reason = metav1.StatusReason(text)
	} else {
		status.Message = text
	}
	return err
}

// members is rawMembers with the memberName of each member.
func (d *decoder) members(yield func(name string) error) error {
	return d.rawMembers(func(quoted []byte) error { return yield(memberName(quoted)) })
}

// rawMembers calls yield with the quoted name of each member of the next value. yield must read the value of the member;
// the name is valid until it does. A value that is not an object is skipped.
func (d *decoder) rawMembers(yield func(quoted []byte) error) error {
	if d.json.PeekKind() != '{' {
		return d.json.SkipValue()
	}
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() == '"' {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		if err := yield(name); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// elements calls yield for each element of the next value, which yield must read. A value that is not an array is
// skipped.
func (d *decoder) elements(yield func() error) error {
	if d.json.PeekKind() != '[' {
		return d.json.SkipValue()
	}
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for kind := d.json.PeekKind(); kind != ']' && kind != 0; kind = d.json.PeekKind() {
		if err := yield(); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// memberNames are the names that the decoder looks for. memberName returns "" for any other name, so reading a name
// does not allocate.
var memberNames = func() map[string]string {
	out := map[string]string{}
	for _, name := range []string{
		"type", "object", "metadata", "spec", "items", "resourceVersion", "continue", "status", "message", "reason", "code",
		"name", "namespace", "annotations", "conditions", "observedGeneration", "lastTransitionTime", metav1.InitialEventsAnnotationKey,
	} {
		out[`"`+name+`"`] = `"` + name + `"`
	}
	return out
}()

func memberName(quoted []byte) string {
	if name, ok := memberNames[string(quoted)]; ok || bytes.IndexByte(quoted, '\\') < 0 {
		return name
	}
	return memberNames[`"`+string(appendUnquoted(nil, quoted))+`"`]
}

// text reads a string. Any other value reads as the empty string.
func (d *decoder) text() (string, error) {
	text, err := d.appendText(nil)
	return string(text), err
}

func (d *decoder) appendText(to []byte) ([]byte, error) {
	if d.json.PeekKind() != '"' {
		return to, d.json.SkipValue()
	}
	value, err := d.json.ReadValue()
	if err != nil {
		return to, err
	}
	return appendUnquoted(to, value), nil
}

// appendUnquoted appends the text of a string that a decoder has read. Invalid UTF-8 becomes U+FFFD.
func appendUnquoted(to, quoted []byte) []byte {
	to, _ = jsontext.AppendUnquote(to, quoted) // a valid string, so the only possible error is invalid UTF-8
	return to
}

func (d *decoder) intern(pattern []byte) string {
	if p, ok := d.patterns[string(pattern)]; ok {
		return p
	}
	if len(d.patterns) == maxInterned {
		clear(d.patterns)
	}
	p := string(pattern)
	d.patterns[p] = p
	return p
}
