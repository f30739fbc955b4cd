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

// The environment of a child.
const (
	envMemory  = "SANDBOX_MEMORY"
	envScratch = "SANDBOX_SCRATCH"
)

// Child is what a child has to work with.
type Child struct {
	// Scratch is an empty file, or what the parent wrote to it.
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

// Enter gives up what the process may do but for what a Child has. Call it first of all.
func Enter() (*Child, error) {
	memory, err := strconv.ParseInt(os.Getenv(envMemory), 10, 64)
	if err != nil {
		return nil, errors.New("this mode is for processes that the manager starts by itself")
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

// Receive waits for a request. It returns io.EOF when there will be none.
func (c *Child) Receive(request any) error { return c.requests.Decode(request) }

// Send answers.
func (c *Child) Send(answer any) error { return c.answers.Encode(answer) }

// Dial asks the parent for a connection.
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
		return nil, fmt.Errorf("asking for a connection to %s: %w", to.Host, err)
	}
	select {
	case got := <-answer:
		return got.conn, got.err
	case <-ctx.Done():
		go func() { // nobody else closes what comes yet
			if got := <-answer; got.conn != nil {
				_ = got.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// receiveConnections passes the parent's replies to those that wait for them. The process ends with its parent.
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
			_ = file.Close() // the connection has its own
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
