package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/term"
)

// printTable prints a table whose last cells may be empty. In a terminal, lines are cut to its width unless all columns were
// asked for: lines that a terminal wraps are hard to read.
func (o *options) printTable(table *metav1.Table, how printers.PrintOptions) error {
	var text bytes.Buffer
	aligned := printers.GetNewTabWriter(&text)
	if err := printers.NewTablePrinter(how).PrintObj(table, aligned); err != nil {
		return err
	}
	if err := aligned.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, " \n")
		if o.width > 0 && !how.Wide {
			line = runewidth.Truncate(line, int(o.width), "…")
		}
		fmt.Fprintln(o.Out, line)
	}
	return nil
}

// columns returns the width of the terminal that is written to, or 0.
func columns(out io.Writer) uint {
	if size := (term.TTY{Out: out}).GetSize(); size != nil {
		return uint(size.Width)
	}
	return 0
}
