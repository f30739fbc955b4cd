package cli

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/test/golden"
)

// TestPicture verifies that the recording in README.md has the output of the command line in a terminal.
func TestPicture(t *testing.T) {
	const columns = 120
	operators := ofOpenShift()
	held := &operators[0]
	held.Channel, held.Catalog, held.Installed = "release-2.12", "openshift-marketplace/redhat-operators", "advanced-cluster-management.v2.11.2"
	held.Blockers[0].Reason = "ProbeNotUpgradeable"
	held.Blockers[0].Steps = []operator.Step{
		{To: "To see the blocking resource", Command: "kubectl get multiclusterhubs.operator.open-cluster-management.io -n open-cluster-management multiclusterhub -o yaml"},
	}
	var frames []frame
	for _, command := range []struct {
		args  string
		print func(*options) error
	}{
		{"get -A", func(o *options) error {
			o.allNamespaces = true
			return o.printOperators(flags(t, nil), operators, now)
		}},
		{"why advanced-cluster-management -n open-cluster-management", explanation(*held)},
	} {
		var out bytes.Buffer
		o := &options{IOStreams: genericiooptions.IOStreams{Out: safe(&out), ErrOut: safe(&out)}, width: columns, terminal: &out}
		o.flags = genericclioptions.NewConfigFlags(true)
		if err := command.print(o); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame{"$ kubectl operator-status " + command.args, strings.TrimSpace(out.String())})
	}
	got, file := recording(t, columns, frames), filepath.Join("..", "..", "docs", "pictures", "terminal.svg")
	if os.Getenv(golden.Update) != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s shows something else (-want +got); %s=1 writes it anew\n%s", file, golden.Update, diff)
	}
}

// frame is a command with its output, which may have colors.
type frame struct{ command, output string }

// Sizes of a recording, in pixels.
const (
	columnWidth = 8.4
	lineHeight  = 19
	margin      = 16
)

// recording returns an animation in SVG that shows one frame after the other, in the colors of GitHub's dark theme.
func recording(t *testing.T, columns int, frames []frame) string {
	t.Helper()
	var body strings.Builder
	y, seconds := margin, 0.5
	show := func(text string) {
		fmt.Fprintf(&body, "<g style=\"animation-delay:%.1fs\">\n", seconds)
		for line := range strings.SplitSeq(text, "\n") {
			y += lineHeight
			if line != "" {
				fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\">%s</text>\n", margin, y, spans(t, line))
			}
		}
		body.WriteString("</g>\n")
	}
	for i, f := range frames {
		if i > 0 {
			y += lineHeight
		}
		for text := range strings.SplitSeq(f.command+"\x00"+f.output, "\x00") {
			show(text)
			seconds += 1.5
		}
		seconds += 2
	}
	width, height := int(float64(columns)*columnWidth)+2*margin, y+margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>%s</title>
<style>
text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre }
g { animation: appear 1ms both }
@keyframes appear { from { opacity: 0 } }
@media (prefers-reduced-motion: reduce) { g { animation: none } }
.c31 { fill: #ff7b72 } .c32 { fill: #7ee787 } .c33 { fill: #e3b341 } .c36 { fill: #76e3ea }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
%s</svg>
`, width, height, width, height, "kubectl operator-status get -A, and why for the operator whose update is held", body.String())
}

// spans returns a line of a terminal in SVG.
func spans(t *testing.T, line string) string {
	t.Helper()
	var out strings.Builder
	for i, part := range strings.Split(line, "\x1b[") {
		class := ""
		if i > 0 {
			class, part, _ = strings.Cut(part, "m")
		}
		if !utf8.ValidString(part) {
			t.Fatalf("%q is not valid", line)
		}
		if part == "" {
			continue
		}
		var text bytes.Buffer
		if err := xml.EscapeText(&text, []byte(part)); err != nil {
			t.Fatal(err)
		}
		if class == "" || class == "0" {
			out.Write(text.Bytes())
		} else {
			fmt.Fprintf(&out, `<tspan class="c%s">%s</tspan>`, class, text.String())
		}
	}
	return out.String()
}
