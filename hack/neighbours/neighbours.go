//go:build neighbours

// Package neighbours requires the programs, so that go.sum covers all that they are built from.
package neighbours

import _ "github.com/sigstore/cosign/v3/cmd/cosign"
