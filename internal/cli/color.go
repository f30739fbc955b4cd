package cli

import (
	"fmt"
	"io"

	"github.com/fatih/color"

	"github.com/operator-status/operator-status/internal/operator"
)

// colors are those of the words that say how an operator or one of its objects is, in a terminal.
var colors = func() map[string]*color.Color {
	out := map[string]*color.Color{}
	for attribute, words := range map[color.Attribute][]string{
		color.FgRed: {string(operator.Broken), string(operator.Failed), string(operator.NotInstalled), string(operator.Stopped)},
		color.FgYellow: {
			string(operator.Held), string(operator.Waiting), string(unknown), string(outdated), "Blocking", "RequiresApproval", "Upgradeable=False", "Held=True",
		},
		color.FgCyan:  {string(operator.Notice), string(operator.Installing), string(updating)},
		color.FgGreen: {string(upToDate), string(operator.Running), string(allClear), "Available", "Succeeded", "Upgradeable=True"},
	} {
		for _, word := range words {
			out[word] = color.New(attribute)
			out[word].EnableColor() // whether to is decided by terminal
		}
	}
	return out
}()

// terminal returns the writer for colors, or nil if there should be none: the output is no terminal, or NO_COLOR is set.
func terminal(out io.Writer) io.Writer {
	if columns(out) == 0 || color.NoColor {
		return nil
	}
	return out
}

// print prints a text with a word in its color, if it has one and there are colors. The word is at an offset in bytes.
//
// The word goes to the terminal itself, since Out replaces escape sequences: the rest may be from others.
func (o *options) print(text, word string, offset int) {
	c, ok := colors[word]
	if !ok || o.terminal == nil {
		fmt.Fprint(o.Out, text)
		return
	}
	fmt.Fprint(o.Out, text[:offset])
	fmt.Fprint(o.terminal, c.Sprint(word))
	fmt.Fprint(o.Out, text[offset+len(word):])
}
