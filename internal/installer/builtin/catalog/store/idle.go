package store

import (
	"context"
	"net"

	"golang.org/x/time/rate"
)

const (
	// idleBurst and idleRate limit the data read from a connection without requests, in bytes and bytes per second. A
	// registry only sends its settings, and a PING now and then, on it.
	idleBurst = 16 << 10
	idleRate  = 1 << 10
)

// idleConn is a connection that is read slowly: a registry that sends more than idleRate has to wait. Otherwise it could
// have a CPU answer its PINGs.
type idleConn struct {
	net.Conn
	limit *rate.Limiter

	// closed ends when the connection is closed.
	closed context.Context
	close  context.CancelFunc
}

func newIdleConn(conn net.Conn) *idleConn {
	closed, cancel := context.WithCancel(context.Background())
	return &idleConn{Conn: conn, limit: rate.NewLimiter(idleRate, idleBurst), closed: closed, close: cancel}
}

func (c *idleConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), idleBurst)])
	if wait := c.limit.WaitN(c.closed, n); wait != nil && err == nil {
		err = net.ErrClosed
	}
	return n, err
}

func (c *idleConn) Close() error {
	c.close()
	return c.Conn.Close()
}
