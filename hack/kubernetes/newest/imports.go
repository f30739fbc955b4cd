//go:build tools

// Package newest imports the command that is built, to keep its dependencies in go.sum.
package newest

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
