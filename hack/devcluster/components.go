package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// component is a program of a control plane.
type component struct {
	name    string
	program string                                // the recipe of its binary, or empty if it has the same name
	binary  func() (string, error)                // finds a binary that is not built; may be nil
	ports   []string                              // the names of the ports that it listens on
	prepare func(context.Context, *cluster) error // creates its prerequisites; may be nil
	args    func(*cluster) []string
	env     func(*cluster) []string               // in addition to componentEnvironment; may be nil
	start   func(*cluster, *exec.Cmd) error       // starts it elsewhere than on this machine; may be nil
	joined  func(*cluster, process) error         // configures it when it has started; may be nil
	ready   func(context.Context, *cluster) error // returns nil once it is ready
}

// tier is a kind of cluster. The components of a phase start together, once the phase before is ready.
type tier struct {
	phases [][]component
	builds []string // the recipes of binaries that are needed besides those of the components
	mb     uint64   // required space in the cluster's folder, in MB
}

var tiers = withArgo(map[string]tier{
	"none":      {mb: 200, phases: [][]component{{etcd}, {apiServer}}},
	"fake":      {mb: 250, phases: [][]component{{etcd}, {apiServer}, {controllerManager, scheduler, kwok}}},
	withOLM:     {mb: 350, phases: [][]component{{etcd}, {apiServer}, {controllerManager, scheduler, kwok}, {olm, olmCatalog}}},
	"real":      {mb: 500, phases: realPhases, builds: []string{pauseProgram}},
	realWithOLM: {mb: 800, phases: append(slices.Clone(realPhases), []component{olmInNode, olmCatalogInNode}), builds: append(olmPrograms, pauseProgram)},
})

// andArgo is the end of the names of tiers with --argocd.
const andArgo = " and Argo CD"

// withArgo adds tiers on which Argo CD runs, too.
func withArgo(tiers map[string]tier) map[string]tier {
	for name, t := range maps.Clone(tiers) {
		t.phases = append(slices.Clone(t.phases), argo)
		t.builds = append(slices.Clone(t.builds), "kubectl")
		t.mb += 200
		tiers[name+andArgo] = t
	}
	return tiers
}

// realPhases are the components of a cluster with a real node. The control plane runs as processes of this machine, and OLM
// as processes of the node, where the addresses and names of Services work.
var realPhases = [][]component{
	{nodeInit},
	{etcd, imageRegistry, gateway, containerd},
	{apiServer},
	{controllerManager, scheduler, kubeProxy, coreDNS, kubelet},
}

// withOLM and realWithOLM are the tiers of --nodes=fake --olm and --nodes=real --olm.
const (
	withOLM     = "fake and OLM"
	realWithOLM = "real and OLM"
)

// chooseTier returns the tier for the flags --nodes, --olm and --argocd.
func chooseTier(nodes string, olm, argocd bool) (string, error) {
	name := nodes
	switch {
	case nodes != "none" && nodes != "fake" && nodes != "real":
		return "", fmt.Errorf("--nodes=%s: unknown tier, use none, fake or real", nodes)
	case olm && nodes == "none":
		return "", errors.New("--olm with --nodes=none: no Deployment would ever be available and no ClusterServiceVersion succeed, use --nodes=fake")
	case olm && nodes == "real":
		name = realWithOLM
	case olm:
		name = withOLM
	}
	if argocd {
		name += andArgo
	}
	return name, nil
}

func (t tier) components() []component { return slices.Concat(t.phases...) }

func (t tier) names() []string {
	var names []string
	for _, c := range t.components() {
		names = append(names, c.name)
	}
	return names
}

// recipes returns the names of the binaries that are built for a tier.
func (t tier) recipes() []string {
	var names []string
	for _, c := range t.components() {
		if recipe := cmp.Or(c.program, c.name); c.binary == nil && !slices.Contains(names, recipe) {
			names = append(names, recipe)
		}
	}
	return append(names, t.builds...)
}

func (t tier) ports() []string {
	var names []string
	for _, c := range t.components() {
		names = append(names, c.ports...)
	}
	return names
}

// isComponent reports whether a cluster may run a program of this name.
func isComponent(name string) bool {
	own, _ := self()
	if name == opm || name == argoProgram || name == filepath.Base(own) {
		return true
	}
	for _, t := range tiers {
		if slices.Contains(t.names(), name) {
			return true
		}
	}
	return false
}

var etcd = component{
	name:  "etcd",
	ports: []string{"etcd", "etcd-peer"},
	args: func(c *cluster) []string {
		peer := "http://" + address(c.state.Ports["etcd-peer"])
		return []string{
			"--name=devcluster",
			"--data-dir=" + c.dir.path("etcd"),
			"--unsafe-no-fsync", // the data is deleted with the cluster
			"--quota-backend-bytes=8589934592",
			"--listen-client-urls=" + c.url("etcd"),
			"--advertise-client-urls=" + c.url("etcd"),
			"--cert-file=" + certPath(c.dir, "serving"),
			"--key-file=" + keyPath(c.dir, "serving"),
			"--client-cert-auth",
			"--trusted-ca-file=" + certPath(c.dir, "ca"),
			"--enable-grpc-gateway=false",
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=devcluster=" + peer,
		}
	},
	env:   rareCollections,
	ready: func(ctx context.Context, c *cluster) error { return c.get(ctx, c.url("etcd")+"/health") },
}

