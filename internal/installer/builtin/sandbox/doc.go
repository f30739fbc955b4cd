// Package sandbox runs code that parses untrusted input in a child process that can open neither files nor connections.
//
// The child is this program, started in a mode that calls Enter first. From then on, a seccomp filter rejects every
// system call that opens, names or signals anything. The child can only use resources from its parent: requests and
// answers, a scratch file without a name, and connections, each of which it has to request. Its memory is limited.
//
// The package needs Linux. On a kernel without seccomp, the child reports that it is not confined; the memory limits
// still apply.
package sandbox

import "fmt"

// Address is the target of a connection that a child requests.
type Address struct {
	// Host is <host>:<port>.
	Host string `json:"host"`

	// Plaintext is true to connect without TLS. Otherwise, the parent terminates TLS.
	Plaintext bool `json:"plaintext,omitempty"`

	// Protocols are the ALPN names of the protocols that the child supports over TLS.
	Protocols []string `json:"protocols,omitempty"`
}

// DialError is the reason why a connection was not opened.
type DialError struct {
	// Code is a machine-readable reason, or empty.
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

// dialed is the parent's reply. If Err is nil, it carries the file descriptor of the connection.
type dialed struct {
	ID  int        `json:"id"`
	Err *DialError `json:"err,omitempty"`
}

// hello is the first message of a child.
type hello struct {
	// Unconfined is the reason why the child is not confined, or empty.
	Unconfined string `json:"unconfined,omitempty"`
}

// File descriptors of a child, in addition to standard input for requests and standard output for answers.
const (
	controlFile = 3 // the socket for dial and dialed
	scratchFile = 4
)

// maxPacket limits the size of a dial and a dialed, in bytes.
const maxPacket = 8 << 10

// MemoryError is returned if a child ended because it exceeded its Options.Memory.
type MemoryError struct {
	// Limit in bytes.
	Limit int64
}

// Error implements error.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("more than the limit of %d MiB of memory would be needed", e.Limit>>20)
}
