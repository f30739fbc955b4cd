package main

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine is what figures depend on beside the code: no two reports compare without it.
type machine struct {
	Date   time.Time `json:"date"`
	Commit string    `json:"commit,omitempty"` // ends in -dirty where the checkout has changes that are in no commit
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

// commit is empty where there is no git, or the project was got without it.
func commit(ctx context.Context, root string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
	cmd.Dir = root
	text, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
