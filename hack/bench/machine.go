package main

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine describes the environment of the figures. Reports from different machines cannot be compared.
type machine struct {
	Date   time.Time `json:"date"`
	Commit string    `json:"commit,omitempty"` // ends in -dirty with uncommitted changes
	Go     string    `json:"go"`
	Cores  int       `json:"cores"`
	CPU    string    `json:"cpu,omitempty"`
}

func thisMachine(ctx context.Context, root string, outcomes map[benchmark]outcome) machine {
	out := machine{Date: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx, root), Go: runtime.Version(), Cores: runtime.NumCPU()}
	for _, o := range outcomes {
		if o.cpu != "" {
			out.CPU = o.cpu
		}
	}
	return out
}

// commit returns the current commit, or "" without git or a checkout.
func commit(ctx context.Context, root string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
	cmd.Dir = root
	text, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
