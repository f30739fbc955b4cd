package main

import (
	"context"
	"fmt"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// kubeProxy makes the addresses of Services work in the node. Its table of nftables is in the node's network namespace.
var kubeProxy = component{
	name:  "kube-proxy",
	start: inside,
	env:   nodeEnvironment,
	prepare: func(_ context.Context, c *cluster) error {
		return c.dir.write(map[string]string{"kube-proxy.yaml": kubeProxyConfig(c.dir, c.network())})
	},
	args: func(c *cluster) []string { return []string{"--config=" + c.dir.path("kube-proxy.yaml")} },
	ready: func(ctx context.Context, c *cluster) error {
		return c.get(ctx, "http://"+c.network().Node()+":10256/healthz")
	},
}

// kubeProxyConfig returns kube-proxy's configuration. The limit of tracked connections is the machine's and left alone.
func kubeProxyConfig(dir folder, n node.Network) string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: %[1]q}
hostnameOverride: %[2]s
healthzBindAddress: %[3]s:10256
metricsBindAddress: 127.0.0.1:10249
detectLocalMode: ClusterCIDR
clusterCIDR: %[4]s
conntrack: {maxPerCore: 0}
`, dir.path("kube-proxy.kubeconfig"), realNode, n.Node(), n.Pods())
}
