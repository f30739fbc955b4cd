package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile takes the exclusive lock of file, which ends when the file is closed or this process dies, however it dies.
// It calls waiting once if someone else has it. It asks again and again, because a blocking flock cannot be interrupted.
func lockFile(ctx context.Context, file *os.File, waiting func()) error {
	for first := true; ; first = false {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if first {
			waiting()
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause lets a little time pass between two looks at a condition.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// seconds prints a duration as a person reads it.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
