package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
)

// maxConnections limits the number of simultaneous connections of a child.
const maxConnections = 16

// connections are the open connections of a child.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// add adds a connection and returns the function that closes it.
func (c *connections) add(conn net.Conn) (closeIt func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]struct{}{}
	}
	c.open[conn] = struct{}{}
	return func() {
		_ = conn.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, conn)
	}
}

func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close()
	}
}

// serveDials serves the child's requests for connections until the child ends or ctx is done.
func serveDials(ctx context.Context, control *net.UnixConn, connect Dial, all *connections) {
	ctx, stop := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = control.Close() })()
	slots := make(chan struct{}, maxConnections)
	packet := make([]byte, maxPacket)
	for {
		n, err := control.Read(packet)
		if err != nil || n == 0 {
			_ = control.Close() // the child has ended
			return
		}
		var asked dial
		if json.Unmarshal(packet[:n], &asked) != nil {
			continue
		}
		select {
		case slots <- struct{}{}: // no further request is read until a slot is free
		case <-ctx.Done():
			return
		}
		open.Go(func() {
			defer func() { <-slots }()
			serveDial(ctx, control, asked, connect, all)
		})
	}
}

// serveDial connects a child to one address, and copies data in both directions until either side ends.
func serveDial(ctx context.Context, control *net.UnixConn, asked dial, connect Dial, all *connections) {
	conn, err := connect(ctx, asked.Address)
	if err != nil {
		dialErr, ok := errors.AsType[*DialError](err)
		if !ok {
			dialErr = &DialError{Message: err.Error()}
		}
		_ = reply(control, dialed{ID: asked.ID, Err: dialErr}, nil) // fails if the child has ended
		return
	}
	defer func() { _ = conn.Close() }()
	ours, theirs, err := streamPair()
	if err != nil {
		_ = reply(control, dialed{ID: asked.ID, Err: &DialError{Message: err.Error()}}, nil)
		return
	}
	defer all.add(ours)()
	err = reply(control, dialed{ID: asked.ID}, theirs)
	_ = theirs.Close() // the child has a duplicate
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _, _ = conn.Close(), ours.Close() })()
	var copied sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // an error ends the connection too
		_, _ = conn.Close(), ours.Close()
	}
	copied.Go(func() { pass(conn, ours) })
	pass(ours, conn)
	copied.Wait()
}
