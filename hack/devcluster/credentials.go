package main

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// users lists the users that get a kubeconfig, with their identity for the API server and the name of their file.
var users = []struct {
	file   string
	user   string
	groups []string
	inNode bool // connects through the gateway; only with a real node
}{
	{"kubeconfig", "admin", []string{"system:masters"}, false},
	{"kube-controller-manager.kubeconfig", "system:kube-controller-manager", nil, false},
	{"kube-scheduler.kubeconfig", "system:kube-scheduler", nil, false},
	{"kubelet.kubeconfig", "system:node:" + realNode, []string{"system:nodes"}, true},
	{"kube-proxy.kubeconfig", "system:kube-proxy", nil, true},
	{"coredns.kubeconfig", "system:coredns", nil, true},
	// A deployed OLM uses this service account. Here it has the same rights, and the same name in the audit log.
	{"olm.kubeconfig", "system:serviceaccount:olm:olm-operator-serviceaccount", []string{"system:serviceaccounts", "system:serviceaccounts:olm"}, false},
	{"olm-in-node.kubeconfig", "system:serviceaccount:olm:olm-operator-serviceaccount", []string{"system:serviceaccounts", "system:serviceaccounts:olm"}, true},
}

// writeCredentials writes all keys, certificates and kubeconfigs of a cluster whose API server has the URL server. The
// network is that of the real node, or the zero value without one.
func writeCredentials(dir folder, server string, network node.Network) error {
	if err := os.MkdirAll(dir.path("pki"), 0o700); err != nil {
		return fmt.Errorf("creating the folder of the certificates: %w", err)
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	// All servers share this certificate. A client can distinguish them from another cluster that took over a port.
	hosts := []string{loopback, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	real := network != node.Network{}
	if real {
		hosts = append(hosts, network.FirstService(), network.Host(), network.Node())
	} else {
		hosts = append(hosts, firstServiceIP)
	}
	serving, err := ca.serving("devcluster", hosts...)
	if err != nil {
		return err
	}
	etcdClient, err := ca.client("etcd-client")
	if err != nil {
		return err
	}
	kubeletClient, err := ca.client("kube-apiserver", "system:masters")
	if err != nil {
		return err
	}
	accounts, err := serviceAccountKeys()
	if err != nil {
		return err
	}
	for name, p := range map[string]pair{"ca": ca.files, "serving": serving, "etcd-client": etcdClient, "kubelet-client": kubeletClient,
		"service-accounts": accounts} {
		if err := p.write(certPath(dir, name), keyPath(dir, name)); err != nil {
			return err
		}
	}
	for _, u := range users {
		url := server
		if u.inNode {
			if !real {
				continue
			}
			url = strings.Replace(server, loopback, network.Host(), 1)
		}
		client, err := ca.client(u.user, u.groups...)
		if err != nil {
			return err
		}
		if err := clientcmd.WriteToFile(kubeconfig(url, u.user, ca.files.cert, client), dir.path(u.file)); err != nil {
			return fmt.Errorf("writing the kubeconfig of %s: %w", u.user, err)
		}
	}
	return nil
}

func certPath(dir folder, name string) string { return dir.path("pki", name+".crt") }
func keyPath(dir folder, name string) string  { return dir.path("pki", name+".key") }

// kubeconfig returns a kubeconfig with inlined credentials, which can be copied anywhere.
func kubeconfig(server, user string, ca []byte, client pair) clientcmdapi.Config {
	const cluster = "devcluster"
	config := *clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: client.cert, ClientKeyData: client.key}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user, Namespace: "default"}
	config.CurrentContext = cluster
	return config
}
