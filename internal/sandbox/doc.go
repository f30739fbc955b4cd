// Package sandbox runs code that parses untrusted input in a child process that can open neither files nor connections.
//
// The child is this program once more, in a mode of its own that calls Enter first. From then on a seccomp filter rejects every system
// call that opens, names or signals anything: what the child may work with is handed to it. That is its requests and its answers, a
// scratch file without a name, and connections, each of which it has to ask its parent for. What it uses of memory is limited.
//
// It needs Linux. On a kernel without seccomp the child reports that it is not confined; the limits of memory hold all the same.
package sandbox

import "fmt"

// Address is where a child wants to connect to.
type Address struct {
	// Host is <host>:<port>.
	Host string `json:"host"`

	// Plaintext is whether to connect without TLS. TLS ends in the parent.
	Plaintext bool `json:"plaintext,omitempty"`

	// Protocols are those that the child can speak over TLS, as ALPN names them.
	Protocols []string `json:"protocols,omitempty"`
}

// DialError is the reason an Address is not connected to.
type DialError struct {
	// Code is for programs; empty for none.
	Code string `json:"code,omitempty"`

	Message string `json:"message"`
}

// Error implements error.
func (e *DialError) Error() string { return e.Message }

// dial is a child's request for a connection.
type dial struct {
	ID      int     `json:"id"`
	Address Address `json:"address"`
}

// dialed is the parent's reply. Where Err is nil, the connection comes with it as a file descriptor.
type dialed struct {
	ID  int        `json:"id"`
	Err *DialError `json:"err,omitempty"`
}

// hello is the first message of a child.
type hello struct {
	// Unconfined is the reason that the child is not confined; empty if it is.
	Unconfined string `json:"unconfined,omitempty"`
}

// What a child finds open besides its standard input, for requests, and its standard output, for answers.
const (
	controlFile = 3 // the socket for dial and dialed
	scratchFile = 4
)

// largestPacket limits the bytes of a dial and of a dialed.
const largestPacket = 8 << 10

// MemoryError is returned where a child was killed because it used more than its Options.Memory.
type MemoryError struct {
	// Limit in bytes.
	Limit int64
}

// Error implements error.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("more than the limit of %d MiB of memory would be needed", e.Limit>>20)
}
