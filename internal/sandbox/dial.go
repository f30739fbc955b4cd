package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
)

// mostConnections limits the number of simultaneous connections of a child.
const mostConnections = 16

// serveDials serves the child's requests for connections until the child ends or ctx is done.
func serveDials(ctx context.Context, control *net.UnixConn, connect Dial) {
	ctx, stop := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = control.Close() })()
	slots := make(chan struct{}, mostConnections)
	packet := make([]byte, largestPacket)
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
			serveDial(ctx, control, asked, connect)
		})
	}
}

// serveDial connects a child to one address, and copies data in both directions until either side ends.
func serveDial(ctx context.Context, control *net.UnixConn, asked dial, connect Dial) {
	conn, err := connect(ctx, asked.Address)
	if err != nil {
		refusal, ok := errors.AsType[*DialError](err)
		if !ok {
			refusal = &DialError{Message: err.Error()}
		}
		_ = reply(control, dialed{ID: asked.ID, Err: refusal}, nil) // fails if the child has ended
		return
	}
	defer func() { _ = conn.Close() }()
	ours, theirs, err := streamPair()
	if err != nil {
		_ = reply(control, dialed{ID: asked.ID, Err: &DialError{Message: err.Error()}}, nil)
		return
	}
	defer func() { _ = ours.Close() }()
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
