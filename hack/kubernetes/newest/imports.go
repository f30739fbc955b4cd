//go:build tools

// Package newest imports the command that is built, so that go.sum covers its dependencies.
package newest

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
