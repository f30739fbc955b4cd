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

// status is the one word about an operator: the worst impact of its blockers, or else its state.
type status string

// Statuses of operators without a known blocker.
const (
	unknown  status = "Unknown"  // some of its objects cannot be read
	outdated status = "Outdated" // it runs, and its update has not begun
	updating status = "Updating"
	upToDate status = "UpToDate"
)

// allClear is the result of a check of an operator that nothing blocks.
const allClear status = "Clear"

// statuses are all, the worst first.
var statuses = []status{
	status(operator.Broken), status(operator.Failed), status(operator.Held), status(operator.Waiting), unknown, status(operator.NotInstalled),
	status(operator.Stopped), status(operator.Installing), outdated, updating, status(operator.Running), upToDate, allClear,
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
	return sortedBy(operators, statusOf)
}

// sortedBy returns operators sorted by a status, the worst first.
func sortedBy(operators []operator.Operator, of func(operator.Operator) status) []operator.Operator {
	out := slices.Clone(operators)
	slices.SortStableFunc(out, func(a, b operator.Operator) int {
		return cmp.Compare(slices.Index(statuses, of(a)), slices.Index(statuses, of(b)))
	})
	return out
}

// overview returns the rows of the table of operators that fits into a terminal, with a header.
func overview(operators []operator.Operator, now time.Time) [][]string {
	out := [][]string{{"NAMESPACE", "NAME", "VERSION", "STATUS", "FOR", "WHY"}}
	for _, op := range operators {
		why, since := whyOf(op)
		out = append(out, []string{op.Namespace, op.Name, versions(op), string(statusOf(op)), age(since, now), why})
	}
	return out
}

// whyOf returns the reason for an operator's status, and since when it applies. Both may be empty.
func whyOf(op operator.Operator) (why string, since metav1.Time) {
	switch {
	case op.Undecided():
		return unreadOf(op), since
	case len(op.Blockers) > 0:
		first := op.Blockers[0]
		return ofMany(len(op.Blockers)) + gate.Gist(first.Cause, op.Update, first.By), first.Since
	case len(op.WouldHold) > 0:
		first := op.WouldHold[0]
		return "The next update would be held: " + ofMany(len(op.WouldHold)) + first.Cause, since
	case len(op.Notices) > 0:
		first := op.Notices[0]
		return "Important: " + ofMany(len(op.Notices)) + first.Cause, first.Since
	case op.Unfinished != nil:
		return op.Unfinished.Message, op.Unfinished.Since
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

// summarize prints how many operators have each status, and the command that explains the worst. It prints them as messages, which scripts
// that read the table do not get.
func (o *options) summarize(operators []operator.Operator) {
	if len(operators) == 0 {
		return
	}
	text := counted(operators, statusOf)
	if worst := worstFirst(operators)[0]; !statusOf(worst).isWell() {
		text += ". To see why: " + o.explaining(worst)
	}
	fmt.Fprintln(o.ErrOut, messages.Line(text))
}

// explaining returns the command that explains an operator of the cluster or archives that were read.
func (o *options) explaining(op operator.Operator) string {
	return o.here(operator.Command("kubectl operator-status why %s -n %s", op.Name, op.Namespace))
}

// here returns a command for the cluster that was read, or for the archives if it reads only, by the flags of this command.
func (o *options) here(command string) string {
	out := []string{command}
	if strings.HasPrefix(command, "kubectl operator-status why ") || strings.HasPrefix(command, "kubectl operator-status get ") {
		for _, file := range o.from {
			out = append(out, operator.Command("--from=%s", file))
		}
	}
	for _, flag := range []struct {
		text  string
		value *string
	}{
		{"--kubeconfig=%s", o.flags.KubeConfig}, {"--context=%s", o.flags.Context}, {"--cluster=%s", o.flags.ClusterName},
		{"--user=%s", o.flags.AuthInfoName}, {"--server=%s", o.flags.APIServer}, {"--as=%s", o.flags.Impersonate},
	} {
		if flag.value != nil && *flag.value != "" {
			out = append(out, operator.Command(flag.text, *flag.value))
		}
	}
	if o.flags.ImpersonateGroup != nil {
		for _, group := range *o.flags.ImpersonateGroup {
			out = append(out, operator.Command("--as-group=%s", group))
		}
	}
	return strings.Join(out, " ")
}

// counted returns how many operators have each status, for example "1 broken, 2 up to date".
func counted(operators []operator.Operator, of func(operator.Operator) status) string {
	counts := map[status]int{}
	for _, op := range operators {
		counts[of(op)]++
	}
	var parts []string
	for _, s := range statuses {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words()))
		}
	}
	return strings.Join(parts, ", ")
}
