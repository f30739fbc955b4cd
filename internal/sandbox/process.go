package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options describe a child.
type Options struct {
	// Args are the arguments by which this program knows that it is to call Enter.
	Args []string

	// Memory limits the bytes that the child may have resident.
	Memory int64

	// Dir is the folder of the scratch file, and Scratch limits its bytes.
	Dir     string
	Scratch int64
}

// Dial connects to what a child asks for. It should return a DialError for an address that is not allowed.
type Dial func(ctx context.Context, to Address) (net.Conn, error)

// Process is a child as its parent sees it. Its methods other than Kill must not be called concurrently.
type Process struct {
	// Scratch is the child's scratch file.
	Scratch *os.File

	// Unconfined is the reason that the child is not confined; empty if it is.
	Unconfined string

	command *exec.Cmd
	memory  int64
	in      io.Closer
	request *json.Encoder
	out     io.ReadCloser
	answers *json.Decoder
	left    int64 // of the bytes that the answers may have
	errors  *tail

	dial   atomic.Pointer[Dial]
	killed atomic.Pointer[error]
	ended  chan struct{} // closed when the child has ended
	over   context.CancelFunc
	work   sync.WaitGroup
}

// startTimeout is how long a child may take until it has given up its rights.
const startTimeout = time.Minute

// Start starts a child. Call Close when it is not needed any more.
func Start(o Options) (*Process, error) {
	p := &Process{memory: o.Memory, errors: &tail{}, ended: make(chan struct{})}
	control, err := p.start(o)
	if err != nil {
		return nil, fmt.Errorf("starting a process of its own for what is not trusted: %w", err)
	}
	ctx, over := context.WithCancel(context.Background())
	p.over = over
	p.work.Go(func() { serveDials(ctx, control, p.connect) })
	go func() {
		_ = p.command.Wait() // how it ended is of interest only where an answer is missing
		close(p.ended)
	}()
	p.Expect(largestPacket)
	late := time.AfterFunc(startTimeout, func() { p.KillFor(fmt.Errorf("it did not begin within %s", startTimeout)) })
	defer late.Stop()
	var first hello
	if err := p.Receive(&first); err != nil {
		p.Close()
		return nil, fmt.Errorf("starting a process of its own for what is not trusted: %w", err)
	}
	p.Unconfined = first.Unconfined
	return p, nil
}

func (p *Process) start(o Options) (control *net.UnixConn, err error) {
	var opened closers
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	if p.Scratch, err = scratch(o.Dir); err != nil {
		return nil, err
	}
	opened.add(p.Scratch)
	control, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	opened.add(control)
	defer func() { _ = theirs.Close() }()                 // the child has its own
	p.command = exec.Command("/proc/self/exe", o.Args...) // #nosec G204 -- this program itself, be its file replaced meanwhile
	p.command.Args[0] = os.Args[0]
	p.command.Env = []string{
		"GOMEMLIMIT=" + strconv.FormatInt(o.Memory*3/4, 10), "GOGC=50", "GOMAXPROCS=2", // what Go finds out by itself needs files
		envMemory + "=" + strconv.FormatInt(o.Memory, 10), envScratch + "=" + strconv.FormatInt(o.Scratch, 10),
	}
	p.command.Stderr, p.command.ExtraFiles = p.errors, []*os.File{theirs, p.Scratch}
	endWithParent(p.command)
	in, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	opened.add(in)
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	opened.add(out)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	killFirst(p.command.Process.Pid)
	p.in, p.request, p.out, p.answers = in, json.NewEncoder(in), out, json.NewDecoder(io.Reader((*counted)(p)))
	return control, nil
}

// scratch creates a file that has no name.
func scratch(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "scratch")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// closers are closed together.
type closers []io.Closer

func (c *closers) add(one io.Closer) { *c = append(*c, one) }

func (c *closers) close() {
	for _, one := range *c {
		_ = one.Close() // nothing was written
	}
}

// Use is called before the first request. It sets how the child is connected to what it asks for; nil for not at all.
func (p *Process) Use(dial Dial) {
	p.dial.Store(&dial)
	p.work.Go(p.watch)
}

func (p *Process) connect(ctx context.Context, to Address) (net.Conn, error) {
	dial := p.dial.Load()
	if dial == nil || *dial == nil {
		return nil, &DialError{Message: "there is nothing to connect to"}
	}
	return (*dial)(ctx, to)
}

// Ended reports whether the child has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Kill ends the child at once.
func (p *Process) Kill() { _ = p.command.Process.Kill() } // fails where it has ended

// KillFor ends the child at once for a reason, which is returned where an answer is missing.
func (p *Process) KillFor(reason error) {
	p.killed.CompareAndSwap(nil, &reason)
	p.Kill()
}

// Resident returns how many bytes of memory the child alone uses.
func (p *Process) Resident() int64 { return resident(p.command.Process.Pid) }

// Close ends the child, and releases what it used.
func (p *Process) Close() {
	p.Kill()
	<-p.ended
	p.over()
	_, _, _ = p.in.Close(), p.out.Close(), p.Scratch.Close() // nothing is lost by it
	p.work.Wait()
}

// Send sends a request.
func (p *Process) Send(request any) error {
	if err := p.request.Encode(request); err != nil {
		return p.reason(err)
	}
	return nil
}

// Expect allows for the next answers together that many bytes.
func (p *Process) Expect(bytes int64) { p.left = bytes }

// Receive waits for an answer. It returns a MemoryError where the child used too much memory, and another error where it ended, or
// answered more than is expected of it.
func (p *Process) Receive(answer any) error {
	if err := p.answers.Decode(answer); err != nil {
		return p.reason(err)
	}
	return nil
}

// ErrTooMuch is that a child answered more than is expected of it.
var ErrTooMuch = errors.New("the answer is longer than expected")

// counted are the answers of a child, up to as many bytes as are expected.
type counted Process

func (c *counted) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrTooMuch
	}
	n, err := c.out.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}

// reason returns what is behind an error of the pipes: mostly the end of the child.
func (p *Process) reason(err error) error {
	if errors.Is(err, ErrTooMuch) {
		return err
	}
	p.Kill()
	<-p.ended
	state := p.command.ProcessState
	switch said := p.errors.String(); {
	case p.killed.Load() != nil:
		return *p.killed.Load()
	case strings.Contains(said, "out of memory") || strings.Contains(said, "cannot allocate memory") || p.crashedForMemory():
		return &MemoryError{Limit: p.memory}
	case state.Exited():
		return fmt.Errorf("the process that reads it ended, %s: %s", state, said)
	default:
		return fmt.Errorf("reading from the process that reads it: %w", err)
	}
}

// crashedForMemory reports whether a child that crashed had much of the memory that it may use: not wherever Go's runtime gets none does
// it say so.
func (p *Process) crashedForMemory() bool {
	state := p.command.ProcessState
	return !state.Success() && peakMemory(state) > p.memory*2/3
}

// watchEvery is how often a child's memory is looked at. What it can allocate meanwhile is limited by its rlimit.
const watchEvery = 50 * time.Millisecond

// watch kills a child that uses too much memory.
func (p *Process) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-tick.C:
			if p.Resident() > p.memory {
				p.KillFor(&MemoryError{Limit: p.memory})
				return
			}
		}
	}
}

// tail keeps the first bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 2 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[:min(len(b), most-len(t.text))]...)
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
