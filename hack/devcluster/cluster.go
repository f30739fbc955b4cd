package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// errNotHealthy is the error of status if a component that should run does not.
var errNotHealthy = errors.New("not healthy")

// settle is how long up waits for a cluster whose components all run to become healthy, before it starts a new one.
const settle = 30 * time.Second

// cluster is a control plane and its folder.
type cluster struct {
	dir     folder
	builder *builder
	state   state

	http    *http.Client // trusts only this cluster and has all rights in it
	api     corev1client.CoreV1Interface
	dynamic dynamic.Interface

	choosePorts func(n int) ([]int, error)
	died        chan componentExit // receives the components that this process started when they exit
}

func newCluster(builder *builder, dir string) (*cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding the cluster's folder %s: %w", dir, err)
	}
	// Resolve symbolic links, so a folder always has the same name, by which components are identified.
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	} else if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(parent, filepath.Base(dir))
	}
	return &cluster{dir: folder(dir), builder: builder, choosePorts: freePorts}, nil
}

// up makes sure that a cluster of this tier runs in the folder. After an error nothing is running, and the folder is
// kept only if it has logs that explain the error.
func (c *cluster) up(ctx context.Context, tierName string, port int) error {
	unlock, err := c.dir.lock(ctx, true, c.waiting)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.dir.claim(); err != nil {
		return err
	}
	if running, err := c.alreadyUp(ctx, tierName, port); running || err != nil {
		return err
	}
	if err := c.clean(); err != nil {
		return err
	}

	err = c.bringUp(ctx, tierName, port)
	if err == nil {
		c.printAddresses()
		return nil
	}
	if failed := (*componentError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
		return err
	}
	return errors.Join(err, c.dir.remove())
}

// alreadyUp reports whether a healthy cluster of this tier runs. It returns an error if a different healthy cluster
// runs, and ignores an unhealthy one.
func (c *cluster) alreadyUp(ctx context.Context, tierName string, port int) (bool, error) {
	if err := c.load(); err != nil || !c.state.Ready {
		return false, nil // no cluster, or an incomplete start
	}
	health := c.healthy(ctx)
	for deadline := time.Now().Add(settle); health != nil && c.allAlive() && time.Now().Before(deadline); health = c.healthy(ctx) {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return false, err
		}
	}
	has := c.state.Ports[apiServer.name]
	switch {
	case health != nil:
		c.printf("the cluster in %s is broken and is started afresh: %v", c.dir, health)
		return false, nil
	case c.state.Tier != tierName:
		return false, fmt.Errorf("a cluster with nodes=%s runs in %s: take it down first (devcluster down), or name another folder with --dir", c.state.Tier, c.dir)
	case port != 0 && port != has:
		return false, fmt.Errorf("the cluster in %s runs already, on port %d: take it down first (devcluster down), or name another folder with --dir", c.dir, has)
	}
	c.printf("already running in %s (nodes=%s)", c.dir, tierName)
	c.printAddresses()
	return true, nil
}

// printAddresses prints how to reach a cluster that is up.
func (c *cluster) printAddresses() {
	if c.isReal() {
		c.printf("\nimages      %s (push them there, over plain HTTP)", c.registry())
	}
	if c.hasArgo() {
		c.printf("\nArgo CD     %s", c.plain(argoServerName))
	}
	c.printf("\nexport KUBECONFIG=%s", c.dir.path("kubeconfig"))
}

// load reads the state of the folder and connects to its cluster.
func (c *cluster) load() error {
	var err error
	if c.state, err = c.dir.load(); err != nil {
		return err
	}
	return c.connect()
}

