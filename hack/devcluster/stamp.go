package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stampOf identifies what a binary is made from.
func stampOf(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d\n", len(part))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// stampPath is where the stamp of a binary lies: hidden beside it, so that the folder lists binaries only.
func stampPath(binary string) string {
	return filepath.Join(filepath.Dir(binary), "."+filepath.Base(binary)+".stamp")
}

// stampLine ties the stamp to the file it was written for: a binary cut short or put there by hand does not match.
func stampLine(stamp string, size int64) string {
	return fmt.Sprintf("%s %d\n", stamp, size)
}

// stamped says whether binary is there, whole and made from what stamp says.
func stamped(binary, stamp string) bool {
	info, err := os.Stat(binary)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o100 == 0 {
		return false
	}
	line, err := os.ReadFile(stampPath(binary))
	return err == nil && string(line) == stampLine(stamp, info.Size())
}

// install moves a finished binary into place. The old stamp goes first and the new one comes last: whenever we are
// killed in between, the binary counts as stale.
func install(half, target, stamp string) error {
	info, err := os.Stat(half)
	if err != nil {
		return err
	}
	if err := os.Remove(stampPath(target)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Rename(half, target); err != nil {
		return err
	}
	return writeWhole(stampPath(target), []byte(stampLine(stamp, info.Size())), 0o644)
}

// writeWhole writes a file so that a reader sees the old content or the new, never a part.
func writeWhole(path string, content []byte, mode os.FileMode) error {
	half := path + ".half"
	if err := os.WriteFile(half, content, mode); err != nil {
		_ = os.Remove(half)
		return err
	}
	return os.Rename(half, path)
}

// tail is the last lines of a log, cut to a readable width.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "  (no log: " + err.Error() + ")"
	}
	return lastLines(content, lines)
}

func lastLines(content []byte, lines int) string {
	const most, width = 16 << 10, 300
	if len(content) > most {
		content = content[len(content)-most:]
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	for i, line := range all {
		if len(line) > width {
			line = line[:width] + "…"
		}
		all[i] = "  " + line
	}
	return strings.Join(all, "\n")
}
