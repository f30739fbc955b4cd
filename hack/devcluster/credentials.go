package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// users are those who get a kubeconfig: who they are to the API server, by the name of their file.
var users = []struct {
	file   string
	user   string
	groups []string
}{
	{"kubeconfig", "admin", []string{"system:masters"}},
	{"kube-controller-manager.kubeconfig", "system:kube-controller-manager", nil},
	{"kube-scheduler.kubeconfig", "system:kube-scheduler", nil},
	// In its own deployment OLM is this service account: it has the same rights here, and the audit log the same name.
	{"olm.kubeconfig", "system:serviceaccount:olm:olm-operator-serviceaccount", []string{"system:serviceaccounts", "system:serviceaccounts:olm"}},
}

// writeCredentials writes every key, certificate and kubeconfig of a cluster whose API server is at server.
func writeCredentials(dir folder, server string) error {
	if err := os.MkdirAll(dir.path("pki"), 0o700); err != nil {
		return fmt.Errorf("making the folder of the certificates: %w", err)
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	// One for all that listen: whoever answers with it is of this cluster, and not of a neighbour that took the port.
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

// kubeconfig holds all it needs in itself, so that it can be copied anywhere.
func kubeconfig(server, user string, ca []byte, client pair) clientcmdapi.Config {
	const cluster = "devcluster"
	config := *clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: client.cert, ClientKeyData: client.key}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user, Namespace: "default"}
	config.CurrentContext = cluster
	return config
}
