package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

const loopback = "127.0.0.1"

// freePorts returns n free ports. All are held open until the last is found, so they differ.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp4", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// checkFree returns an error if a port is in use.
func checkFree(port int) error {
	listener, err := net.Listen("tcp4", address(port))
	if err != nil {
		return fmt.Errorf("port %d is not available (choose another with --port, or leave it out): %w", port, err)
	}
	return listener.Close()
}

func free(port int) bool { return checkFree(port) == nil }

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// lostPort reports whether a component's log states that its port is taken.
func lostPort(logTail string) bool {
	return strings.Contains(logTail, "address already in use")
}
