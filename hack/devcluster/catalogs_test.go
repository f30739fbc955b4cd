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
		"a folder":   {"A folder is a valid source.", "things", folder, ""},
		"a file":     {"A file is not a valid source.", "things", file, "is not a folder"},
		"missing":    {"The error for a missing folder names the catalog.", "things", filepath.Join(folder, "none"), "the folder of catalog things"},
		"a path":     {"A path is not a valid name.", "../things", folder, "cannot name a catalog"},
		"no name":    {"An empty name is not valid.", "", folder, "cannot name a catalog"},
		"upper case": {"A name with upper case letters is not valid, as in Kubernetes.", "Things", folder, "cannot name a catalog"},
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

func TestCatalogWithoutCluster(t *testing.T) {
	c, err := newCluster(newBuilder(t.TempDir(), io.Discard), filepath.Join(t.TempDir(), "cluster"))
	must(t, err)
	if _, err := c.serveCatalog(t.Context(), "things", t.TempDir()); err == nil || !strings.Contains(err.Error(), "start one with devcluster up") {
		t.Errorf("serving without a cluster returned %v", err)
	}
}

func TestOpmReason(t *testing.T) {
	const before = `time="2026-01-02T03:04:05Z" level=info msg="building cache" cache=/x` + "\n"
	cases := map[string]struct {
		reason, got, want string
	}{
		"a message": {"The reason is the message of the last log line, with its line breaks.",
			before + `time="2026-01-02T03:04:05Z" level=fatal msg="invalid package \"foo\":\n└── no image" cache=/x`, "invalid package \"foo\":\n└── no image"},
		"no message": {"The reason is the end of the output if the last line is not a log message.", before + "panic: oh no\n", "the end of its output:\n  " + before + "  panic: oh no"},
		"silence":    {"The reason of an empty output is empty.", "", "the end of its output:\n  "},
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
				t.Errorf("the request is %s %s %s, %x (%v)", r.Proto, r.Method, r.URL, asked, err)
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
		"serving":     {"A server that reports SERVING is ready.", answers("0", 0, 0, 0, 0, 2, 8, 1), ""},
		"not serving": {"A server that reports NOT_SERVING is not ready.", answers("0", 0, 0, 0, 0, 2, 8, 2), "does not report that it is serving"},
		"unknown":     {"A server with an empty response, which means UNKNOWN, is not ready.", answers("0", 0, 0, 0, 0, 0), "does not report that it is serving"},
		"no service":  {"A server without a health service is not ready, with the status of its trailer.", answers("12"), `grpc-status "12"`},
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
		t.Error("serving returned no error for an address without a server")
	}
}

func TestCatalogComponents(t *testing.T) {
	c := &cluster{state: state{Processes: []process{{Name: "etcd"}, {Name: "opm-things"}, {Name: "opm-more"}}}}
	var names []string
	for _, comp := range c.catalogs() {
		names = append(names, comp.name)
	}
	if diff := cmp.Diff([]string{"opm-things", "opm-more"}, names); diff != "" {
		t.Errorf("catalogs (-want +got):\n%s", diff)
	}
	if !isComponent(opm) {
		t.Error("opm is not a component, so a stray opm would not be found")
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
		t.Errorf("the address file contains %q (%v), want %s; the address of another catalog is %s", written, err, at, more)
	}

	write(t, filepath.Join(source, "catalog.json"), `{"schema": "olm.bundle", "name": "foo"}`, 0o644)
	if _, err := c.serveCatalog(ctx, "things", source); err == nil || !strings.Contains(err.Error(), "package name must be set") {
		t.Errorf("serving an invalid catalog returned %v", err)
	}
	must(t, serving(ctx, at)) // the previous content

	must(t, c.stopCatalog(ctx, "things"))
	if err := serving(ctx, at); err == nil {
		t.Error("a stopped catalog is still served")
	}
	must(t, c.status(ctx)) // a catalog that was stopped on purpose is not unhealthy
	publish(t, source, "foo.v1.0.0", "foo.v1.1.0")
	neighbour, err := net.Listen("tcp", at)
	must(t, err)
	if _, err := c.serveCatalog(ctx, "things", source); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("serving on a port of another process returned %v", err)
	}
	must(t, neighbour.Close())
	again, err := c.serveCatalog(ctx, "things", source)
	must(t, err)
	if again != at {
		t.Errorf("the address after a stop is %s, want %s", again, at)
	}

	server, _ := c.process("opm-things")
	must(t, server.signal(syscall.SIGKILL))
	if !server.gone(termGrace) {
		t.Fatal("opm still runs after SIGKILL")
	}
	if err := c.status(ctx); !errors.Is(err, errNotHealthy) {
		t.Errorf("status with a killed catalog returned %v, want %v", err, errNotHealthy)
	}
	must(t, c.down(ctx))
	c.checkNothingLeft(t)
}
