//go:build neighbours

// Package neighbours imports the programs to keep their dependencies in go.sum.
package neighbours

import _ "github.com/sigstore/cosign/v3/cmd/cosign"
