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
			reason:  "The kubelet runs with both versions of cgroups and any free disk space, puts pods in the cluster's cgroup, and serves only the API server.",
			content: kubeletConfig(dir, n),
			valid:   func(content []byte, into any) error { return yaml.UnmarshalStrict(content, into) },
			want: []string{
				"address: 10.117.0.2\n", "anonymous: {enabled: false}", "failCgroupV1: false", "failSwapOn: false", "cgroupDriver: cgroupfs",
				"localStorageCapacityIsolation: false", "enforceNodeAllocatable: []", "cgroupRoot: /devcluster-" + dir.id() + "\n",
				"clusterDNS: [10.117.0.2]", "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n",
			},
		},
		"kube-proxy": {
			reason:  "The kube-proxy uses nftables and keeps the machine's limit of tracked connections.",
			content: kubeProxyConfig(dir, n),
			valid:   func(content []byte, into any) error { return yaml.UnmarshalStrict(content, into) },
			want:    []string{"mode: nftables\n", "conntrack: {maxPerCore: 0}", "clusterCIDR: 10.117.64.0/18\n", "healthzBindAddress: 10.117.0.2:10256\n"},
		},
		"containerd": {
			reason:  "The containerd configuration uses the cluster's registry for all images and the distribution's CNI plugins.",
			content: containerdConfig(dir, "127.0.0.1:5000", "/usr/lib/cni"),
			want: []string{
				`sandbox_image = "127.0.0.1:5000/pause:latest"`, "restrict_oom_score_adj = true", "disable_apparmor = true", `bin_dir = "/usr/lib/cni"`,
				`conf_dir = "/clusters/a/cni"`, `config_path = "/clusters/a/images"`, "SystemdCgroup = false", `address = "/run/containerd/containerd.sock"`,
			},
		},
		"registry": {
			reason:  "The hosts file redirects pulls from loopback to the gateway.",
			content: registryHost(n, 5000),
			want:    []string{`server = "http://10.117.0.1:5000"`, `[host."http://10.117.0.1:5000"]`, `["pull", "resolve"]`},
		},
		"pod network": {
			reason:  "The addresses of pods are in the range that is routed from this machine.",
			content: podNetwork(n),
			valid:   json.Unmarshal,
			want:    []string{`"subnet": "10.117.64.0/18"`, `"isDefaultGateway": true`, `"hairpinMode": true`, `"type": "portmap"`},
		},
		"DNS": {
			reason:  "CoreDNS resolves the names of Services only.",
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
					t.Errorf("%s The configuration does not contain %q:\n%s", tc.reason, want, tc.content)
				}
			}
		})
	}
}

func TestNodeArgumentsOfTheAPIServer(t *testing.T) {
	c := &cluster{dir: "/clusters/a", state: state{Ports: map[string]int{apiServer.name: 6443}, Network: 117}}
	args := strings.Join(apiServer.args(c), " ")
	for flag, reason := range map[string]string{
		"--bind-address=127.0.0.1":                        "The API server listens on loopback only.",
		"--advertise-address=10.117.0.1":                  "The API server advertises the address of the gateway to pods.",
		"--service-cluster-ip-range=10.117.128.0/17":      "The addresses of Services are in the cluster's own network.",
		"--kubelet-preferred-address-types=InternalIP":    "The API server connects to the kubelet by address, since the name of the node does not resolve.",
		"--kubelet-certificate-authority=/clusters/a/pki": "The API server verifies the certificate of the kubelet.",
	} {
		if !strings.Contains(args, flag) {
			t.Errorf("%s Its arguments do not contain %s: %s", reason, flag, args)
		}
	}
	if strings.Contains(args, "--endpoint-reconciler-type=none") {
		t.Error("the kubernetes Service has no endpoint, and pods need it")
	}
}

func TestFolderIDs(t *testing.T) {
	if a, b := folder("/clusters/a").id(), folder("/clusters/b").id(); a == b || len(a) != 10 {
		t.Errorf("the IDs of two folders are %q and %q", a, b)
	}
}