// rareCollections has a program collect garbage less often, while it takes little memory. It saves a tenth of its time.
func rareCollections(*cluster) []string { return []string{"GOGC=400", "GOMEMLIMIT=1536MiB"} }

// auditPolicy logs one line per finished request, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

var apiServer = component{
	name:  "kube-apiserver",
	ports: []string{"kube-apiserver"},
	prepare: func(_ context.Context, c *cluster) error {
		return os.WriteFile(c.dir.path("audit-policy.yaml"), []byte(auditPolicy), 0o600)
	},
	args: func(c *cluster) []string {
		args := []string{
			"--bind-address=" + loopback,
			"--secure-port=" + fmt.Sprint(c.state.Ports["kube-apiserver"]),
			"--etcd-servers=" + c.url("etcd"),
			"--etcd-cafile=" + certPath(c.dir, "ca"),
			"--etcd-certfile=" + certPath(c.dir, "etcd-client"),
			"--etcd-keyfile=" + keyPath(c.dir, "etcd-client"),
			"--tls-cert-file=" + certPath(c.dir, "serving"),
			"--tls-private-key-file=" + keyPath(c.dir, "serving"),
			"--client-ca-file=" + certPath(c.dir, "ca"),
			"--authorization-mode=Node,RBAC",
			"--allow-privileged",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + certPath(c.dir, "service-accounts"),
			"--service-account-signing-key-file=" + keyPath(c.dir, "service-accounts"),
			"--audit-policy-file=" + c.dir.path("audit-policy.yaml"),
			"--audit-log-path=" + c.dir.path("audit.log"),
			"--audit-log-maxsize=0", // never rotated, because requests are counted in it
		}
		if c.isReal() {
			return append(args, realNodeArgs(c)...)
		}
		return append(args,
			// Only this machine connects: the kubernetes Service gets no endpoint, and no interface is searched for.
			"--advertise-address="+loopback,
			"--endpoint-reconciler-type=none",
			"--enable-admission-plugins=OwnerReferencesPermissionEnforcement", // as in OpenShift
			"--service-cluster-ip-range="+serviceRange,
		)
	},
	env: rareCollections,
	ready: func(ctx context.Context, c *cluster) error {
		if err := c.get(ctx, c.url("kube-apiserver")+"/readyz"); err != nil {
			return err
		}
		_, err := c.api.Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	},
}

// realNodeArgs returns the API server's arguments for pods that connect to it, and for logs and exec of their containers.
func realNodeArgs(c *cluster) []string {
	return []string{
		"--advertise-address=" + c.network().Host(), // of the gateway
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement,NodeRestriction",
		"--service-cluster-ip-range=" + c.network().Services(),
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + certPath(c.dir, "ca"),
		"--kubelet-client-certificate=" + certPath(c.dir, "kubelet-client"),
		"--kubelet-client-key=" + keyPath(c.dir, "kubelet-client"),
	}
}

var controllerManager = component{
	name:  "kube-controller-manager",
	ports: []string{"kube-controller-manager"},
	args: func(c *cluster) []string {
		return append(controlLoopArgs(c, "kube-controller-manager"),
			"--use-service-account-credentials",
			"--service-account-private-key-file="+keyPath(c.dir, "service-accounts"),
			"--root-ca-file="+certPath(c.dir, "ca"),
			"--cluster-signing-cert-file="+certPath(c.dir, "ca"),
			"--cluster-signing-key-file="+keyPath(c.dir, "ca"),
		)
	},
	ready: func(ctx context.Context, c *cluster) error {
		if err := c.get(ctx, c.url("kube-controller-manager")+"/healthz"); err != nil {
			return err
		}
		_, err := c.api.ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	},
}

var scheduler = component{
	name:  "kube-scheduler",
	ports: []string{"kube-scheduler"},
	args:  func(c *cluster) []string { return controlLoopArgs(c, "kube-scheduler") },
	ready: func(ctx context.Context, c *cluster) error { return c.get(ctx, c.url("kube-scheduler")+"/healthz") },
}

// controlLoopArgs returns the common arguments of the controller manager and the scheduler.
func controlLoopArgs(c *cluster, name string) []string {
	return []string{
		"--kubeconfig=" + c.dir.path(name+".kubeconfig"),
		"--bind-address=" + loopback,
		"--secure-port=" + fmt.Sprint(c.state.Ports[name]),
		"--tls-cert-file=" + certPath(c.dir, "serving"),
		"--tls-private-key-file=" + keyPath(c.dir, "serving"),
		"--leader-elect=false", // only one instance runs
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
}
