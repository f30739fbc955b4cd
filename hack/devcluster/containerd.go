package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// containerdSocket is where containerd listens in the node.
const containerdSocket = "/run/containerd/containerd.sock"

// containerd is the distribution's. Its data is in the cluster's folder, since the node's /var/lib is.
var containerd = component{
	name:    "containerd",
	binary:  func() (string, error) { return node.Find("containerd") },
	start:   inside,
	env:     nodeEnvironment,
	prepare: prepareContainerd,
	args:    func(c *cluster) []string { return []string{"--config=" + c.dir.path("containerd.toml")} },
	ready:   func(_ context.Context, c *cluster) error { return c.waitFor(containerdSocket) },
}

func prepareContainerd(_ context.Context, c *cluster) error {
	files := map[string]string{
		"containerd.toml":   containerdConfig(c.dir, c.registry(), node.PluginFolder()),
		"cni/pods.conflist": podNetwork(c.network()),
	}
	for _, host := range []string{c.registry(), strings.Replace(c.registry(), loopback, "localhost", 1)} {
		files[filepath.Join("images", host, "hosts.toml")] = registryHost(c.network(), c.state.Ports[registryName])
	}
	return c.dir.write(files)
}

// write writes configuration files and the folders that they are in.
func (f folder) write(files map[string]string) error {
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(f.path(name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// containerdConfig returns containerd's configuration. AppArmor is off, since its profile would stay loaded; scores of
// the OOM killer are restricted to those that this process may set.
func containerdConfig(dir folder, registry, plugins string) string {
	return fmt.Sprintf(`version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = %q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_apparmor = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %q

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`, containerdSocket, pauseImage(registry), plugins, dir.path("cni"), dir.path("images"))
}

// registryHost returns the hosts.toml of the image registry: containerd, which is in the node, connects to the gateway.
func registryHost(n node.Network, port int) string {
	return fmt.Sprintf(`server = "http://%[1]s:%[2]d"

[host."http://%[1]s:%[2]d"]
  capabilities = ["pull", "resolve"]
`, n.Host(), port)
}

// podNetwork returns the CNI configuration: a bridge in the node. Addresses are not translated, since this machine has a
// route to the pods.
func podNetwork(n node.Network) string {
	return fmt.Sprintf(`{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "pods",
      "isDefaultGateway": true,
      "hairpinMode": true,
      "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]]}
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, n.Pods())
}
