// Command write writes the files of package rootfs into a folder, for the Dockerfile.
package main

import (
	"fmt"
	"os"

	"github.com/operator-status/operator-status/hack/rootfs"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: write <folder>")
		os.Exit(2)
	}
	if err := rootfs.Write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
