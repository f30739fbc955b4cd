package main

import (
	"context"
	"fmt"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// coreDNS resolves the names of Services for pods. Other names do not exist: pods reach only this machine.
var coreDNS = component{
	name:  "coredns",
	start: inside,
	env:   nodeEnvironment,
	prepare: func(ctx context.Context, c *cluster) error {
		if err := c.dir.write(map[string]string{"Corefile": corefile(c.dir, c.network())}); err != nil {
			return err
		}
		_, err := c.apply(ctx, []byte(dnsRights))
		return err
	},
	args: func(c *cluster) []string { return []string{"-conf=" + c.dir.path("Corefile")} },
	ready: func(ctx context.Context, c *cluster) error {
		return c.get(ctx, "http://"+c.network().Node()+":8181/ready")
	},
}

func corefile(dir folder, n node.Network) string {
	return fmt.Sprintf(`cluster.local in-addr.arpa {
  bind %[1]s
  ready %[1]s:8181
  errors
  cache 5
  kubernetes cluster.local in-addr.arpa {
    kubeconfig %[2]s
    pods insecure
    ttl 5
  }
}
. {
  bind %[1]s
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`, n.Node(), dir.path("coredns.kubeconfig"))
}

// dnsRights are those that CoreDNS documents for its kubernetes plugin.
const dnsRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:coredns
rules:
- apiGroups: [""]
  resources: [services, pods, namespaces]
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: system:coredns
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:coredns
subjects:
- kind: User
  apiGroup: rbac.authorization.k8s.io
  name: system:coredns
`
