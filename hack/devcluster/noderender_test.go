package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

func TestNodeConfiguration(t *testing.T) {
	dir, n := folder("/clusters/a"), node.Network{N: 117}
	cases := map[string]struct {
		reason  string
		content string
		valid   func([]byte, any) error // parses it, or nil without a parser for its format
		want    []string
	}{
		"kubelet": {
			reason:  "It runs with either cgroups, on any disk, with pods in a cgroup of this cluster, and for the API server only.",
			content: kubeletConfig(dir, n),
			valid:   func(content []byte, into any) error { return yaml.UnmarshalStrict(content, into) },
			want: []string{
				"address: 10.117.0.2\n", "anonymous: {enabled: false}", "failCgroupV1: false", "failSwapOn: false", "cgroupDriver: cgroupfs",
				"localStorageCapacityIsolation: false", "enforceNodeAllocatable: []", "cgroupRoot: /devcluster-" + dir.id() + "\n",
				"clusterDNS: [10.117.0.2]", "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n",
			},
		},
		"kube-proxy": {
			reason:  "Its rules are in nftables, and the machine's limit of connections stays.",
			content: kubeProxyConfig(dir, n),
			valid:   func(content []byte, into any) error { return yaml.UnmarshalStrict(content, into) },
			want:    []string{"mode: nftables\n", "conntrack: {maxPerCore: 0}", "clusterCIDR: 10.117.64.0/18\n", "healthzBindAddress: 10.117.0.2:10256\n"},
		},
		"containerd": {
			reason:  "It pulls the sandboxes' image and those of users from the registry, and uses the distribution's plugins.",
			content: containerdConfig(dir, "127.0.0.1:5000", "/usr/lib/cni"),
			want: []string{
				`sandbox_image = "127.0.0.1:5000/pause:latest"`, "restrict_oom_score_adj = true", "disable_apparmor = true", `bin_dir = "/usr/lib/cni"`,
				`conf_dir = "/clusters/a/cni"`, `config_path = "/clusters/a/images"`, "SystemdCgroup = false", `address = "/run/containerd/containerd.sock"`,
			},
		},
		"registry": {
			reason:  "The loopback of containerd is not that of the registry.",
			content: registryHost(n, 5000),
			want:    []string{`server = "http://10.117.0.1:5000"`, `[host."http://10.117.0.1:5000"]`, `["pull", "resolve"]`},
		},
		"pod network": {
			reason:  "Pods have addresses to which this machine has a route.",
			content: podNetwork(n),
			valid:   json.Unmarshal,
			want:    []string{`"subnet": "10.117.64.0/18"`, `"isDefaultGateway": true`, `"hairpinMode": true`, `"type": "portmap"`},
		},
		"DNS": {
			reason:  "Services have names, and nothing else has.",
			content: corefile(dir, n),
			want:    []string{"bind 10.117.0.2\n", "kubernetes cluster.local in-addr.arpa", "kubeconfig /clusters/a/coredns.kubeconfig\n", "rcode NXDOMAIN"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.valid != nil {
				var parsed map[string]any
				must(t, tc.valid([]byte(tc.content), &parsed))
			}
			for _, want := range tc.want {
				if !strings.Contains(tc.content, want) {
					t.Errorf("%s It lacks %q:\n%s", tc.reason, want, tc.content)
				}
			}
		})
	}
}

func TestNodeArgumentsOfTheAPIServer(t *testing.T) {
	c := &cluster{dir: "/clusters/a", state: state{Ports: map[string]int{apiServer.name: 6443}, Network: 117}}
	args := strings.Join(apiServer.args(c), " ")
	for flag, reason := range map[string]string{
		"--bind-address=127.0.0.1":                        "Only the gateway makes it available to pods.",
		"--advertise-address=10.117.0.1":                  "Pods reach it at the gateway.",
		"--service-cluster-ip-range=10.117.128.0/17":      "Two clusters do not share Services.",
		"--kubelet-preferred-address-types=InternalIP":    "The node's name does not resolve on this machine.",
		"--kubelet-certificate-authority=/clusters/a/pki": "Only our kubelet is trusted with exec.",
	} {
		if !strings.Contains(args, flag) {
			t.Errorf("%s The API server lacks %s: %s", reason, flag, args)
		}
	}
	if strings.Contains(args, "--endpoint-reconciler-type=none") {
		t.Error("the kubernetes Service has no endpoint, though pods use it")
	}
}

func TestIDsDifferByFolder(t *testing.T) {
	if a, b := folder("/clusters/a").id(), folder("/clusters/b").id(); a == b || len(a) != 10 {
		t.Errorf("the IDs of two folders are %q and %q", a, b)
	}
}
