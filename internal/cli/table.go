package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/operator-status/operator-status/internal/messages"
)

// gap is between two columns. That of kubectl's tables leaves a terminal of 80 columns no room for six.
const gap = "  "

// printOperatorTable prints a table whose first columns are the namespace and name of an operator. Its first row is the header. In a
// terminal, names are shortened until the last column has a third of its width, unless the table is wide.
func (o *options) printOperatorTable(rows [][]string, noHeaders, wide bool) {
	first, names := 0, 2
	if !o.allNamespaces {
		first, names = 1, 1
	}
	if noHeaders {
		rows = rows[1:]
	}
	shown := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row[first:] {
			shown[i] = append(shown[i], messages.Line(cell))
		}
	}
	width := int(o.width)
	if wide {
		width = 0
	}
	if width > 0 && len(shown) > 0 {
		reasons := widths(shown)[len(shown[0])-1]
		shortenNames(shown, names, width-min(reasons, width/3))
	}
	o.printTable(shown, width)
}

// printTable prints rows with aligned columns, each cut to a width if that is not 0.
func (o *options) printTable(rows [][]string, width int) {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "\n", " ") // a text of others must not add a row
		}
	}
	limits := widths(rows)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = runewidth.FillRight(cell, limits[i])
		}
		line := strings.TrimRight(strings.Join(cells, gap), " ")
		if width > 0 {
			line = runewidth.Truncate(line, width, "…")
		}
		word, offset := colored(row, cells)
		if !strings.HasPrefix(line[min(offset, len(line)):], word) {
			word = "" // it was cut
		}
		o.print(line+"\n", word, offset)
	}
}

// colored returns the first cell of a row that has a color, and its offset in the line of the aligned cells, or nothing.
func colored(row, cells []string) (word string, offset int) {
	for i, cell := range row {
		if colors[cell] != nil {
			return cell, offset
		}
		offset += len(cells[i]) + len(gap)
	}
	return "", 0
}

// widths returns the width of each column.
func widths(rows [][]string) (out []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(out) {
				out = append(out, 0)
			}
			out[i] = max(out[i], runewidth.StringWidth(cell))
		}
	}
	return out
}

// shortenNames shortens the longest cells of the first columns until all columns but the last fit into a width.
func shortenNames(rows [][]string, columns, width int) {
	const least = 10
	limits := widths(rows)
	for _, w := range limits[:len(limits)-1] {
		width -= w + len(gap)
	}
	names := limits[:columns]
	for ; width < 0 && slices.Max(names) > least; width++ {
		names[slices.Index(names, slices.Max(names))]--
	}
	for _, row := range rows {
		for i, limit := range names {
			row[i] = shortened(row[i], limit)
		}
	}
}

// shortened replaces the middle of a name that is wider than a limit.
func shortened(name string, limit int) string {
	runes := []rune(name)
	if len(runes) <= limit {
		return name
	}
	tail := (limit - 1) / 2
	return string(runes[:limit-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// columns returns the width of the terminal that is written to, or 0.
func columns(out io.Writer) uint {
	if size := (term.TTY{Out: out}).GetSize(); size != nil {
		return uint(size.Width)
	}
	return 0
}
