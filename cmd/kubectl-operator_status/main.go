// Command kubectl-operator_status shows the operators of a cluster: `kubectl operator-status`, or `operator-status` alone.
package main

import (
	"os"
	"runtime/debug"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/operator-status/operator-status/internal/cli"
)

func main() {
	debug.SetGCPercent(25) // on large clusters most of the heap is what was just decoded
	os.Exit(cli.Run(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
