package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stampOf returns a hash of everything that a binary is built from.
func stampOf(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d\n", len(part))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// stampPath returns the path of a binary's stamp: a hidden file beside it, so the folder lists only binaries.
func stampPath(binary string) string {
	return filepath.Join(filepath.Dir(binary), "."+filepath.Base(binary)+".stamp")
}

// stampLine returns the content of a stamp file. The size detects a binary that was truncated or replaced by hand.
func stampLine(stamp string, size int64) string {
	return fmt.Sprintf("%s %d\n", stamp, size)
}

// stamped reports whether binary exists, is complete and was built from the inputs that stamp identifies.
func stamped(binary, stamp string) bool {
	info, err := os.Stat(binary)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o100 == 0 {
		return false
	}
	line, err := os.ReadFile(stampPath(binary))
	return err == nil && string(line) == stampLine(stamp, info.Size())
}

// install moves a finished binary into place. It removes the old stamp first and writes the new one last, so the
// binary is stale if this process is killed in between.
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

// writeWhole writes a file atomically: a reader sees the old or the new content.
func writeWhole(path string, content []byte, mode os.FileMode) error {
	half := path + ".half"
	if err := os.WriteFile(half, content, mode); err != nil {
		_ = os.Remove(half)
		return err
	}
	return os.Rename(half, path)
}

// tail returns the last lines of a log, with long lines truncated.
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
