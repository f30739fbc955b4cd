//go:build tools

// Package helm imports the program to keep its dependencies in go.sum.
package helm

import _ "helm.sh/helm/v4/cmd/helm"
