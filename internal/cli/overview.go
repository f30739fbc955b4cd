package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// status is the one word about an operator: the impact of what blocks it, or else its state.
type status string

// Statuses of operators without a known blocker.
const (
	unknown  status = "Unknown"  // some of its objects cannot be read
	outdated status = "Outdated" // it runs, and its update has not begun
	updating status = "Updating"
	upToDate status = "UpToDate"
)

// statuses are all, the worst first.
var statuses = []status{
	status(operator.Broken), status(operator.Failed), status(operator.Held), status(operator.Waiting), unknown, status(operator.NotInstalled),
	status(operator.Installing), outdated, updating, status(operator.Running), upToDate,
}

// isWell reports whether there is nothing to explain about an operator.
func (s status) isWell() bool { return s == upToDate || s == status(operator.Running) }

// words returns for example "up to date".
func (s status) words() string {
	return strings.ToLower(strings.TrimSpace(capitals.ReplaceAllString(string(s), " $0")))
}

var capitals = regexp.MustCompile(`[A-Z]`)

func statusOf(op operator.Operator) status {
	switch {
	case op.Undecided():
		return unknown
	case len(op.Blockers) > 0:
		return status(op.Blocked())
	case op.State != operator.Running:
		return status(op.State)
	case op.Update != "":
		return updating
	case op.UpToDate == metav1.ConditionTrue:
		return upToDate
	case op.UpToDate == metav1.ConditionFalse:
		return outdated
	}
	return status(operator.Running)
}

// worstFirst returns operators sorted by status.
func worstFirst(operators []operator.Operator) []operator.Operator {
	out := slices.Clone(operators)
	slices.SortStableFunc(out, func(a, b operator.Operator) int {
		return cmp.Compare(slices.Index(statuses, statusOf(a)), slices.Index(statuses, statusOf(b)))
	})
	return out
}

// overview returns the rows of the table of operators that fits into a terminal, with a header.
func overview(operators []operator.Operator, now time.Time) [][]string {
	out := [][]string{{"NAMESPACE", "NAME", "VERSION", "STATUS", "FOR", "WHY"}}
	for _, op := range operators {
		why, since := whyOf(op)
		out = append(out, []string{op.Namespace, op.Name, messages.Line(versions(op)), string(statusOf(op)), age(since, now), why})
	}
	return out
}

// whyOf returns the reason for an operator's status as one line, and since when it applies. Both may be empty.
func whyOf(op operator.Operator) (why string, since metav1.Time) {
	switch {
	case op.Undecided():
		return unreadOf(op), since
	case len(op.Blockers) > 0:
		first := op.Blockers[0]
		return ofMany(len(op.Blockers)) + messages.Line(gate.Gist(first.Cause, op.Update, first.By)), first.Since
	case len(op.WouldHold) > 0:
		first := op.WouldHold[0]
		return "The next update would be held: " + ofMany(len(op.WouldHold)) + messages.Line(first.Cause), since
	case op.Unfinished != nil:
		return messages.Line(op.Unfinished.Message), op.Unfinished.Since
	}
	return "", since
}

// ofMany introduces the first of several reasons. It precedes the reason because a terminal may cut that.
func ofMany(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("1 of %d: ", n)
}

// versions returns the version of an operator, and the next if it is known: "1.0.0 → 1.1.0".
func versions(op operator.Operator) string {
	if op.Update == "" {
		return none(op.Version)
	}
	next := op.Update
	if version := versionInName.FindStringSubmatch(op.Update); version != nil {
		next = version[1]
	}
	return strings.TrimSpace(op.Version + " → " + next)
}

// versionInName finds the version in the name of a ClusterServiceVersion, which by convention is <package>.v<version>.
var versionInName = regexp.MustCompile(`\.v(\d+\.\d+\.\d+.*)$`)

// printOverview prints the overview of operators. In a terminal, names are shortened until reasons have a third of its width.
func (o *options) printOverview(operators []operator.Operator, noHeaders bool, now time.Time) {
	rows, names := overview(operators, now), 2
	if !o.allNamespaces {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
		names = 1
	}
	if noHeaders {
		rows = rows[1:]
	}
	if o.width > 0 {
		last := len(rows[0]) - 1
		shortenNames(rows, names, int(o.width)-min(widths(rows)[last], int(o.width)/3))
	}
	for _, line := range aligned(rows) {
		o.printLine(line)
	}
}

// summarize prints how many operators have each status, and the command that explains the worst. It prints them as messages, which scripts
// that read the table do not get.
func (o *options) summarize(operators []operator.Operator) {
	if len(operators) == 0 {
		return
	}
	counts := map[status]int{}
	for _, op := range operators {
		counts[statusOf(op)]++
	}
	var parts []string
	for _, s := range statuses {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words()))
		}
	}
	text := strings.Join(parts, ", ")
	if worst := worstFirst(operators)[0]; !statusOf(worst).isWell() {
		text += ". To see why: kubectl operator-status why " + worst.Name + " -n " + worst.Namespace
	}
	fmt.Fprintln(o.ErrOut, messages.Line(text))
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
