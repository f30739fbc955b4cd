package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/operator-status/operator-status/internal/observed"
)

// asked are the condition types that the decoder tests look for, in the order of their numbers.
var asked = []string{"Migrating", "Ready", "Datenbank läuft 🚀"}

// seen is an event as the decoder returns it.
type seen struct {
	Kind                     apiwatch.EventType
	Namespace, Name, Version string
	Conditions               []observed.Condition
	InitialEnd               bool
}

func see(kind apiwatch.EventType, o *object) seen {
	return seen{
		Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Version: o.GetResourceVersion(),
		Conditions: conditionsOf(o.pattern, asked), InitialEnd: o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true",
	}
}

func decoderOf(t testing.TB, r io.Reader, terms ...string) *decoder {
	t.Helper()
	plan, err := newPlan(terms)
	if err != nil {
		t.Fatal(err)
	}
	return newDecoder(r, plan, func() {})
}

// has returns a condition that is not stale.
func has(conditionType string, status observed.Status) observed.Condition {
	return observed.Condition{Type: conditionType, Status: status}
}

func conditions(c ...observed.Condition) []observed.Condition {
	return append([]observed.Condition{}, c...)
}

func TestDecodeEvent(t *testing.T) {
	foo := func(c ...observed.Condition) seen {
		return seen{Kind: apiwatch.Modified, Namespace: "default", Name: "foo", Version: "7", Conditions: conditions(c...)}
	}
	const meta = `"metadata":{"name":"foo","namespace":"default","resourceVersion":"7"}`
	modified := func(rest string) string { return `{"type":"MODIFIED","object":{` + meta + rest + `}}` }
	status := func(conditions string) string { return modified(`,"status":{"conditions":` + conditions + `}`) }
	many := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, `{"type":"Other%d","status":"True","message":"of no interest"},`, i)
		}
		return out.String()
	}
	deep := strings.Repeat(`{"a":[`, 2000) + strings.Repeat(`]}`, 2000)

	cases := map[string]struct {
		reason string
		event  string
		want   seen
	}{
		"two conditions": {
			reason: "Requested conditions are kept in the order of the object.",
			event:  status(`[{"type":"Ready","status":"False"},{"type":"Other","status":"True"},{"type":"Migrating","status":"True"}]`),
			want:   foo(has("Ready", observed.False), has("Migrating", observed.True)),
		},
		"no status":          {reason: "An object without a status has no conditions.", event: modified(``), want: foo()},
		"status null":        {reason: "A status that is null has no conditions.", event: modified(`,"status":null`), want: foo()},
		"status a string":    {reason: "A status of a wrong type is ignored.", event: modified(`,"status":"fine"`), want: foo()},
		"conditions missing": {reason: "A status without conditions has none.", event: modified(`,"status":{"phase":"x"}`), want: foo()},
		"conditions null":    {reason: "Conditions that are null are ignored.", event: status(`null`), want: foo()},
		"conditions empty":   {reason: "An empty list has no conditions.", event: status(`[]`), want: foo()},
		"conditions by type": {
			reason: "Conditions may be a map from types to conditions or statuses.",
			event:  status(`{"Ready":{"status":"True","reason":"R"},"Migrating":"False","Other":{}}`),
			want:   foo(has("Ready", observed.True), has("Migrating", observed.False)),
		},
		"one condition instead of a list": {
			reason: "A single condition instead of a list is Unreadable.",
			event:  status(`{"type":"Ready","status":"True"}`),
			want:   foo(observed.Condition{Status: observed.Unreadable}),
		},
		"conditions a number": {
			reason: "Conditions that are neither a list nor a map are Unreadable.",
			event:  status(`12e3`), want: foo(observed.Condition{Status: observed.Unreadable}),
		},
		"conditions of other things": {
			reason: "Elements that are not conditions are Unreadable, and the conditions between them are read.",
			event:  status(`["Ready",null,1,true,[{"type":"Migrating","status":"True"}],{"type":"Ready","status":"True"},{}]`),
			want:   foo(has("Ready", observed.True), observed.Condition{Status: observed.Unreadable}),
		},
		"type of the wrong type": {
			reason: "A condition whose type is not a string is Unreadable.",
			event:  status(`[{"type":1,"status":"True"},{"type":null,"status":"True"},{"type":{"type":"Ready"},"status":"True"},{"status":"True"}]`),
			want:   foo(observed.Condition{Status: observed.Unreadable}),
		},
		"only parts of other types are of the wrong type": {
			reason: "Conditions of other types are ignored, whatever their form.",
			event:  status(`[{"type":"Ready","status":"True"},{"type":"Other","status":7}]`),
			want:   foo(has("Ready", observed.True)),
		},
		"status a boolean": {
			reason: "A boolean status is read.",
			event:  status(`[{"type":"Ready","status":true},{"type":"Migrating","status":false}]`),
			want:   foo(has("Ready", observed.True), has("Migrating", observed.False)),
		},
		"without a status": {
			reason: "A condition without a status, or with one of another type, is Unreadable.",
			event:  status(`[{"type":"Ready"},{"type":"Migrating","status":1},{"type":"Datenbank läuft 🚀","status":null}]`),
			want:   foo(has("Ready", observed.Unreadable), has("Migrating", observed.Unreadable), has(asked[2], observed.Unreadable)),
		},
		"other case": {
			reason: "A status in lower or upper case is read.",
			event:  status(`[{"type":"Ready","status":"true"},{"type":"Migrating","status":"FALSE"},{"type":"Datenbank läuft 🚀","status":"unknown"}]`),
			want:   foo(has("Ready", observed.True), has("Migrating", observed.False), has(asked[2], observed.Unknown)),
		},
		"other words": {
			reason: "A status other than True, False and Unknown is Unreadable.",
			event:  status(`[{"type":"Ready","status":"Yes"},{"type":"Migrating","status":""}]`),
			want:   foo(has("Ready", observed.Unreadable), has("Migrating", observed.Unreadable)),
		},
		"type lowercase": {reason: "Condition types are case-sensitive.", event: status(`[{"type":"ready","status":"True"}]`), want: foo()},
		"a type twice": {
			reason: "A type with different statuses is Unreadable if it is unknown which is the newest.",
			event: status(`[{"type":"Ready","status":"False"},{"type":"Migrating","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},` +
				`{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Migrating","status":"False","lastTransitionTime":"2026-01-01T01:00:00+01:00"}]`),
			want: foo(has("Ready", observed.Unreadable), has("Migrating", observed.Unreadable)),
		},
		"a type twice alike": {
			reason: "A type that occurs twice with the same status has that status.",
			event:  status(`[{"type":"Ready","status":"False","reason":"A"},{"type":"Ready","status":false,"reason":"B"}]`),
			want:   foo(has("Ready", observed.False)),
		},
		"a history": {
			reason: "The condition with the newest transition is used if a type occurs several times.",
			event: status(`[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Migrating","status":"True","lastTransitionTime":"2026-01-03T00:00:00Z"},` +
				`{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T00:00:00Z"},{"type":"Migrating","status":"False","lastTransitionTime":"2026-01-02T00:00:00Z"},` +
				`{"lastTransitionTime":"2026-01-01T12:00:00.5Z","type":"Ready","status":"False"}]`),
			want: foo(has("Ready", observed.True), has("Migrating", observed.True)),
		},
		"of an earlier generation": {
			reason: "A condition of an earlier generation is stale, and one without observedGeneration is not.",
			event: `{"type":"MODIFIED","object":{"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":2},` +
				`{"type":"Migrating","status":"False"},{"type":"Datenbank läuft 🚀","status":"True","observedGeneration":3}]},` +
				`"metadata":{"generation":3,"name":"foo","namespace":"default","resourceVersion":"7"}}}`,
			want: foo(observed.Condition{Type: "Ready", Status: observed.True, Stale: true}, has("Migrating", observed.False), has(asked[2], observed.True)),
		},
		"status before type": {
			reason: "A condition is read in any order of its fields.",
			event:  status(`[{"status":"True","reason":"R","message":"m","type":"Ready"}]`),
			want:   foo(has("Ready", observed.True)),
		},
		"other fields around": {
			reason: "Other fields of the status are ignored, even with the same names or nested.",
			event:  modified(`,"status":{"replicas":3,"children":[{"conditions":[{"type":"Migrating","status":"True"}]}],"conditions":[{"type":"Ready","status":"True"}],"status":"x","type":"Ready"}`),
			want:   foo(has("Ready", observed.True)),
		},
		"conditions elsewhere": {
			reason: "Conditions outside the status are ignored.",
			event:  modified(`,"spec":{"status":{"conditions":[{"type":"Migrating","status":"True"}]},"conditions":[{"type":"Ready","status":"True"}]}`),
			want:   foo(),
		},
		"metadata last": {
			reason: "An event and its object are read in any order of their fields.",
			event:  `{"object":{"status":{"conditions":[{"type":"Ready","status":"True"}]},` + meta + `},"type":"MODIFIED"}`,
			want:   foo(has("Ready", observed.True)),
		},
		"cluster-scoped": {
			reason: "An object without a namespace is read.",
			event:  `{"type":"DELETED","object":{"metadata":{"name":"foo","resourceVersion":"7"}}}`,
			want:   seen{Kind: apiwatch.Deleted, Name: "foo", Version: "7", Conditions: conditions()},
		},
		"metadata of the wrong types": {
			reason: "Metadata of wrong types is ignored.",
			event:  `{"type":"ADDED","object":{"metadata":{"name":7,"namespace":[],"resourceVersion":null,"annotations":"x"}}}`,
			want:   seen{Kind: apiwatch.Added, Conditions: conditions()},
		},
		"escaped": {
			reason: "Escaped characters in names and values of fields are decoded.",
			event:  `{"typ\u0065":"MODIFIED","object":{"metadata":{"n\u0061me":"f\u006fo","namespace":"default","resourceVersion":"7"},"status":{"c\u006fnditions":[{"type":"\u0052eady","status":"Tru\u0065"}]}}}`,
			want:   foo(has("Ready", observed.True)),
		},
		"unicode": {
			reason: "A condition type may contain any character, escaped or not.",
			event:  status(`[{"type":"Datenbank l\u00e4uft \ud83d\ude80","status":"True","message":"🚀\u0000\ud800"},{"type":"Ready","status":"False"}]`),
			want:   foo(has(asked[2], observed.True), has("Ready", observed.False)),
		},
		"invalid UTF-8": {
			reason: "Invalid UTF-8 does not end the watch.",
			event:  status("[{\"type\":\"Ready\xff\",\"status\":\"True\"},{\"type\":\"Migrating\",\"status\":\"True\",\"message\":\"\xc3\x28\"}]"),
			want:   foo(has("Migrating", observed.True)),
		},
		"a field twice": {
			reason: "The last of several fields of one name is used, as in encoding/json.",
			event: `{"type":"ADDED","type":"MODIFIED","object":{"metadata":{"name":"bar","namespace":"other","labels":{}},` + meta +
				`,"status":{"conditions":[{"type":"Migrating","status":"True"}]},"status":{"conditions":[{"type":"Ready","status":"True"}],"conditions":[{"type":"Ready","status":"True","status":"False"}]}}}`,
			want: foo(has("Ready", observed.False)),
		},
		"a status twice, the last empty": {
			reason: "The last of several statuses is used, even if it is empty.",
			event:  modified(`,"status":{"conditions":[{"type":"Ready","status":"True"}]},"status":{}`),
			want:   foo(),
		},
		"deep": {
			reason: "Deeply nested fields are skipped.",
			event:  modified(`,"spec":` + deep + `,"status":{"deep":` + deep + `,"conditions":[{"message":` + deep + `,"type":"Ready","status":"True"}]}`),
			want:   foo(has("Ready", observed.True)),
		},
		"very many conditions": {
			reason: "A long list of conditions is read.",
			event:  status(`[` + many(50_000) + `{"type":"Ready","status":"True"}]`),
			want:   foo(has("Ready", observed.True)),
		},
		"very long texts": {
			reason: "Long strings are read and skipped.",
			event: status(`[{"type":"` + strings.Repeat("x", 3<<20) + `","status":"True"},{"type":"Ready","status":"` + strings.Repeat("True",
				1<<20) + `"},{"type":"Migrating","status":"True","message":"` + strings.Repeat(`\n`, 3<<20) + `"}]`),
			want: foo(has("Ready", observed.Unreadable), has("Migrating", observed.True)),
		},
		"bookmark": {
			reason: "The resourceVersion of a bookmark is read.",
			event:  `{"type":"BOOKMARK","object":{"kind":"Foo","apiVersion":"example.com/v1","metadata":{"resourceVersion":"99","creationTimestamp":null},"spec":{}}}`,
			want:   seen{Kind: apiwatch.Bookmark, Version: "99", Conditions: conditions()},
		},
		"end of the initial list": {
			reason: "The bookmark at the end of the initial list is recognized by its annotation.",
			event:  `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"other":"true","k8s.io/initial-events-end":"true"},"resourceVersion":"99"}}}`,
			want:   seen{Kind: apiwatch.Bookmark, Version: "99", Conditions: conditions(), InitialEnd: true},
		},
		"not the end of the initial list": {
			reason: "A bookmark whose annotation is not true does not end the initial list.",
			event:  `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"false"},"resourceVersion":"99"}}}`,
			want:   seen{Kind: apiwatch.Bookmark, Version: "99", Conditions: conditions()},
		},
		"no object": {
			reason: "An event without an object is read.",
			event:  `{"type":"ADDED"}`,
			want:   seen{Kind: apiwatch.Added, Conditions: conditions()},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			// Between two others, to verify that no state leaks into the next event.
			const other = `{"type":"ADDED","object":{"metadata":{"name":"n","namespace":"ns","resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}},"status":{"conditions":[{"type":"Migrating","status":"False"}]}}}`
			wantOther := seen{Kind: apiwatch.Added, Namespace: "ns", Name: "n", Version: "1", InitialEnd: true, Conditions: conditions(has("Migrating", observed.False))}
			want := []seen{wantOther, tc.want, wantOther}
			s := &eventStream{decoder: decoderOf(t, strings.NewReader(other+tc.event+"\n"+other), asked...)}
			var got []seen
			for range want {
				kind, o, err := s.Decode()
				if err != nil {
					t.Fatalf("%s\n%v", tc.reason, err)
				}
				got = append(got, see(kind, o.(*object)))
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(observed.Condition{})); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if _, _, err := s.Decode(); !errors.Is(err, io.EOF) {
				t.Errorf("after the last event: want io.EOF, got %v", err)
			}
		})
	}
}

