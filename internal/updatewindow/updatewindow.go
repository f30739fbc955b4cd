// Package updatewindow decides when an UpgradeHold or UpgradeHoldPolicy of a user holds updates. It is pure.
package updatewindow

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // images have no time zones

	"github.com/robfig/cron/v3"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// State is whether updates are held at a time.
type State struct {
	Holds bool

	// Reason is that of Held while it does not hold.
	Reason string

	// Changes is when Holds changes, unless the spec does before. It is zero if no time changes it.
	Changes time.Time

	// Problem is why a window never opens, or empty.
	Problem string
}

// At returns the state at a time.
func At(spec holdv1alpha1.HoldTerms, now time.Time) State {
	if spec.Until != nil && !spec.Until.After(now) {
		return State{Reason: holdv1alpha1.ReasonExpired}
	}
	if spec.From != nil && spec.From.After(now) {
		begun := spec
		begun.From = nil
		return State{Reason: holdv1alpha1.ReasonNotStarted, Changes: spec.From.Time, Problem: At(begun, spec.From.Time).Problem}
	}
	out := State{Holds: true}
	if spec.Until != nil {
		out.Changes = spec.Until.Time
	}
	for _, w := range spec.UpdateWindows {
		opens, closes, err := next(w, now)
		switch {
		case err != nil:
			out.Problem = fmt.Sprintf("updateWindows has %q, which never opens: %v", w.Schedule, err)
		case !closes.IsZero() && (out.Holds || closes.After(out.Changes)):
			out = State{Reason: holdv1alpha1.ReasonUpdateWindow, Changes: closes, Problem: out.Problem}
		case out.Holds && (out.Changes.IsZero() || opens.Before(out.Changes)):
			out.Changes = opens
		}
	}
	return out
}

// WhyNot returns why updates are not held, until when, and the Problem.
func (s State) WhyNot() string {
	out := "spec.until has passed"
	switch s.Reason {
	case holdv1alpha1.ReasonNotStarted:
		out = "It begins at " + s.Changes.UTC().Format(time.RFC3339)
	case holdv1alpha1.ReasonUpdateWindow:
		out = "An update window is open until " + s.Changes.UTC().Format(time.RFC3339)
	}
	if s.Problem != "" {
		out += ". " + s.Problem
	}
	return out
}

// parser reads the five fields of a schedule, as that of a CronJob.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// mostStarts is more than the starts of a schedule within the duration of a window: one a minute, also on a day of 25 hours.
const mostStarts = 2000

// next returns when a window opens next or, if it is open, when it closes.
func next(w holdv1alpha1.UpdateWindow, now time.Time) (opens, closes time.Time, err error) {
	switch {
	case strings.Contains(w.Schedule, "TZ="):
		return opens, closes, errors.New("the time zone of a schedule is in timeZone")
	case strings.EqualFold(w.TimeZone, "Local"):
		return opens, closes, errors.New("the local time zone is that of any machine")
	}
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		return opens, closes, err
	}
	schedule, err := parser.Parse(w.Schedule)
	if err != nil {
		return opens, closes, err
	}
	start := schedule.Next(now.Add(-w.Duration.Duration).In(zone))
	for range mostStarts {
		if start.IsZero() || start.After(now) {
			break
		}
		closes = start.Add(w.Duration.Duration)
		start = schedule.Next(start)
	}
	if closes.IsZero() && start.IsZero() {
		return opens, closes, errors.New("no such time in the next years")
	}
	return start, closes, nil
}
