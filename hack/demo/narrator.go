package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// narrator writes the progress of the demo to the terminal.
type narrator struct {
	out                           io.Writer
	bold, dim, green, red, normal string
}

// newNarrator returns a narrator that uses color if out is a terminal, unless NO_COLOR is set.
func newNarrator(out *os.File) *narrator {
	n := &narrator{out: out}
	info, err := out.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		n.bold, n.dim, n.green, n.red, n.normal = "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[0m"
	}
	return n
}

func (n *narrator) begin(number int, title string) {
	fmt.Fprintf(n.out, "\n%s%2d  %s%s\n", n.bold, number, title, n.normal)
}

func (n *narrator) passed(what string, took time.Duration) {
	fmt.Fprintf(n.out, "  %s✓%s %s %s(%s)%s\n", n.green, n.normal, what, n.dim, duration(took), n.normal)
}

// failed prints an error: its first line, and the details below.
func (n *narrator) failed(err error) {
	first, rest, _ := strings.Cut(err.Error(), "\n")
	fmt.Fprintf(n.out, "  %s✗ %s%s\n", n.red, first, n.normal)
	if rest != "" {
		fmt.Fprintln(n.out, indent(rest, "    "))
	}
}

func (n *narrator) summary(text string) {
	fmt.Fprintf(n.out, "\n%s%s%s\n", n.green, text, n.normal)
}

// note adds a remark to a step.
func (n *narrator) note(format string, args ...any) {
	fmt.Fprintf(n.out, "%s%s%s\n", n.dim, indent(fmt.Sprintf(format, args...), "      "), n.normal)
}

// command shows a command and its output.
func (n *narrator) command(line, output string) {
	fmt.Fprintf(n.out, "      $ %s\n%s\n", line, indent(output, "      "))
}

// show shows a part of an object as YAML.
func (n *narrator) show(what string, part any) {
	n.note("%s:", what)
	fmt.Fprintln(n.out, indent(toYAML(part), "      "))
}

// progress returns a writer that shows the lines of a running program, except those that start with skip.
func (n *narrator) progress(skip string) io.WriteCloser {
	return &lines{line: func(line string) {
		if !strings.HasPrefix(line, skip) {
			n.note("%s", line)
		}
	}}
}

// lines passes on its input line by line, without empty lines.
type lines struct {
	line func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.rest = rest
		l.pass(line)
	}
}

func (l *lines) Close() error {
	l.pass(l.rest)
	l.rest = nil
	return nil
}

func (l *lines) pass(line []byte) {
	if len(bytes.TrimSpace(line)) > 0 {
		l.line(string(line))
	}
}

func indent(text, by string) string {
	text = strings.TrimRight(text, "\n")
	return by + strings.ReplaceAll(text, "\n", "\n"+by)
}

func duration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func toYAML(o any) string {
	text, err := yaml.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// unexpected is the error about a state that is not the expected one.
type unexpected struct {
	what      string
	want, saw string
	object    any // the whole object, if any
}

func (u *unexpected) Error() string {
	out := fmt.Sprintf("%s is not as expected\nexpected: %s\nsaw:      %s", u.what, u.want, u.saw)
	if u.object != nil {
		out += "\nit is:\n" + indent(toYAML(u.object), "  ")
	}
	return out
}

// expect returns an error unless saw equals want.
func expect(what, want, saw string) error {
	if want == saw {
		return nil
	}
	return &unexpected{what: what, want: want, saw: saw}
}