func TestDecodeErrorEvent(t *testing.T) {
	cases := map[string]struct {
		reason  string
		object  string
		is      func(error) bool
		message string
	}{
		"expired": {
			reason:  "An expired resourceVersion is returned as such, so the Reflector lists again.",
			object:  `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (9)","reason":"Expired","code":410}`,
			is:      apierrors.IsResourceExpired,
			message: "too old resource version: 1 (9)",
		},
		"gone": {
			reason: "A Status with code 410 is recognized as well, in any order of its fields.",
			object: `{"code":410,"reason":"Gone","status":"Failure"}`,
			is:     apierrors.IsGone,
		},
		"too many requests": {
			reason: "Too many requests are returned as such, so the Reflector waits.",
			object: `{"status":"Failure","message":"later","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`,
			is:     apierrors.IsTooManyRequests, message: "later",
		},
		"internal": {
			reason: "An internal error is returned with its message.",
			object: `{"status":"Failure","message":"etcd \"is\" away","reason":"InternalError","code":500}`,
			is:     apierrors.IsInternalError, message: `etcd "is" away`,
		},
		"of the wrong types": {
			reason: "A Status with fields of wrong types is an error.",
			object: `{"status":1,"message":{},"reason":[],"code":"x"}`,
			is:     func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown },
		},
		"nothing": {
			reason: "An error event without a Status is an error.",
			object: `null`,
			is:     func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown },
		},
	}
	for name, tc := range cases {
		for _, initial := range []*objectBatch{nil, {Object: noMeta}} {
			t.Run(fmt.Sprintf("%s/initial=%t", name, initial != nil), func(t *testing.T) {
				text := `{"type":"ERROR","object":` + tc.object + `}`
				s := &eventStream{decoder: decoderOf(t, strings.NewReader(text), asked...), initial: initial}
				kind, o, err := s.Decode()
				if err != nil || kind != apiwatch.Error {
					t.Fatalf("%s\nwant an ERROR event, got %q, %v", tc.reason, kind, err)
				}
				got := apierrors.FromObject(o)
				var status *apierrors.StatusError
				if !errors.As(got, &status) || !tc.is(got) {
					t.Errorf("%s\ngot %T: %#v", tc.reason, got, got)
				} else if diff := cmp.Diff(tc.message, status.ErrStatus.Message); diff != "" {
					t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// TestDecodeCutOff verifies that io.EOF and io.ErrUnexpectedEOF are returned unwrapped: a Reflector then watches
// again. After any other error it lists everything again.
func TestDecodeCutOff(t *testing.T) {
	const event = `{"type":"MODIFIED","object":{"metadata":{"name":"fo\u006f","annotations":{"a":"b"}},"spec":[1.5e3,true,null],"status":{"conditions":[{"type":"Ready","status":"True"}]}}}`
	lost := errors.New("connection lost")
	for n := range len(event) {
		for name, read := range map[string]struct {
			from io.Reader
			want error
		}{
			"all at once":       {strings.NewReader(event[:n]), io.ErrUnexpectedEOF},
			"a byte at a time":  {iotest.OneByteReader(strings.NewReader(event[:n])), io.ErrUnexpectedEOF},
			"by the transport":  {io.MultiReader(strings.NewReader(event[:n]), iotest.ErrReader(io.ErrUnexpectedEOF)), io.ErrUnexpectedEOF},
			"by something else": {io.MultiReader(strings.NewReader(event[:n]), iotest.ErrReader(lost)), lost},
		} {
			want := read.want
			if n == 0 && name != "by the transport" && name != "by something else" {
				want = io.EOF
			}
			s := &eventStream{decoder: decoderOf(t, read.from, asked...)}
			_, _, err := s.Decode()
			if isEOF := want != lost; isEOF && err != want || !errors.Is(err, want) { //nolint:errorlint // as is
				t.Errorf("after %d bytes, %s: want %v, got %v", n, name, want, err)
			}
		}
	}
}

func TestDecodeGarbage(t *testing.T) {
	for _, text := range []string{
		`}`, `]`, `,`, `x`, `{]`, `{"type"}`, `{"type":}`, `{"type":"ADDED",}`, `{"type":"ADDED" "object":{}}`, `{1:2}`,
		`{"type":"ADDED","object":{"status":{"conditions":[{"type":"Ready"]}}}`, `{"type":"ADDED","object":[}`,
		`{"type":"ADDED","object":{"metadata":{"name":"a` + "\n" + `b"}}}`, `<html>Bad Gateway</html>`, "\x00\x01\x02",
		`{}`, `[]`, `7`, `null`, `{"type":7}`, strings.Repeat(`[`, 20_000), `{"type":"ADDED","object":` + strings.Repeat(`{"status":`, 20_000),
	} {
		s := &eventStream{decoder: decoderOf(t, strings.NewReader(text), asked...)}
		if kind, o, err := s.Decode(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%.40q: want an error, got %v, %v, %v", text, kind, o, err)
		}
		for _, list := range []string{text, `{"items":` + text} {
			if _, _, err := decoderOf(t, strings.NewReader(list), asked...).list(); err == nil {
				t.Errorf("%.40q as a list: want an error", list)
			}
		}
	}
}

func TestDecodeList(t *testing.T) {
	cases := map[string]struct {
		reason string
		list   string
		meta   metav1.ListMeta
		want   map[string][]observed.Condition
	}{
		"a page": {
			reason: "The continue token of a list is read, whatever the position of the metadata.",
			list:   `{"kind":"FooList","apiVersion":"example.com/v1","items":[{"metadata":{"name":"a","namespace":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}},{"metadata":{"name":"b","namespace":"n"}}],"metadata":{"continue":"to\u006ben","remainingItemCount":5,"resourceVersion":"12"}}`,
			meta:   metav1.ListMeta{ResourceVersion: "12", Continue: "token"},
			want:   map[string][]observed.Condition{"n\x00a": conditions(has("Ready", observed.True)), "n\x00b": conditions()},
		},
		"empty": {reason: "An empty list is read.", list: `{"metadata":{"resourceVersion":"1"},"items":[]}`, meta: metav1.ListMeta{ResourceVersion: "1"}},
		"null":  {reason: "A list that is null is read.", list: `{"metadata":{"resourceVersion":"1"},"items":null}`, meta: metav1.ListMeta{ResourceVersion: "1"}},
		"items twice": {
			reason: "The last of several lists of items is used.",
			list:   `{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}}],"items":[{"metadata":{"name":"b"}}]}`,
			meta:   metav1.ListMeta{ResourceVersion: "1"},
			want:   map[string][]observed.Condition{"\x00b": conditions()},
		},
		"objects that look like a Status": {
			reason: "Fields of a Status are ignored in the objects of a list.",
			list:   `{"metadata":{"resourceVersion":"1"},"items":[{"code":1,"message":"m","reason":"r","metadata":{"name":"a"},"status":"Failure"}]}`,
			meta:   metav1.ListMeta{ResourceVersion: "1"},
			want:   map[string][]observed.Condition{"\x00a": conditions()},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			meta, objects, err := decoderOf(t, strings.NewReader(tc.list), asked...).list()
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			var got map[string][]observed.Condition
			for key, number := range objects.objects {
				if got == nil {
					got = map[string][]observed.Condition{}
				}
				got[key] = conditionsOf(objects.patterns.entries[number].pattern, asked)
			}
			if diff := cmp.Diff(tc.meta, meta) + cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDecodeInitial verifies that the initial list is one object, regardless of changes while it is read.
func TestDecodeInitial(t *testing.T) {
	event := func(kind, name, status string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"resourceVersion":"5"},"status":{"conditions":[{"type":"Ready","status":%q}]}}}`+"\n", kind,
			name, status)
	}
	const bookmark = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6"}}}`
	const end = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}`
	text := event("ADDED", "a", "True") + event("ADDED", "b", "True") + bookmark + event("ADDED", "c", "False") +
		event("MODIFIED", "b", "Unknown") + event("DELETED", "a", "True") + event("DELETED", "z", "True") + end +
		event("DELETED", "c", "False")
	s := &eventStream{decoder: decoderOf(t, strings.NewReader(text), asked...), initial: &objectBatch{Object: noMeta}}

	kind, o, err := s.Decode()
	w, ok := o.(*objectBatch)
	if err != nil || kind != apiwatch.Added || !ok {
		t.Fatalf("want the list as one object that is added, got %v %T %v", kind, o, err)
	}
	got := map[string][]observed.Condition{}
	for key, number := range w.objects {
		got[key] = conditionsOf(w.patterns.entries[number].pattern, asked)
	}
	want := map[string][]observed.Condition{"\x00b": conditions(has("Ready", observed.Unknown)), "\x00c": conditions(has("Ready", observed.False))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the list: -want +got\n%s", diff)
	}

	var rest []seen
	for {
		kind, o, err := s.Decode()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rest = append(rest, see(kind, o.(*object)))
	}
	wantRest := []seen{
		{Kind: apiwatch.Bookmark, Version: "9", Conditions: conditions(), InitialEnd: true},
		{Kind: apiwatch.Deleted, Name: "c", Version: "5", Conditions: conditions(has("Ready", observed.False))},
	}
	if diff := cmp.Diff(wantRest, rest); diff != "" {
		t.Errorf("the following events: -want +got\n%s", diff)
	}
}

// FuzzDecode verifies that the decoder survives any input, and agrees with a reference that parses the whole event.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"foo","namespace":"default","resourceVersion":"7"},"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Ready","status":"False"},{"status":"False","type":"Migrating"}]}}`))
	f.Add([]byte(`{"status":{"conditions":[{"type":"Migrating","status":1}],"conditions":{}},"status":null,"metadata":{"name":"\ud83d\ude80\ud800","annotations":{"k8s.io/initial-events-end":"true"}},"metadata":[]}`))
	f.Add([]byte(`{"m\u0065tadata":{"name":"` + "\xff" + `"},"code":410,"reason":"Expired","message":"m"}`))
	f.Add([]byte(`{}{"type":"ADDED"}`))
	f.Add([]byte(`{"metadata":{"generation":3},"status":{"conditions":[{"type":"Ready","status":true,"observedGeneration":2},{"status":"FALSE","type":"Migrating","observedGeneration":3}]}}`))
	f.Add([]byte(`{"metadata":{"generation":1e3},"status":{"conditions":{"Ready":{"status":"True"},"Migrating":false,"x":[]}}}`))
	f.Add([]byte(`{"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Ready","status":"x","lastTransitionTime":7}]}}`))
	f.Add([]byte(`{"status":{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True","observedGeneration":3},{"type":"Migrating","status":"True"}]},"metadata":{"generation":3}}`))
	f.Add([]byte(`[{"type":"ADDED","object":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func(d *decoder) error{
			func(d *decoder) error { _, _, err := d.event(); return err },
			func(d *decoder) error { _, _, err := d.list(); return err },
		} {
			d := decoderOf(t, bytes.NewReader(data), asked...)
			for range len(data) + 2 { // each takes at least one byte
				if err := decode(d); err != nil {
					break
				}
			}
		}
		text := append(append([]byte(`{"object":`), data...), `,"type":"MODIFIED"}`...)
		var event map[string]any
		numbers := json.NewDecoder(bytes.NewReader(text))
		numbers.UseNumber()
		if !json.Valid(data) || numbers.Decode(&event) != nil {
			return
		}
		if _, ok := event["object"].(map[string]any); !ok {
			return
		}
		kind, r, err := decoderOf(t, bytes.NewReader(text), asked...).event()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := reference{Key: string(r.key), Version: string(r.version), Pattern: r.pattern, InitialEnd: r.initialEnd}
		want := referenceOf(event)
		if got.Exact = want.Exact; !want.Exact {
			got.Pattern = want.Pattern
		}
		if diff := cmp.Diff(want, got); diff != "" || kind != apiwatch.Modified {
			t.Errorf("%s: %s: -want +got\n%s", text, kind, diff)
		}
	})
}

// reference is the expected result of decoding an object.
type reference struct {
	Key, Version, Pattern string
	InitialEnd            bool

	Exact bool // whether Pattern is
}

// referenceOf returns the reference for a fully parsed event.
func referenceOf(event map[string]any) reference {
	text := func(in any, path ...string) string {
		for _, p := range path {
			m, _ := in.(map[string]any)
			in = m[p]
		}
		s, _ := in.(string)
		return s
	}
	object := event["object"].(map[string]any)
	out := reference{
		Key:        text(object, "metadata", "namespace") + "\x00" + text(object, "metadata", "name"),
		Version:    text(object, "metadata", "resourceVersion"),
		InitialEnd: text(object, "metadata", "annotations", metav1.InitialEventsAnnotationKey) == "true",
	}
	metadata, _ := object["metadata"].(map[string]any)
	status, _ := object["status"].(map[string]any)
	out.Pattern, out.Exact = referencePattern(status["conditions"], referenceNumber(metadata["generation"]), referenceNumber(status["observedGeneration"]))
	return out
}

// referenceNumber returns a number of a fully parsed event if it is an integer, otherwise 0.
func referenceNumber(value any) int64 {
	n, _ := value.(json.Number)
	out, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		return 0
	}
	return out
}

// referencePattern returns the pattern of fully parsed conditions. It is not exact for a map, whose order is lost, and
// for a type that occurs several times: TestDecodeEvent has these.
func referencePattern(conditions any, generation, observedGeneration int64) (pattern string, exact bool) {
	list, isList := conditions.([]any)
	if !isList && conditions != nil {
		_, isMap := conditions.(map[string]any)
		return string([]byte{malformed}), !isMap
	}
	var out []byte
	broken := false
	seen := map[string]bool{}
	for _, c := range list {
		fields, _ := c.(map[string]any)
		conditionType, ok := fields["type"].(string)
		number := slices.Index(asked, conditionType)
		switch {
		case !ok:
			broken = true
			continue
		case number < 0:
			continue
		case seen[conditionType]:
			return "", false
		}
		seen[conditionType] = true
		observed := observedGeneration
		if own := referenceNumber(fields["observedGeneration"]); own > 0 {
			observed = own
		}
		out = append(out, uint8(number), stateOf(referenceStatus(fields["status"]), observed > 0 && observed < generation))
	}
	if broken {
		out = append(out, malformed)
	}
	return string(out), true
}

func referenceStatus(status any) observed.Status {
	for spelling, out := range map[string]observed.Status{"true": observed.True, "false": observed.False, "unknown": observed.Unknown} {
		if text, ok := status.(string); ok && strings.EqualFold(text, spelling) || status == (spelling == "true") && spelling != "unknown" {
			return out
		}
	}
	return observed.Unreadable
}
