package resolve

import (
	"fmt"
	"testing"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

const (
	benchPackages      = 300
	benchVersions      = 5
	benchSubscriptions = 50
)

// large returns a catalog of many packages. Each provides a kind, and every third requires the kind of the next.
func large() []catalog.Catalog {
	var packages []*catalog.Package
	for i := range benchPackages {
		var line []*catalog.Entry
		for v := 1; v <= benchVersions; v++ {
			e := bundle(fmt.Sprintf("p%d.v%d.0.0", i, v), provides(fmt.Sprintf("Kind%d", i)), replaces(fmt.Sprintf("p%d.v%d.0.0", i, v-1)),
				skipRange(fmt.Sprintf(">=%d.0.0 <%d.0.0", v-1, v)))
			if i%3 == 0 {
				has(needsKind(fmt.Sprintf("Kind%d", (i+1)%benchPackages)))(e)
			}
			line = append(line, e)
		}
		packages = append(packages, pkg(fmt.Sprintf("p%d", i), channel("stable", line...)))
	}
	return sources(source("large", packages...))
}

func subscriptions(at int) []Subscription {
	var out []Subscription
	for i := range benchSubscriptions {
		s := sub(Subscription{Package: fmt.Sprintf("p%d", i*3), Catalog: key("large")})
		if at > 0 {
			s.Installed = update(fmt.Sprintf("p%d.v%d.0.0", i*3, at), provides(fmt.Sprintf("Kind%d", i*3)))
		}
		out = append(out, s)
	}
	return out
}

func benchmark(b *testing.B, subs []Subscription, choices int) {
	b.Helper()
	in := NamespaceState{Catalogs: large()}
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range subs {
			if out, problem := Resolve(Inputs{s, in}); problem != nil || len(out.Choices) != choices {
				b.Fatalf("%+v, %+v", answer(out, problem), problem)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(subs)), "µs/Subscription")
}

// BenchmarkFirstInstall resolves 50 new Subscriptions, each with one dependency.
func BenchmarkFirstInstall(b *testing.B) {
	benchmark(b, subscriptions(0), 2)
}

// BenchmarkUpdate resolves 50 Subscriptions that have an update.
func BenchmarkUpdate(b *testing.B) {
	benchmark(b, subscriptions(benchVersions-1), 2)
}

// BenchmarkSettled resolves 50 Subscriptions without an update.
func BenchmarkSettled(b *testing.B) {
	benchmark(b, subscriptions(benchVersions), 0)
}
