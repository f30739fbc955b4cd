package resolve

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// seeded returns a random source. The seed is logged if the test fails; SEED sets it.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if again := os.Getenv("SEED"); again != "" {
		var err error
		if seed, err = strconv.ParseUint(again, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func pick[T any](r *rand.Rand, of ...T) T {
	return of[r.IntN(len(of))]
}

// shuffled returns a copy in random order.
func shuffled[T any](r *rand.Rand, in []T) []T {
	out := slices.Clone(in)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// reordered returns a deep copy of inputs whose lists are in random order.
func reordered(r *rand.Rand, in Inputs) Inputs {
	in.Catalogs, in.OnCluster = shuffled(r, in.Catalogs), shuffled(r, in.OnCluster)
	in.Present = shuffled(r, in.Present)
	for i := range in.Present {
		in.Present[i].Provides = shuffled(r, in.Present[i].Provides)
		in.Present[i].Properties = shuffled(r, in.Present[i].Properties)
	}
	for i := range in.Catalogs {
		content := &catalog.Content{Invalid: in.Catalogs[i].Content.Invalid, Packages: map[string]*catalog.Package{}}
		for _, name := range shuffled(r, slices.Collect(maps.Keys(in.Catalogs[i].Content.Packages))) {
			p := *in.Catalogs[i].Content.Packages[name]
			p.Channels = maps.Clone(p.Channels)
			for chName, ch := range p.Channels {
				ch := &catalog.Channel{Name: ch.Name, Entries: maps.Clone(ch.Entries)}
				for name, e := range ch.Entries {
					b := *e.Bundle
					b.Provides, b.Properties = shuffled(r, b.Provides), shuffled(r, b.Properties)
					ch.Entries[name] = &catalog.Entry{Bundle: &b, Replaces: e.Replaces, Skips: shuffled(r, e.Skips), SkipRange: e.SkipRange}
				}
				p.Channels[chName] = ch
			}
			content.Packages[name] = &p
		}
		in.Catalogs[i].Content = content
	}
	return in
}

func TestOrderDoesNotMatter(t *testing.T) {
	r := seeded(t)
	for i := range 300 {
		in := randomInputs(r, true)
		if i%3 == 0 {
			in = garbage(r)
		}
		names := []string{"a.v1.0.0", "b.v2.0.0"}
		first, plan := answer(Resolve(in)), answer(Plan(names, "default", in.Catalog, in.NamespaceState))
		for range 3 {
			if diff := cmp.Diff(first, answer(Resolve(reordered(r, in)))); diff != "" {
				t.Fatalf("round %d: the result depends on the order of the input:\n%s", i, diff)
			}
			if diff := cmp.Diff(plan, answer(Plan(names, "default", in.Catalog, reordered(r, in).NamespaceState))); diff != "" {
				t.Fatalf("round %d: the plan depends on the order of the input:\n%s", i, diff)
			}
		}
	}
}

// garbage returns invalid inputs, which no catalog reader should produce.
func garbage(r *rand.Rand) Inputs {
	names := []string{"", "a", "a.v1.0.0", "a.v2.0.0", "b", "b.v1", "c\xff\n", strings.Repeat("long", 300), "Ü"}
	name := func() string { return pick(r, names...) }
	types := []string{property.TypeGVKRequired, property.TypePackageRequired, property.TypeConstraint, typeLabelRequired, typeLabel, "?"}
	values := []string{``, `{`, `null`, `[]`, `"x"`, `{}`, `{"label":"l"}`, `{"group":"g","version":"v","kind":"K"}`,
		`{"packageName":"a","versionRange":">"}`, `{"packageName":"a","versionRange":"1.x.x.x || !"}`, `{"packageName":"b"}`, `{"any":null}`,
		`{"all":{"constraints":[{"gvk":{"version":"v","kind":"K"}},{"cel":1}]}}`, `{"not":{"constraints":[{"package":{"name":"b"}}]}}`,
		`{"failureMessage":7,"cel":{}}`, `{"failureMessage":"` + strings.Repeat("ü", 2000) + `","package":{"name":"nowhere"}}`,
		strings.Repeat(`{"any":{"constraints":[`, 200) + `{}` + strings.Repeat(`]}}`, 200)}
	in := Inputs{Subscription: Subscription{Package: name(), Channel: pick(r, "", "", name()), Catalog: key("one"), StartingCSV: pick(r, "", "", name())}}
	for _, source := range []string{"one", "two", "three"} {
		c := catalog.Catalog{Key: key(source), Priority: r.IntN(3), Content: &catalog.Content{Packages: map[string]*catalog.Package{}}}
		for range 1 + r.IntN(4) {
			p := &catalog.Package{Name: name(), DefaultChannel: pick(r, "", "ch"), Channels: map[string]*catalog.Channel{}}
			for _, ch := range []string{"ch", name()} {
				p.Channels[ch] = &catalog.Channel{Name: ch, Entries: map[string]*catalog.Entry{}}
				for range r.IntN(6) {
					e := &catalog.Entry{Replaces: pick(r, "", name()), SkipRange: pick(r, "", ">=", "<9.0.0", "1.x || "),
						Bundle: &catalog.Bundle{Name: name(), Package: p.Name, Version: semver.Version{Major: r.Uint64N(3)}}}
					for range r.IntN(3) {
						e.Skips = append(e.Skips, name())
						e.Bundle.Properties = append(e.Bundle.Properties, raw(pick(r, types...), pick(r, values...)))
						e.Bundle.Provides = append(e.Bundle.Provides, pick(r, property.GVK{}, property.GVK{Group: "g", Version: "v", Kind: "K"}))
					}
					p.Channels[ch].Entries[e.Bundle.Name] = e
				}
			}
			c.Content.Packages[p.Name] = p
		}
		in.Catalogs = append(in.Catalogs, c)
		if source == "two" && r.IntN(2) == 0 {
			break
		}
	}
	for range r.IntN(3) {
		in.Present = append(in.Present, Installed{Name: name(), Package: pick(r, "", name()),
			Properties: []property.Property{raw(pick(r, types...), pick(r, values...))}})
	}
	if r.IntN(2) == 0 {
		in.Installed = &Installed{Name: name(), Package: in.Package, Version: semver.Version{Major: r.Uint64N(2)}}
	}
	return in
}

func TestGarbage(t *testing.T) {
	r := seeded(t)
	for i := range 3000 {
		in := garbage(r)
		if i%5 == 0 {
			punchHoles(r, in)
		}
		s, problem := Resolve(in)
		p, planProblem := Plan([]string{in.StartingCSV, in.Package}, "default", in.Catalog, in.NamespaceState)
		for _, problem := range []*Problem{problem, planProblem} {
			if problem != nil && (problem.Reason == "" || problem.Message == "" || len(problem.Message) > maxMessage || !utf8.ValidString(problem.Message)) {
				t.Fatalf("round %d: %+v", i, problem)
			}
		}
		if problem != nil && len(s.Choices) > 0 || planProblem != nil && len(p.Choices) > 0 || len(s.Note) > maxMessage {
			t.Fatalf("round %d: %+v, %+v", i, answer(s, problem), answer(p, planProblem))
		}
	}
}

// punchHoles sets random elements to nil.
func punchHoles(r *rand.Rand, in Inputs) {
	for _, c := range in.Catalogs {
		for name, p := range c.Content.Packages {
			for chName, ch := range p.Channels {
				for entry, e := range ch.Entries {
					switch r.IntN(4) {
					case 0:
						ch.Entries[entry] = nil
					case 1:
						e.Bundle = nil
					}
				}
				if r.IntN(4) == 0 {
					p.Channels[chName] = nil
				}
			}
			if r.IntN(4) == 0 {
				c.Content.Packages[name] = nil
			}
		}
	}
}
