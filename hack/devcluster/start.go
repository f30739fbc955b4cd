package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

const (
	// startLimit is how long a component may take to become ready.
	startLimit = 2 * time.Minute
	// startAttempts is how often a start is tried if a port is taken between choosing and using it.
	startAttempts = 3
)

// errLostPort means that another process took a port between choosing and using it.
var errLostPort = errors.New("a port was taken meanwhile")

// componentExit is the exit of a component that this process started.
type componentExit struct {
	comp component
	err  error
}

// componentError is the error of a component that did not start. The folder is kept, because its log explains why.
type componentError struct {
	name, what, log string
	cause           error
	logTail         string
}

func (e *componentError) Error() string {
	return fmt.Sprintf("starting %s: %s: %v; the last lines of its log:\n%s\nthe whole log (until devcluster down): %s", e.name, e.what, e.cause, e.logTail,
		e.log)
}

func (e *componentError) Unwrap() error { return e.cause }

// bringUp builds missing binaries and starts a tier in an empty folder.
func (c *cluster) bringUp(ctx context.Context, tierName string, port int) error {
	if port != 0 {
		if err := checkFree(port); err != nil {
			return err
		}
	}
	wanted := tiers[tierName]
	if wanted.needsNode() {
		if err := node.ThisMachine().Check(); err != nil {
			return err
		}
	}
	if err := checkSpace([]space{{"the cluster", string(c.dir), wanted.mb}}); err != nil {
		return err
	}
	if err := c.builder.build(ctx, wanted.recipes(), false); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := c.start(ctx, tierName, port)
		if err == nil {
			return nil
		}
		err = errors.Join(err, c.stopAll())
		if !errors.Is(err, errLostPort) || attempt == startAttempts {
			return err
		}
		c.printf("  a port was taken meanwhile: trying others")
		if err := c.dir.empty(); err != nil {
			return err
		}
	}
}

// start starts the phases of a tier. Each starts when the one before is ready.
func (c *cluster) start(ctx context.Context, tierName string, port int) error {
	began := time.Now()
	step := func(format string, args ...any) {
		c.printf("  %5.1fs  "+format, append([]any{time.Since(began).Seconds()}, args...)...)
	}
	c.printf("starting a control plane with nodes=%s in %s", tierName, c.dir)
	wanted := tiers[tierName]
	if err := c.prepare(tierName, port); err != nil {
		return err
	}
	step("certificates and kubeconfigs written")

	c.died = make(chan componentExit, len(wanted.components()))
	for _, phase := range wanted.phases {
		for _, comp := range phase {
			if err := c.launch(ctx, comp); err != nil {
				return err
			}
		}
		for _, comp := range phase {
			if err := c.await(ctx, comp, port); err != nil {
				return err
			}
			step("%s ready", comp.name)
		}
	}
	c.state.Ready = true
	if err := c.dir.save(c.state); err != nil {
		return err
	}
	step("all ready: %s", c.url(apiServer.name))
	return nil
}

// prepare chooses the ports and writes the files that components read.
func (c *cluster) prepare(tierName string, port int) error {
	names := tiers[tierName].ports()
	ports, err := c.choosePorts(len(names))
	for err == nil && slices.Contains(ports, port) { // a free port that is reserved for the API server
		ports, err = c.choosePorts(len(names))
	}
	if err != nil {
		return err
	}
	c.state = state{Tier: tierName, Ports: map[string]int{}}
	for i, name := range names {
		c.state.Ports[name] = ports[i]
	}
	if port != 0 {
		c.state.Ports[apiServer.name] = port
	}
	if tiers[tierName].needsNode() {
		network, err := node.Claim(c.dir.id())
		if err != nil {
			return err
		}
		c.state.Network = network.N
	}
	if err := c.dir.save(c.state); err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir.path("logs"), 0o700); err != nil {
		return fmt.Errorf("creating the folder of the logs: %w", err)
	}
	if err := writeCredentials(c.dir, c.url(apiServer.name), c.network()); err != nil {
		return err
	}
	return c.connect()
}

// launch starts a component and saves its process in the state.
func (c *cluster) launch(ctx context.Context, comp component) error {
	if comp.prepare != nil {
		if err := comp.prepare(ctx, c); err != nil {
			return fmt.Errorf("preparing %s: %w", comp.name, err)
		}
	}
	var env []string
	if comp.env != nil {
		env = comp.env(c)
	}
	binary := filepath.Join(c.builder.bin, cmp.Or(comp.program, comp.name))
	if comp.binary != nil {
		var err error
		if binary, err = comp.binary(); err != nil {
			return fmt.Errorf("finding %s: %w", comp.name, err)
		}
	}
	start := (*exec.Cmd).Start
	if comp.start != nil {
		start = func(cmd *exec.Cmd) error { return comp.start(c, cmd) }
	}
	cmd, p, err := startProcess(comp.name, binary, string(c.dir), c.dir.log(comp.name), comp.args(c), env, start)
	if err != nil {
		return fmt.Errorf("starting %s: %w", comp.name, err)
	}
	died := c.died
	go func() { died <- componentExit{comp, cmd.Wait()} }()
	c.state.Processes = append(c.state.Processes, p)
	if err := c.dir.save(c.state); err != nil || comp.joined == nil {
		return err
	}
	if err := comp.joined(c, p); err != nil {
		return fmt.Errorf("starting %s: %w", comp.name, err)
	}
	return nil
}

// await waits until comp is ready. It fails on a timeout or if any component of the cluster dies.
func (c *cluster) await(ctx context.Context, comp component, fixedPort int) error {
	limit, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		look, cancel := context.WithTimeout(limit, 2*time.Second)
		err := comp.ready(look, c)
		cancel()

		select {
		case d := <-c.died:
			return c.exitError(d, fixedPort)
		default:
		}
		if err == nil {
			return nil
		}
		if pause(limit, 50*time.Millisecond) != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for %s: %w", comp.name, ctx.Err())
			}
			return c.failed(comp.name, fmt.Sprintf("not ready after %s", startLimit), err)
		}
	}
}

// exitError returns the error for the exit of a component.
func (c *cluster) exitError(d componentExit, fixedPort int) error {
	cause := d.err
	if cause == nil {
		cause = errors.New("exit status 0")
	}
	failed := c.failed(d.comp.name, "it ended", cause)
	words := tail(failed.log, 100)
	if strings.Contains(words, "no space left on device") {
		failed.what = "the disk is full"
	}
	if len(d.comp.ports) == 0 || !lostPort(words) { // OLM only logs an error if its own port is taken
		return failed
	}
	if d.comp.name == apiServer.name && fixedPort != 0 {
		failed.what = fmt.Sprintf("port %d is in use", fixedPort)
		return failed
	}
	failed.cause = errLostPort
	return failed
}

func (c *cluster) failed(name, what string, cause error) *componentError {
	log := c.dir.log(name)
	return &componentError{name: name, what: what, log: log, cause: cause, logTail: strings.TrimRight(tail(log, 8), "\n")}
}
