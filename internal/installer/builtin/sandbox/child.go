package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
)

// Environment variables of a child.
const (
	envMemory  = "SANDBOX_MEMORY"
	envScratch = "SANDBOX_SCRATCH"
)

// Child is the child's side of the sandbox.
type Child struct {
	// Scratch is the scratch file. It is empty unless the parent wrote to it.
	Scratch *os.File

	requests *json.Decoder
	answers  *json.Encoder
	control  *net.UnixConn

	mu      sync.Mutex
	last    int
	waiting map[int]chan connected
}

type connected struct {
	conn net.Conn
	err  error
}

// Enter confines this process to the operations of a Child, and limits its resources. It must be called before anything
// else.
func Enter() (*Child, error) {
	memory, err := strconv.ParseInt(os.Getenv(envMemory), 10, 64)
	if err != nil {
		return nil, errors.New("this mode is only for processes that the manager starts")
	}
	scratchSize, err := strconv.ParseInt(os.Getenv(envScratch), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", envScratch, err)
	}
	control, err := controlOf(os.NewFile(controlFile, "control"))
	if err != nil {
		return nil, err
	}
	c := &Child{
		Scratch:  os.NewFile(scratchFile, "scratch"),
		requests: json.NewDecoder(os.Stdin), answers: json.NewEncoder(os.Stdout),
		control: control, waiting: map[int]chan connected{},
	}
	if err := limit(memory, scratchSize); err != nil {
		return nil, err
	}
	var first hello
	if err := confine(); err != nil {
		first.Unconfined = err.Error()
	}
	go c.receiveConnections()
	return c, c.answers.Encode(first)
}

// Receive blocks until a request arrives. It returns io.EOF after the last one.
func (c *Child) Receive(request any) error { return c.requests.Decode(request) }

// Send sends an answer to the parent.
func (c *Child) Send(answer any) error { return c.answers.Encode(answer) }

// Dial requests a connection from the parent.
func (c *Child) Dial(ctx context.Context, to Address) (net.Conn, error) {
	answer := make(chan connected, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.waiting[id] = answer
	c.mu.Unlock()
	packet, err := json.Marshal(dial{ID: id, Address: to})
	if err == nil {
		_, err = c.control.Write(packet)
	}
	if err != nil {
		return nil, fmt.Errorf("requesting a connection to %s: %w", to.Host, err)
	}
	select {
	case got := <-answer:
		return got.conn, got.err
	case <-ctx.Done():
		go func() { // no other goroutine closes a late connection
			if got := <-answer; got.conn != nil {
				_ = got.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// receiveConnections passes the parent's replies to the waiting Dial calls. It exits the process when the parent has
// ended.
func (c *Child) receiveConnections() {
	for {
		reply, file, err := receive(c.control)
		if errors.Is(err, io.EOF) {
			os.Exit(1)
		}
		got := connected{err: err}
		switch {
		case err != nil:
		case reply.Err != nil:
			got.err = reply.Err
		case file != nil:
			got.conn, got.err = net.FileConn(file)
		}
		if file != nil {
			_ = file.Close() // the connection has a duplicate
		}
		c.mu.Lock()
		waiting := c.waiting[reply.ID]
		delete(c.waiting, reply.ID)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- got
		}
	}
}
