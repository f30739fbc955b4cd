package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCatalogSource(t *testing.T) {
	folder := t.TempDir()
	file := write(t, filepath.Join(folder, "catalog.yaml"), "schema: olm.package\n", 0o644)
	cases := map[string]struct {
		reason, name, source, fails string
	}{
		"a folder":   {"This is what opm reads.", "things", folder, ""},
		"a file":     {"opm takes folders only.", "things", file, "is not a folder"},
		"missing":    {"The error names the catalog that the folder is for.", "things", filepath.Join(folder, "none"), "the folder of catalog things"},
		"a path":     {"The name is that of a folder and a file of ours.", "../things", folder, "cannot name a catalog"},
		"no name":    {"A catalog is asked for by name.", "", folder, "cannot name a catalog"},
		"upper case": {"Names are those of Kubernetes.", "Things", folder, "cannot name a catalog"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := catalogSource(tc.name, tc.source)
			if tc.fails == "" && (err != nil || got != folder) || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
				t.Errorf("%s got %q %v, want %q", tc.reason, got, err, tc.fails)
			}
		})
	}
}

func TestCatalogNeedsACluster(t *testing.T) {
	c, err := newCluster(newWorkshop(t.TempDir(), io.Discard), filepath.Join(t.TempDir(), "cluster"))
	must(t, err)
	if _, err := c.serveCatalog(t.Context(), "things", t.TempDir()); err == nil || !strings.Contains(err.Error(), "start one with devcluster up") {
		t.Errorf("got %v", err)
	}
}

func TestOpmReason(t *testing.T) {
	const before = `time="2026-01-02T03:04:05Z" level=info msg="building cache" cache=/x` + "\n"
	cases := map[string]struct {
		reason, got, want string
	}{
		"a message": {"The message alone is what matters, with its lines.",
			before + `time="2026-01-02T03:04:05Z" level=fatal msg="invalid package \"foo\":\n└── no image" cache=/x`, "invalid package \"foo\":\n└── no image"},
		"no message": {"A panic is no message.", before + "panic: oh no\n", "the end of its output:\n  " + before + "  panic: oh no"},
		"silence":    {"There may be no words at all.", "", "the end of its output:\n  "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, opmReason([]byte(tc.got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestServing(t *testing.T) {
	answers := func(status string, message ...byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked, err := io.ReadAll(r.Body)
			if r.ProtoMajor != 2 || r.Method != http.MethodPost || r.URL.Path != "/grpc.health.v1.Health/Check" || len(asked) != 5 || err != nil {
				t.Errorf("asked %s %s %s, %x (%v)", r.Proto, r.Method, r.URL, asked, err)
			}
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write(message)
			w.Header().Set("Grpc-Status", status)
		}
	}
	cases := map[string]struct {
		reason string
		answer http.HandlerFunc
		fails  string
	}{
		"serving":     {"The one good answer.", answers("0", 0, 0, 0, 0, 2, 8, 1), ""},
		"not serving": {"Two is NOT_SERVING.", answers("0", 0, 0, 0, 0, 2, 8, 2), "does not report that it is serving"},
		"unknown":     {"An empty message is UNKNOWN.", answers("0", 0, 0, 0, 0, 0), "does not report that it is serving"},
		"no service":  {"A server without a health service reports it in its trailer.", answers("12"), `grpc-status "12"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(tc.answer)
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			defer server.Close()
			err := serving(t.Context(), strings.TrimPrefix(server.URL, "http://"))
			if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
				t.Errorf("%s got %v, want %q", tc.reason, err, tc.fails)
			}
		})
	}
	if err := serving(t.Context(), address(1)); err == nil {
		t.Error("it serves although nothing listens")
	}
}

func TestCatalogsAreTheirProcesses(t *testing.T) {
	c := &cluster{state: state{Processes: []process{{Name: "etcd"}, {Name: "opm-things"}, {Name: "opm-more"}}}}
	var names []string
	for _, comp := range c.catalogs() {
		names = append(names, comp.name)
	}
	if diff := cmp.Diff([]string{"opm-things", "opm-more"}, names); diff != "" {
		t.Errorf("catalogs (-want +got):\n%s", diff)
	}
	if !isComponent(opm) {
		t.Error("a stray opm would not be found")
	}
}

// TestCatalogLifeCycle verifies that catalogs need only a cluster's folder and API server: no OLM and no nodes.
func TestCatalogLifeCycle(t *testing.T) {
	needsExtras(t)
	out := &transcript{}
	c := realCluster(t, out)
	ctx := t.Context()
	must(t, c.up(ctx, "none", 0))
	source := t.TempDir()
	publish(t, source, "foo.v1.0.0")
	at, err := c.serveCatalog(ctx, "things", source)
	must(t, err)
	more, err := c.serveCatalog(ctx, "more", source)
	must(t, err)
	if written, err := os.ReadFile(c.dir.catalog("things", "address")); err != nil || string(written) != at+"\n" || more == at {
		t.Errorf("the address in its file is %q (%v), want %s; another catalog's is %s", written, err, at, more)
	}

	write(t, filepath.Join(source, "catalog.json"), `{"schema": "olm.bundle", "name": "foo"}`, 0o644)
	if _, err := c.serveCatalog(ctx, "things", source); err == nil || !strings.Contains(err.Error(), "package name must be set") {
		t.Errorf("a catalog that opm cannot read: got %v", err)
	}
	must(t, serving(ctx, at)) // the previous content

	must(t, c.stopCatalog(ctx, "things"))
	if err := serving(ctx, at); err == nil {
		t.Error("a catalog that was stopped is still served")
	}
	must(t, c.status(ctx)) // a catalog that was stopped on purpose is not unhealthy
	publish(t, source, "foo.v1.0.0", "foo.v1.1.0")
	neighbour, err := net.Listen("tcp", at)
	must(t, err)
	if _, err := c.serveCatalog(ctx, "things", source); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("served where a neighbour listens: got %v", err)
	}
	must(t, neighbour.Close())
	again, err := c.serveCatalog(ctx, "things", source)
	must(t, err)
	if again != at {
		t.Errorf("served after a stop at %s, want %s", again, at)
	}

	server, _ := c.process("opm-things")
	must(t, server.signal(syscall.SIGKILL))
	if !server.gone(termGrace) {
		t.Fatal("opm survived SIGKILL")
	}
	if err := c.status(ctx); !errors.Is(err, errNotHealthy) {
		t.Errorf("status with a dead catalog: got %v, want %v", err, errNotHealthy)
	}
	must(t, c.down(ctx))
	c.leftNothing(t)
}
