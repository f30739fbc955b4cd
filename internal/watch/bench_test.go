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

// BenchmarkIrrelevantUpdate compares what an event costs the engine that changes nothing of interest with what it costs
// others to decode it and do nothing. The custom resource is one of 4 KB. All take turns, so that the ratios are of one moment.
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
	events := &eventStream{decoder: newDecoder(&repeat{text: event}, source.numbers)}
	engine := func() {
		_, o, err := events.Decode()
		if err != nil {
			b.Fatal(err)
		}
		_ = source.Update(o)
	}
	engine() // the object is there now
	sub.request.Notify = func(bool) { b.Fatal("the update is irrelevant, yet notified") }

	skipped := newDecoder(&repeat{text: event}, nil).json
	peers := map[string]func() error{
		// No one can do less than look at each byte.
		"skip": skipped.SkipValue,
		// What one would write by hand.
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
		// What client-go's dynamic client does.
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
	b.ReportMetric(0, "ns/op") // of all together, which is nothing to look at
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
