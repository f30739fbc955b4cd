package reader

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-framework/operator-registry/pkg/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

// graph is a catalog with channels that share a bundle, and with deprecations.
const graph = `schema: olm.package
name: bar
defaultChannel: stable
---
schema: olm.channel
package: bar
name: stable
entries: [{name: bar.v1}, {name: bar.v2, replaces: bar.v1, skips: [bar.v1.1], skipRange: "<2.0.0"}]
---
schema: olm.channel
package: bar
name: fast
entries: [{name: bar.v2}]
---
schema: olm.deprecations
package: bar
entries:
- {reference: {schema: olm.package}, message: gone soon}
- {reference: {schema: olm.channel, name: fast}, message: too fast}
- {reference: {schema: olm.bundle, name: bar.v1}, message: too old}
`

const extraProperties = `- type: olm.gvk
  value: {"group":"example.com","kind":"Bar","version":"v1"}
- type: olm.package.required
  value: {"packageName":"foo","versionRange":">=1.0.0"}
- type: olm.gvk.required
  value: {"group":"example.com","kind":"Foo","version":"v1"}
`

func TestGRPCReadsSameAsFiles(t *testing.T) {
	text := graph + catalogtest.BundleYAML("bar", "bar.v1", "1.0.0", "example.com/bar:1") + extraProperties +
		catalogtest.BundleYAML("bar", "bar.v2", "2.0.0", "example.com/bar:2") + extraProperties
	want, err := readFiles(map[string]string{"catalog.yaml": text}, catalog.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if want.Packages["bar"] == nil {
		t.Fatal(want.Invalid)
	}
	address, _ := catalogtest.ServeGRPC(t, "", text)
	answers, err := ask(t, catalog.Request{Limits: catalog.DefaultLimits, Address: address, Plaintext: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Collect(want.Answers), answers); diff != "" {
		t.Errorf("The content of a catalog should not depend on how it is read.\n-files +registry\n%s", diff)
	}
}

func TestAPIProperties(t *testing.T) {
	gvk := []*api.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Foo", Plural: "foos"}}
	tests := map[string]struct {
		reason string
		in     *api.Bundle
		want   []property.Property
	}{
		"an old registry": {
			reason: "The fields that older registries return are converted to properties.",
			in: &api.Bundle{PackageName: "foo", Version: "1.0.0", ProvidedApis: gvk, RequiredApis: gvk,
				Dependencies: []*api.Dependency{{Type: "olm.package", Value: `{"packageName":"bar","version":">1.0.0"}`}, {Type: "olm.constraint", Value: "{}"}}},
			want: []property.Property{
				property.MustBuildPackage("foo", "1.0.0"),
				property.MustBuildGVK("example.com", "v1", "Foo"),
				property.MustBuildGVKRequired("example.com", "v1", "Foo"),
				property.MustBuildPackageRequired("bar", ">1.0.0"),
				{Type: "olm.constraint", Value: []byte("{}")},
			},
		},
		"a new registry": {
			reason: "Fields that repeat properties are ignored, and embedded objects are left out.",
			in: &api.Bundle{PackageName: "foo", Version: "1.0.0", ProvidedApis: gvk, RequiredApis: gvk, Properties: []*api.Property{
				{Type: "olm.package", Value: `{"packageName":"foo","version":"1.0.0"}`},
				{Type: "olm.gvk", Value: `{}`}, {Type: "olm.gvk.required", Value: `{}`}, {Type: "olm.bundle.object", Value: `{}`},
			}},
			want: []property.Property{
				property.MustBuildPackage("foo", "1.0.0"), {Type: "olm.gvk", Value: []byte("{}")}, {Type: "olm.gvk.required", Value: []byte("{}")},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, apiProperties(tc.in)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGRPCCycle(t *testing.T) {
	b := newBuilder(catalog.DefaultLimits)
	channels := map[channelKey]*declcfg.Channel{}
	for _, in := range []*api.Bundle{
		{PackageName: "foo", ChannelName: "stable", CsvName: "a", Version: "1.0.0", Replaces: "b"},
		{PackageName: "foo", ChannelName: "stable", CsvName: "b", Version: "1.1.0", Replaces: "a"},
	} {
		if err := addAPIBundle(b, channels, in); err != nil {
			t.Fatal(err)
		}
	}
	d := b.drafts["foo"]
	d.Channels = append(d.Channels, *channels[channelKey{"foo", "stable"}])
	_, err := newPackage(d.DeclarativeConfig)
	if err == nil || err.Error() != "channel stable: its bundles have a replacement cycle: a → b → a" {
		t.Errorf("a replacement cycle from a registry is not refused: %v", err)
	}
}

// listen returns a listener on a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	out, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// serveError serves gRPC on l, and answers each request with an error.
func serveError(t *testing.T, l net.Listener, err error) {
	t.Helper()
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return err }))
	go func() { _ = s.Serve(l) }() // until Stop
	t.Cleanup(s.Stop)
}

// serveHTML serves HTML on l, by HTTP/2 without TLS.
func serveHTML(t *testing.T, l net.Listener, code int, html string) {
	t.Helper()
	s := &http.Server{Protocols: &http.Protocols{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; "+html)
		w.WriteHeader(code)
		_, _ = w.Write([]byte("<html>" + html + "</html>"))
	})}
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(l) }() // until Close
	t.Cleanup(func() { _ = s.Close() })
}

// TestGRPCQuotesNothing verifies that a server's data gets into no status: the server may be reachable only by the
// manager.
func TestGRPCQuotesNothing(t *testing.T) {
	const secret = "hunter2"
	evil := "connection error: desc = \"" + secret + "\" \x1b[2J"
	cases := map[string]struct {
		reason string
		serve  func(net.Listener)
		want   string
	}{
		"Error":         {"The message of an error is not quoted, since the server chooses it.", func(l net.Listener) { serveError(t, l, status.Error(codes.Unknown, evil)) }, "cannot be read: it returned the error Unknown"},
		"Unavailable":   {"The message is not quoted either if it looks like an error of the connection.", func(l net.Listener) { serveError(t, l, status.Error(codes.Unavailable, evil)) }, "it returned the error Unavailable"},
		"Unimplemented": {"A server without the service is reported.", func(l net.Listener) { serveError(t, l, status.Error(codes.Unimplemented, evil)) }, "is not an operator registry"},
		"Huge": {"A huge message does not make the error long.",
			func(l net.Listener) { serveError(t, l, status.Error(codes.Unknown, strings.Repeat(secret, 1<<19))) }, "the registry at"},
		"HTML":     {"The HTTP status of a page is reported, and its content is not.", func(l net.Listener) { serveHTML(t, l, http.StatusOK, secret) }, "is not an operator registry: it returned HTTP status 200"},
		"NotFound": {"The content of a page for HTTP status 404 is not quoted.", func(l net.Listener) { serveHTML(t, l, http.StatusNotFound, secret) }, "is not an operator registry"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := listen(t)
			tc.serve(l)
			_, err := ask(t, catalog.Request{Limits: catalog.DefaultLimits, Address: l.Addr().String(), Plaintext: true})
			if err == nil || !strings.Contains(fmt.Sprint(err), tc.want) || strings.Contains(fmt.Sprint(err), secret) || len(fmt.Sprint(err)) > 300 {
				t.Errorf("%s\ngot %.300v; want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestGRPCFlood(t *testing.T) {
	_, err := ask(t, catalog.Request{Limits: catalog.DefaultLimits, Address: catalogtest.ServeFlood(t), Plaintext: true})
	if err == nil || !strings.Contains(err.Error(), "is not an operator registry: it sends more data than requested") {
		t.Errorf("a server that only sends PINGs is not refused: %v", err)
	}
}
