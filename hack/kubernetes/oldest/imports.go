//go:build tools

// Package oldest imports the command that is built, to keep its dependencies in go.sum.
package oldest

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
