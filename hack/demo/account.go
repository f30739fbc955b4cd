package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// token creates and returns a token of a service account.
func (s *stage) token(ctx context.Context, account types.NamespacedName) (string, error) {
	o := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	request := &authenticationv1.TokenRequest{}
	if err := s.admin.SubResource("token").Create(ctx, o, request); err != nil {
		return "", fmt.Errorf("getting a token for service account %s: %w", account, err)
	}
	return request.Status.Token, nil
}

// as returns a client with the rights of a service account and no others.
func (s *stage) as(ctx context.Context, account types.NamespacedName) (client.Client, error) {
	token, err := s.token(ctx, account)
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken = token
	out, err := client.New(config, client.Options{Scheme: s.admin.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("connecting as service account %s: %w", account, err)
	}
	return out, nil
}

// writeKubeconfig writes a kubeconfig with only a service account's token and returns its path.
func (s *stage) writeKubeconfig(ctx context.Context, account types.NamespacedName) (path string, err error) {
	token, err := s.token(ctx, account)
	if err != nil {
		return "", err
	}
	path = filepath.Join(s.dir, account.Name+".kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"demo": {Server: s.config.Host, CertificateAuthorityData: s.config.CAData},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account.Name: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"demo": {Cluster: "demo", AuthInfo: account.Name}},
		CurrentContext: "demo",
	}, path)
	if err != nil {
		return "", fmt.Errorf("writing the kubeconfig of service account %s: %w", account, err)
	}
	return path, nil
}

// readersOfFoos returns the users that the manager has requested Foos as, from the audit log, sorted.
func (s *stage) readersOfFoos() ([]string, error) {
	log, err := os.ReadFile(filepath.Join(s.clusterDir(), "audit.log"))
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	var out []string
	for line := range bytes.Lines(log) {
		var request struct {
			User, ImpersonatedUser struct{ Username string }
			ObjectRef              struct{ Resource string }
		}
		if err := json.Unmarshal(line, &request); err != nil {
			continue // the last line may be incomplete
		}
		if request.ObjectRef.Resource != "foos" || request.User.Username != serviceaccount.MakeUsername(managerAccount.Namespace, managerAccount.Name) {
			continue
		}
		if request.ImpersonatedUser.Username == "" {
			request.ImpersonatedUser.Username = request.User.Username
		}
		out = append(out, request.ImpersonatedUser.Username)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
