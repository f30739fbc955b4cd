package node

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDedicatedThread occupies the main thread with one of the calls, as may happen at any time.
func TestDedicatedThread(t *testing.T) {
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			called := false
			onDedicatedThread(func() {
				called = true
				if unix.Gettid() == os.Getpid() {
					t.Error("the function was called on the main thread, which would stay in the node's namespaces")
				}
				runtime.Gosched()
			})
			if !called {
				t.Error("the function was not called")
			}
		})
	}
	all.Wait()
}
