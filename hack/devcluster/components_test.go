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
		c, err := newCluster(newWorkshop(t.TempDir(), io.Discard), t.TempDir())
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
				t.Errorf("%s: the program %s of %s has no recipe, or is not known as a component", name, recipe, comp.name)
			}
			args := strings.Join(comp.args(c), " ")
			for _, port := range comp.ports {
				if !strings.Contains(args, address(c.state.Ports[port])[len(loopback)+1:]) {
					t.Errorf("%s: the arguments of %s do not contain its port %s: %s", name, comp.name, port, args)
				}
			}
			if len(comp.ports) > 0 && !strings.Contains(args, loopback) || strings.Contains(args, "=0.0.0.0") {
				t.Errorf("%s: %s may listen to more than this machine: %s", name, comp.name, args)
			}
		}
	}
}

func TestFlagsThatOthersRelyOn(t *testing.T) {
	c, err := newCluster(newWorkshop(t.TempDir(), io.Discard), t.TempDir())
	must(t, err)
	cases := map[string]struct {
		reason string
		comp   component
		flag   string
	}{
		"rbac":       {"The manager runs with its own rights alone, so rights must count.", apiServer, "--authorization-mode=Node,RBAC"},
		"audit":      {"Requests are counted from the audit log.", apiServer, "--audit-log-path=" + c.dir.path("audit.log")},
		"whole log":  {"A rotated log counts too few.", apiServer, "--audit-log-maxsize=0"},
		"tokens":     {"Service accounts can be used.", controllerManager, "--service-account-private-key-file=" + keyPath(c.dir, "service-accounts")},
		"root ca":    {"Every namespace gets kube-root-ca.crt.", controllerManager, "--root-ca-file=" + certPath(c.dir, "ca")},
		"one leader": {"There is no lease to wait for.", scheduler, "--leader-elect=false"},
		"olm":        {"It looks after its own namespace.", olm, "--namespace=olm"},
		"catalog":    {"Catalogs in this namespace are everybody's.", olmCatalog, "--namespace=olm"},
		"no service": {"Without pods nothing uses the kubernetes Service.", apiServer, "--endpoint-reconciler-type=none"},
		"leases":     {"Without leases the fake node counts as lost.", kwok, "--node-lease-duration-seconds=40"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if args := tc.comp.args(c); !slices.Contains(args, tc.flag) {
				t.Errorf("%s %s lacks %s: %v", tc.reason, tc.comp.name, tc.flag, args)
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
		"none":          {reason: "It exists.", nodes: "none", want: "none"},
		"fake":          {reason: "It exists.", nodes: "fake", want: "fake"},
		"fake with OLM": {reason: "OLM comes on top.", nodes: "fake", olm: true, want: withOLM},
		"none with OLM": {reason: "OLM would wait for Deployments for ever.", nodes: "none", olm: true, fails: "use --nodes=fake"},
		"real":          {reason: "It exists.", nodes: "real", want: "real"},
		"real with OLM": {reason: "OLM comes on top.", nodes: "real", olm: true, want: realWithOLM},
		"Argo CD":       {reason: "It needs no nodes.", nodes: "none", argocd: true, want: "none and Argo CD"},
		"all of it":     {reason: "Everything can run together.", nodes: "real", olm: true, argocd: true, want: realWithOLM + andArgo},
		"nothing":       {reason: "No tier is no tier.", fails: "unknown tier"},
		"our own name":  {reason: "What --olm makes of a tier is not for --nodes.", nodes: withOLM, fails: "unknown tier"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := chooseTier(tc.nodes, tc.olm, tc.argocd)
			if got != tc.want || (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s got %q %v, want %q %q", tc.reason, got, err, tc.want, tc.fails)
			}
			if _, known := tiers[got]; err == nil && !known {
				t.Errorf("there is no tier %q", got)
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
		t.Errorf("ports repeat: %v", ports)
	}
	listener, err := net.Listen("tcp4", loopback+":0")
	must(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	if err := checkFree(port); err == nil || !lostPort(err.Error()) {
		t.Errorf("a port in use: got %v", err)
	}
	must(t, listener.Close())
	must(t, checkFree(port))
}
