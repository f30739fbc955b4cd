package main

import (
	"cmp"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
)

func TestTiers(t *testing.T) {
	for name, wanted := range tiers {
		c, err := newCluster(newBuilder(t.TempDir(), io.Discard), t.TempDir())
		must(t, err)
		c.state = state{Tier: name, Ports: map[string]int{}}
		if wanted.needsNode() {
			c.state.Network = 100
		}
		for i, port := range wanted.ports() {
			c.state.Ports[port] = 20001 + i
		}
		for _, comp := range wanted.components() {
			if recipe := cmp.Or(comp.program, comp.name); comp.binary == nil && (!slices.Contains(recipeNames(), recipe) || !isComponent(recipe)) {
				t.Errorf("%s: program %s of %s has no recipe or is not a known component", name, recipe, comp.name)
			}
			args := strings.Join(comp.args(c), " ")
			for _, port := range comp.ports {
				if !strings.Contains(args, address(c.state.Ports[port])[len(loopback)+1:]) {
					t.Errorf("%s: the arguments of %s do not contain its port %s: %s", name, comp.name, port, args)
				}
			}
			if len(comp.ports) > 0 && !strings.Contains(args, loopback) || strings.Contains(args, "=0.0.0.0") {
				t.Errorf("%s: %s listens on other interfaces than loopback: %s", name, comp.name, args)
			}
		}
	}
}

func TestRequiredFlags(t *testing.T) {
	c, err := newCluster(newBuilder(t.TempDir(), io.Discard), t.TempDir())
	must(t, err)
	cases := map[string]struct {
		reason string
		comp   component
		flag   string
	}{
		"rbac":       {"The API server enforces RBAC, which the tests of permissions need.", apiServer, "--authorization-mode=Node,RBAC"},
		"audit":      {"The API server writes the audit log, from which tests count requests.", apiServer, "--audit-log-path=" + c.dir.path("audit.log")},
		"whole log":  {"The audit log is not rotated, so no request is missing from it.", apiServer, "--audit-log-maxsize=0"},
		"tokens":     {"The controller manager signs tokens of service accounts.", controllerManager, "--service-account-private-key-file=" + keyPath(c.dir, "service-accounts")},
		"root ca":    {"The controller manager publishes kube-root-ca.crt in every namespace.", controllerManager, "--root-ca-file=" + certPath(c.dir, "ca")},
		"one leader": {"The scheduler starts without waiting for a lease.", scheduler, "--leader-elect=false"},
		"olm":        {"OLM runs in its own namespace.", olm, "--namespace=olm"},
		"catalog":    {"Catalogs in OLM's namespace are available in all namespaces.", olmCatalog, "--namespace=olm"},
		"no service": {"The kubernetes Service has no endpoints without real nodes.", apiServer, "--endpoint-reconciler-type=none"},
		"nodes":      {"Tests may add nodes without a kubelet.", kwok, "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake"},
		"leases":     {"The fake node renews its lease, so it stays Ready.", kwok, "--node-lease-duration-seconds=40"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if args := tc.comp.args(c); !slices.Contains(args, tc.flag) {
				t.Errorf("%s The arguments of %s do not contain %s: %v", tc.reason, tc.comp.name, tc.flag, args)
			}
		})
	}
}

func TestChooseTier(t *testing.T) {
	cases := map[string]struct {
		reason string
		nodes  string
		olm    bool
		argocd bool
		want   string
		fails  string
	}{
		"none":          {reason: "The value none selects a tier without nodes.", nodes: "none", want: "none"},
		"fake":          {reason: "The value fake selects a tier with fake nodes.", nodes: "fake", want: "fake"},
		"fake with OLM": {reason: "OLM can be added to fake nodes.", nodes: "fake", olm: true, want: withOLM},
		"none with OLM": {reason: "OLM without nodes is rejected, since no Deployment would become available.", nodes: "none", olm: true, fails: "use --nodes=fake"},
		"real":          {reason: "The value real selects a tier with a real node.", nodes: "real", want: "real"},
		"real with OLM": {reason: "OLM can be added to a real node.", nodes: "real", olm: true, want: realWithOLM},
		"Argo CD":       {reason: "Argo CD can be added without nodes.", nodes: "none", argocd: true, want: "none and Argo CD"},
		"all of it":     {reason: "A real node, OLM and Argo CD can be combined.", nodes: "real", olm: true, argocd: true, want: realWithOLM + andArgo},
		"nothing":       {reason: "An empty value is rejected.", fails: "unknown tier"},
		"our own name":  {reason: "The internal name of a tier with OLM is rejected.", nodes: withOLM, fails: "unknown tier"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := chooseTier(tc.nodes, tc.olm, tc.argocd)
			if got != tc.want || (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s chooseTier returned %q %v, want %q %q", tc.reason, got, err, tc.want, tc.fails)
			}
			if _, known := tiers[got]; err == nil && !known {
				t.Errorf("tier %q does not exist", got)
			}
		})
	}
}

func TestStages(t *testing.T) {
	for _, name := range []string{"node-initialize", "node-heartbeat-with-lease", "pod-ready", "pod-complete", "pod-delete"} {
		if !strings.Contains(stages(), "name: "+name+"\n") {
			t.Errorf("stage %s is missing", name)
		}
	}
}

func TestPorts(t *testing.T) {
	ports, err := freePorts(8)
	must(t, err)
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 8 {
		t.Errorf("the ports are not distinct: %v", ports)
	}
	listener, err := net.Listen("tcp4", loopback+":0")
	must(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	if err := checkFree(port); err == nil || !lostPort(err.Error()) {
		t.Errorf("checkFree of a port in use returned %v", err)
	}
	must(t, listener.Close())
	must(t, checkFree(port))
}
