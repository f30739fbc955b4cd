//go:build tools

// Package healthprobe imports the program with which OLM checks the pods of catalogs, to pin its version.
package healthprobe

import _ "github.com/grpc-ecosystem/grpc-health-probe"
