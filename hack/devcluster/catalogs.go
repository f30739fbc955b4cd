package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// opm is the program that serves file-based catalogs, each in a process of its own.
const opm = "opm"

// catalogPrefix is the prefix of the names of a catalog's process, port and log.
const catalogPrefix = opm + "-"

// serveCatalog serves the file-based catalog in source with opm under a name and returns the address. A name keeps its
// address when its content is replaced. If opm rejects source, the old content stays served.
func (c *cluster) serveCatalog(ctx context.Context, name, source string) (string, error) {
	source, err := catalogSource(name, source)
	if err != nil {
		return "", err
	}
	unlock, err := c.use(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := c.builder.build(ctx, []string{opm}, false); err != nil {
		return "", err
	}
	if err := c.digest(ctx, name, source); err != nil {
		return "", err
	}
	if err := c.endCatalog(name); err != nil {
		return "", err
	}
	if err := os.RemoveAll(c.dir.catalog(name, "cache")); err != nil {
		return "", fmt.Errorf("removing the previous content of catalog %s: %w", name, err)
	}
	if err := os.Rename(c.dir.catalog(name, "next"), c.dir.catalog(name, "cache")); err != nil {
		return "", fmt.Errorf("installing the new content of catalog %s: %w", name, err)
	}
	return c.startCatalog(ctx, name, source)
}

// stopCatalog stops a catalog. It keeps its address if it is served again.
func (c *cluster) stopCatalog(ctx context.Context, name string) error {
	unlock, err := c.use(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, known := c.state.Ports[catalogPrefix+name]; !known {
		return fmt.Errorf("catalog %q not found in %s", name, c.dir)
	}
	return c.endCatalog(name)
}

// use locks a cluster that is up and returns a function to unlock it. It returns an error if none is up.
func (c *cluster) use(ctx context.Context) (func(), error) {
	none := fmt.Errorf("no cluster is up in %s: start one with devcluster up, or name its folder with --dir", c.dir)
	unlock, err := c.dir.lock(ctx, false, c.waiting)
	if errors.Is(err, errNoFolder) {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	if !c.dir.marked() || c.load() != nil || !c.state.Ready {
		unlock()
		return nil, none
	}
	return unlock, nil
}

// digest makes opm read source into the cache that the next server of this catalog starts from.
func (c *cluster) digest(ctx context.Context, name, source string) error {
	next := c.dir.catalog(name, "next")
	if err := os.RemoveAll(next); err != nil {
		return fmt.Errorf("emptying %s: %w", next, err)
	}
	if err := os.MkdirAll(filepath.Dir(next), 0o700); err != nil {
		return fmt.Errorf("creating the folder of catalog %s: %w", name, err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.builder.bin, opm), opmArgs(source, next, "--cache-only")...)
	cmd.Dir = string(c.dir)
	cmd.Env = componentEnvironment(string(c.dir))
	printed, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("reading catalog %s: %w", name, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("reading catalog %s from %s: opm rejects it (%w): %s", name, source, err, opmReason(printed))
	}
	return nil
}

// opmReason returns why opm failed: the unquoted message of its last log line, or else its last lines.
func opmReason(printed []byte) string {
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	_, message, _ := strings.Cut(lines[len(lines)-1], " level=fatal msg=")
	if quoted, err := strconv.QuotedPrefix(message); err == nil {
		if reason, err := strconv.Unquote(quoted); err == nil {
			return reason
		}
	}
	return "the end of its output:\n" + lastLines(printed, 8)
}

// startCatalog starts the server of a catalog that has a cache, at its previous address or else at a free one.
func (c *cluster) startCatalog(ctx context.Context, name, source string) (string, error) {
	process := catalogPrefix + name
	_, fixed := c.state.Ports[process]
	for attempt := 1; ; attempt++ {
		if !fixed {
			ports, err := c.choosePorts(1)
			if err != nil {
				return "", err
			}
			c.state.Ports[process] = ports[0]
		}
		err := c.tryCatalog(ctx, process, opmArgs(source, c.dir.catalog(name, "cache"), "--port="+strconv.Itoa(c.state.Ports[process])))
		if err == nil {
			break
		}
		err = errors.Join(err, c.endCatalog(name))
		if fixed && errors.Is(err, errLostPort) {
			return "", fmt.Errorf("serving catalog %s: another process took %s while it was not served: stop that process, or serve the catalog under another NAME",
				name, address(c.state.Ports[process]))
		}
		if fixed || !errors.Is(err, errLostPort) || attempt == startAttempts {
			return "", fmt.Errorf("serving catalog %s at %s: %w", name, address(c.state.Ports[process]), err)
		}
	}
	at := address(c.state.Ports[process])
	if err := writeWhole(c.dir.catalog(name, "address"), []byte(at+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("writing the address of catalog %s: %w", name, err)
	}
	return at, nil
}

// tryCatalog starts opm and waits until it serves.
func (c *cluster) tryCatalog(ctx context.Context, name string, args []string) error {
	server := component{
		name:    name,
		program: opm,
		ports:   []string{name},
		args:    func(*cluster) []string { return args },
		ready:   catalogReady(name),
	}
	if !free(c.state.Ports[name]) { // another server there could be mistaken for opm
		return errLostPort
	}
	c.died = make(chan componentExit, 1)
	if err := c.launch(ctx, server); err != nil {
		return err
	}
	return c.await(ctx, server, 0)
}

// opmArgs returns arguments for opm to serve source with its data in cache. opm always listens on every interface.
// Profiling and its default termination log in /dev are turned off.
func opmArgs(source, cache string, more ...string) []string {
	return append([]string{"serve", source, "--cache-dir=" + cache, "--cache-enforce-integrity=false", "--pprof-addr=", "--termination-log=" + os.DevNull},
		more...)
}

// endCatalog stops the process of a catalog, if any, and removes it from the state.
func (c *cluster) endCatalog(name string) error {
	p, started := c.process(catalogPrefix + name)
	if !started {
		return nil
	}
	if err := p.stop(); err != nil {
		return err
	}
	c.state.Processes = slices.DeleteFunc(c.state.Processes, func(other process) bool { return other.Name == p.Name })
	return c.dir.save(c.state)
}

// catalogs returns the components that serve catalogs now.
func (c *cluster) catalogs() []component {
	var found []component
	for _, p := range c.state.Processes {
		if strings.HasPrefix(p.Name, catalogPrefix) {
			found = append(found, component{name: p.Name, ready: catalogReady(p.Name)})
		}
	}
	return found
}

// catalogSource returns the absolute path of source. It rejects an invalid name or a source that is not a folder.
func catalogSource(name, source string) (string, error) {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return "", fmt.Errorf("%q cannot name a catalog: %s", name, strings.Join(wrong, "; "))
	}
	whole, err := filepath.Abs(source)
	if err != nil {
		return "", fmt.Errorf("finding the folder %s of catalog %s: %w", source, name, err)
	}
	info, err := os.Stat(whole)
	if err != nil {
		return "", fmt.Errorf("finding the folder of catalog %s: %w", name, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("catalog %s: %s is not a folder; a file-based catalog is a folder of YAML or JSON files", name, whole)
	}
	return whole, nil
}

func (f folder) catalog(name string, parts ...string) string {
	return f.path(append([]string{"catalogs", name}, parts...)...)
}

func catalogReady(name string) func(context.Context, *cluster) error {
	return func(ctx context.Context, c *cluster) error { return serving(ctx, address(c.state.Ports[name])) }
}

// serving queries the gRPC health service at an address. It does not use a gRPC client for a single request: a message
// consists of a flag, its length in four bytes and its content.
func serving(ctx context.Context, address string) error {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()

	anyService := []byte{0, 0, 0, 0, 0}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/grpc.health.v1.Health/Check", bytes.NewReader(anyService))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if isServing := []byte{0, 0, 0, 0, 2, 1 << 3, 1}; !bytes.Equal(answer, isServing) { // status, the first field, is SERVING, the first value
		return fmt.Errorf("%s does not report that it is serving: its answer is %x (grpc-status %q)", address, answer, response.Trailer.Get("Grpc-Status"))
	}
	return nil
}
