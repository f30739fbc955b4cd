package node

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestThreadOfItsOwn occupies the main thread with one of the calls, as may happen at any time.
func TestThreadOfItsOwn(t *testing.T) {
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			called := false
			onThreadOfItsOwn(func() {
				called = true
				if unix.Gettid() == os.Getpid() {
					t.Error("it was called on the main thread, which would stay in the node")
				}
				runtime.Gosched()
			})
			if !called {
				t.Error("it was not called")
			}
		})
	}
	all.Wait()
}
