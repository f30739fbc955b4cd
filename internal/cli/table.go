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
		if how.Wide {
			fmt.Fprintln(o.Out, line)
		} else {
			o.printLine(line)
		}
	}
	return nil
}

// printLine prints a line, cut to the width of the terminal.
func (o *options) printLine(line string) {
	if o.width > 0 {
		line = runewidth.Truncate(line, int(o.width), "…")
	}
	fmt.Fprintln(o.Out, line)
}

// gap is between two columns.
const gap = "  "

// aligned returns rows as lines with aligned columns. kubectl's printer counts bytes, so its columns are too wide for "→", and leaves
// more room between columns than a terminal of 80 columns has for six.
func aligned(rows [][]string) []string {
	limits, out := widths(rows), make([]string, 0, len(rows))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = runewidth.FillRight(cell, limits[i])
		}
		out = append(out, strings.TrimRight(strings.Join(cells, gap), " "))
	}
	return out
}

// widths returns the width of each column.
func widths(rows [][]string) []int {
	out := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			out[i] = max(out[i], runewidth.StringWidth(cell))
		}
	}
	return out
}

// columns returns the width of the terminal that is written to, or 0.
func columns(out io.Writer) uint {
	if size := (term.TTY{Out: out}).GetSize(); size != nil {
		return uint(size.Width)
	}
	return 0
}
