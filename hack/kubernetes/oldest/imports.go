//go:build tools

// Package oldest imports the command that is built, so that go.sum covers its dependencies.
package oldest

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