// connect creates clients with the credentials of the folder's admin.
func (c *cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.dir.path("kubeconfig"))
	if err != nil {
		return fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	config.UserAgent = "devcluster"
	config.QPS = -1
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	if c.api, err = corev1client.NewForConfigAndClient(config, c.http); err != nil {
		return fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, c.http); err != nil {
		return fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	return nil
}

// healthy returns nil if every component of the tier runs and is ready.
func (c *cluster) healthy(ctx context.Context) error {
	for _, comp := range tiers[c.state.Tier].components() {
		if err := c.check(ctx, comp); err != nil {
			return fmt.Errorf("%s: %w", comp.name, err)
		}
	}
	return nil
}

func (c *cluster) check(ctx context.Context, comp component) error {
	if p, ok := c.process(comp.name); !ok || !p.alive() {
		return errors.New("dead")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := comp.ready(ctx, c); err != nil {
		return fmt.Errorf("running, but not healthy: %w", err)
	}
	return nil
}

func (c *cluster) process(name string) (process, bool) {
	at := slices.IndexFunc(c.state.Processes, func(p process) bool { return p.Name == name })
	if at < 0 {
		return process{}, false
	}
	return c.state.Processes[at], true
}

func (c *cluster) allAlive() bool {
	return !slices.ContainsFunc(c.state.Processes, func(p process) bool { return !p.alive() })
}

// clean removes an earlier cluster from the folder: first its processes, then its files.
func (c *cluster) clean() error {
	if err := c.stopAll(); err != nil {
		return err
	}
	return c.dir.empty()
}

// stopAll stops the components in the state, last started first, and then those that were not saved in it. A real node
// is first, since its components and containers end with it. Its cgroups and link are removed last.
func (c *cluster) stopAll() error {
	node.Thaw(c.dir.id())
	var errs []error
	if p, ok := c.process(nodeInitName); ok {
		errs = append(errs, p.stop())
	}
	for _, p := range slices.Backward(c.state.Processes) {
		errs = append(errs, p.stop())
	}
	for _, p := range stray(string(c.dir)) {
		errs = append(errs, p.stop())
	}
	return errors.Join(append(errs, c.sweepNode())...)
}

// down stops the cluster, if any, and removes its folder.
func (c *cluster) down(ctx context.Context) error {
	unlock, err := c.dir.lock(ctx, false, c.waiting)
	if errors.Is(err, errNoFolder) {
		return c.stopStrays()
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.dir.check(); err != nil {
		return err
	}
	if !c.dir.marked() {
		return c.stopStrays()
	}
	_ = c.load() // stopAll also finds components without the state
	if err := c.stopAll(); err != nil {
		return err
	}
	if err := c.dir.remove(); err != nil {
		return err
	}
	c.printf("stopped, and removed %s", c.dir)
	return nil
}

// stopStrays stops a cluster whose folder was deleted while it ran.
func (c *cluster) stopStrays() error {
	if len(stray(string(c.dir))) == 0 && !c.leftOfNode() {
		c.printf("nothing runs in %s", c.dir)
		return nil
	}
	if err := c.stopAll(); err != nil {
		return err
	}
	c.printf("stopped the processes of %s, whose folder was deleted", c.dir)
	return nil
}

// status prints the state of the components. It changes nothing.
func (c *cluster) status(ctx context.Context) error {
	if err := c.dir.check(); err != nil {
		return err
	}
	if !c.dir.marked() || c.load() != nil || len(c.state.Processes) == 0 {
		c.printf("not running: no cluster in %s", c.dir)
		return errNotHealthy
	}
	c.printf("nodes       %s\nkubeconfig  %s", c.state.Tier, c.dir.path("kubeconfig"))
	if c.isReal() {
		c.printf("images      %s", c.registry())
	}
	if c.hasArgo() {
		c.printf("Argo CD     %s", c.plain(argoServerName))
	}

	var bad error
	table := tabwriter.NewWriter(c.builder.out, 0, 0, 2, ' ', 0)
	for _, comp := range append(tiers[c.state.Tier].components(), c.catalogs()...) {
		p, started := c.process(comp.name)
		if !started {
			fmt.Fprintf(table, "%s\tnot started\t\t\n", comp.name)
			bad = errNotHealthy
			continue
		}
		verdict := "running"
		if err := c.check(ctx, comp); err != nil {
			verdict, bad = err.Error(), errNotHealthy
		}
		fmt.Fprintf(table, "%s\tpid %d\tsince %s\t%s\n", comp.name, p.Pid, p.Since.Local().Format("15:04:05"), verdict)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the status: %w", err)
	}
	if !c.state.Ready {
		c.printf("the cluster did not finish starting")
		return errNotHealthy
	}
	return bad
}

// get returns nil if a server of this cluster answers url with status OK.
func (c *cluster) get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// url returns the URL of the component that listens on the port with this name.
func (c *cluster) url(port string) string { return "https://" + c.at(port) }

// plain is url for a component without TLS.
func (c *cluster) plain(port string) string { return "http://" + c.at(port) }

// at returns the address of the port with this name, and port its number.
func (c *cluster) at(port string) string   { return address(c.state.Ports[port]) }
func (c *cluster) port(port string) string { return strconv.Itoa(c.state.Ports[port]) }

func (c *cluster) waiting() { c.printf("waiting for another devcluster that works on %s", c.dir) }

func (c *cluster) printf(format string, args ...any) {
	fmt.Fprintf(c.builder.out, format+"\n", args...)
}
