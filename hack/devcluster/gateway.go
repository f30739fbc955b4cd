package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// gateway makes the API server and the registry, which listen on loopback only, available to the node and its pods. It
// accepts connections only from the node's link.
var gateway = component{
	name:   "gateway",
	binary: self,
	args: func(c *cluster) []string {
		return []string{"gateway", c.network().Host(), node.Link(c.dir.id()),
			strconv.Itoa(c.state.Ports[apiServer.name]), strconv.Itoa(c.state.Ports[registryName])}
	},
	ready: func(_ context.Context, c *cluster) error {
		if !strings.Contains(tail(c.dir.log("gateway"), 1), gatewayReady) {
			return errors.New("it does not listen yet")
		}
		return nil
	},
}

// gatewayReady is logged once all ports are served. This machine cannot connect to them, and so not check them.
const gatewayReady = "forwarding"

// gatewayCommand is the program of gateway. Users do not call it.
func gatewayCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "gateway IP INTERFACE PORT...",
		Hidden: true,
		Args:   cobra.MinimumNArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, port := range args[2:] {
				if err := forward(cmd.Context(), args[0], args[1], port); err != nil {
					return err
				}
			}
			fmt.Fprintln(cmd.OutOrStdout(), gatewayReady, strings.Join(args[2:], " "))
			<-cmd.Context().Done()
			return nil
		},
	}
}

// forward forwards the connections to a port that arrive through a network interface to the same port on loopback.
func forward(ctx context.Context, ip, link, port string) error {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var bound error
		err := raw.Control(func(fd uintptr) { bound = unix.BindToDevice(int(fd), link) })
		return errors.Join(err, bound)
	}}
	listener, err := config.Listen(ctx, "tcp4", net.JoinHostPort(ip, port))
	if err != nil {
		return fmt.Errorf("listening for the node: %w", err)
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // too many open files, for example
				_ = pause(ctx, 50*time.Millisecond)
				continue
			}
			go relay(connection, net.JoinHostPort(loopback, port))
		}
	}()
	return nil
}

// relay copies a connection to and from an address until both directions have ended.
func relay(from net.Conn, address string) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp4", address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
	_ = from.(*net.TCPConn).CloseWrite()
	<-done
}
