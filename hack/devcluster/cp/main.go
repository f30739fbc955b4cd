// Command cp copies a file as `cp -Rv <from> <to>` does. OLM runs it in an image with its tools, which has no others.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fail(fmt.Errorf("usage: cp [-Rv] <from> <to>"))
	}
	if err := run(os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "cp:", err)
	os.Exit(1)
}

func run(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
