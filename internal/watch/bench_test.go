package watch

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkIrrelevantUpdate compares the cost of an event that changes no requested condition with that of other
// decoders that ignore it. The custom resource has 4 KB. All take turns, so their ratios are comparable.
func BenchmarkIrrelevantUpdate(b *testing.B) {
	sidecar := `{"image":"registry.example.com/team/sidecar@sha256:0123456789abcdef","ports":[8080,8443],"ready":true},`
	event := append([]byte(`{"type":"MODIFIED","object":`), appendFoo(nil, 7, "False", `,"sidecars":[`+strings.Repeat(sidecar, 18)+`{}]`)...)
	event = append(event, "}\n"...)
	sub, err := silentEngine(b).Subscribe(request(make(chan struct{}, 1)))
	if err != nil {
		b.Fatal(err)
	}
	source := scriptOf(sub)
	_ = source.Replace([]any{}, "")
	events := &eventStream{decoder: decoderOf(b, &repeat{text: event}, source.source.terms...)}
	engine := func() {
		_, o, err := events.Decode()
		if err != nil {
			b.Fatal(err)
		}
		_ = source.Update(o)
	}
	engine() // the object now exists
	sub.request.Notify = func(bool) { b.Fatal("an irrelevant update was notified") }

	skipped := decoderOf(b, &repeat{text: event}).json
	peers := map[string]func() error{
		// The minimum: skip all bytes.
		"skip": skipped.SkipValue,
		// A struct of only the needed fields.
		"slim": func() error {
			var into struct {
				Type   string
				Object struct {
					Metadata struct{ Name, Namespace, ResourceVersion string }
					Status   struct {
						Conditions []struct{ Type, Status string }
					}
				}
			}
			return json.Unmarshal(event, &into)
		},
		// Like client-go's dynamic client.
		"unstructured": func() error {
			var into metav1.WatchEvent
			if err := json.Unmarshal(event, &into); err != nil {
				return err
			}
			_, _, err := unstructured.UnstructuredJSONScheme.Decode(into.Object.Raw, nil, nil)
			return err
		},
	}
	const turn = 100
	var ours time.Duration
	theirs := map[string]time.Duration{}
	for b.Loop() {
		start := time.Now()
		for range turn {
			engine()
		}
		ours += time.Since(start)
		for name, peer := range peers {
			start := time.Now()
			for range turn {
				if err := peer(); err != nil {
					b.Fatal(err)
				}
			}
			theirs[name] += time.Since(start)
		}
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N*turn), "engine-ns/event")
	for name, took := range theirs {
		b.ReportMetric(float64(ours)/float64(took), "x-of-"+name)
	}
	b.ReportMetric(0, "ns/op") // the total of all is meaningless
}

// repeat is a text without end.
type repeat struct {
	text []byte
	at   int
}

var _ io.Reader = &repeat{}

func (r *repeat) Read(into []byte) (int, error) {
	n := copy(into, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}
