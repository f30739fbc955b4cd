//go:build !linux

package sandbox

import (
	"errors"
	"net"
	"os"
	"os/exec"
)

func confine() error { return errors.ErrUnsupported }

func limit(int64, int64) error { return nil }

func endWithParent(*exec.Cmd) {}

func killFirst(int) {}

func lowerPriority(int) {}

func peakMemory(*os.ProcessState) int64 { return 0 }

func resident(int) int64 { return 0 }

func controlPair() (*net.UnixConn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

func controlOf(*os.File) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }

func streamPair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

func reply(*net.UnixConn, dialed, *os.File) error { return errors.ErrUnsupported }

func receive(*net.UnixConn) (dialed, *os.File, error) { return dialed{}, nil, errors.ErrUnsupported }
