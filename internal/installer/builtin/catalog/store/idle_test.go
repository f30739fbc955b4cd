package store

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleConn verifies that a registry that sends all the time is read slowly, and that closing the connection ends a
// read that waits.
func TestIdleConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const observed = 10 * time.Second
		ours, theirs := net.Pipe()
		conn := newIdleConn(ours)
		sent := 0
		go func() {
			for flood := make([]byte, 1000); ; {
				n, err := theirs.Write(flood)
				sent += n
				if err != nil {
					return
				}
			}
		}()
		ended := make(chan error)
		go func() {
			for buffer := make([]byte, 32<<10); ; {
				if _, err := conn.Read(buffer); err != nil {
					ended <- err
					return
				}
			}
		}()
		time.Sleep(observed)
		synctest.Wait()
		if most := idleBurst + int(observed.Seconds()+1)*idleRate; sent < idleBurst || sent > most {
			t.Errorf("%d bytes were read in %s, want between %d and %d", sent, observed, idleBurst, most)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Error("reading a closed connection succeeds")
		}
		_ = theirs.Close()
	})
}
