package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// users lists the users that get a kubeconfig, with their identity for the API server and the name of their file.
var users = []struct {
	file   string
	user   string
	groups []string
}{
	{"kubeconfig", "admin", []string{"system:masters"}},
	{"kube-controller-manager.kubeconfig", "system:kube-controller-manager", nil},
	{"kube-scheduler.kubeconfig", "system:kube-scheduler", nil},
	// A deployed OLM uses this service account. Here it has the same rights, and the same name in the audit log.
	{"olm.kubeconfig", "system:serviceaccount:olm:olm-operator-serviceaccount", []string{"system:serviceaccounts", "system:serviceaccounts:olm"}},
}

// writeCredentials writes all keys, certificates and kubeconfigs of a cluster whose API server has the URL server.
func writeCredentials(dir folder, server string) error {
	if err := os.MkdirAll(dir.path("pki"), 0o700); err != nil {
		return fmt.Errorf("making the folder of the certificates: %w", err)
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	// All servers share this certificate. A client can tell them from another cluster that took over a port.
	serving, err := ca.serving("devcluster", loopback, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", firstServiceIP)
	if err != nil {
		return err
	}
	etcdClient, err := ca.client("etcd-client")
	if err != nil {
		return err
	}
	accounts, err := serviceAccountKeys()
	if err != nil {
		return err
	}
	for name, p := range map[string]pair{"ca": ca.files, "serving": serving, "etcd-client": etcdClient, "service-accounts": accounts} {
		if err := p.write(certPath(dir, name), keyPath(dir, name)); err != nil {
			return err
		}
	}
	for _, u := range users {
		client, err := ca.client(u.user, u.groups...)
		if err != nil {
			return err
		}
		if err := clientcmd.WriteToFile(kubeconfig(server, u.user, ca.files.cert, client), dir.path(u.file)); err != nil {
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
