// Command kubectl-operator_status shows the operators of a cluster: `kubectl operator-status`, or `operator-status` alone.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/operator-status/operator-status/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
