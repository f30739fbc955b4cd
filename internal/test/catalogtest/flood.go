package catalogtest

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

// ServeFlood serves HTTP/2 at a free port. After its settings, it sends PINGs as fast as they are read. It ends with the
// test.
func ServeFlood(t testing.TB) (at string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(t.Context(), func() { _ = listener.Close() }) // fails if it is closed already
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			go flood(conn)
		}
	}()
	return listener.Addr().String()
}

// flood returns when the connection is closed.
func flood(conn net.Conn) {
	go func() { _, _ = io.Copy(io.Discard, conn) }() // the acknowledgements
	const together = 64 << 10                        // bytes per write, to send at little cost
	out := bufio.NewWriterSize(conn, together)
	frames := http2.NewFramer(out, nil)
	if frames.WriteSettings() != nil || frames.WriteSettingsAck() != nil || out.Flush() != nil {
		return
	}
	for frames.WritePing(false, [8]byte{}) == nil { // the condition does the work
	}
}
