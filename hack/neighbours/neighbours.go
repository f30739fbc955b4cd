//go:build neighbours

// Package neighbours imports the programs, so that go.sum covers their dependencies.
package neighbours

import _ "github.com/sigstore/cosign/v3/cmd/cosign"
