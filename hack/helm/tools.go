//go:build tools

// Package helm imports the program, so that go.sum covers its dependencies.
package helm

import _ "helm.sh/helm/v4/cmd/helm"
