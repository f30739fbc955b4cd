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

// Options configures a child.
type Options struct {
	// Args are the arguments that make this program call Enter.
	Args []string

	// Memory limits the resident memory of the child, in bytes.
	Memory int64

	// Dir is the folder of the scratch file, and Scratch limits its size in bytes.
	Dir     string
	Scratch int64

	// Background gives the child one processor, and less of its time than other processes when it is scarce.
	Background bool
}

// Dial opens a connection for a child. It should return a DialError for an address that is not allowed.
type Dial func(ctx context.Context, to Address) (net.Conn, error)

// Process is the parent's side of a child. Disconnect, Ended, Kill, KillFor and Resident are safe for concurrent use; the
// other methods must not be called concurrently.
type Process struct {
	// Scratch is the child's scratch file.
	Scratch *os.File

	// Unconfined is the reason why the child is not confined, or empty.
	Unconfined string

	command *exec.Cmd
	memory  int64
	in      io.Closer
	request *json.Encoder
	out     io.ReadCloser
	answers *json.Decoder
	left    int64 // bytes that may still be received
	errors  *tail

	dial   atomic.Pointer[Dial]
	open   connections
	killed atomic.Pointer[error]
	ended  chan struct{} // closed when the child has ended
	over   context.CancelFunc
	work   sync.WaitGroup
}

// startTimeout limits the time that a child takes to confine itself.
const startTimeout = time.Minute

// Start starts a child. The caller must call Close when it no longer needs the child.
func Start(o Options) (*Process, error) {
	p := &Process{memory: o.Memory, errors: &tail{}, ended: make(chan struct{})}
	control, err := p.start(o)
	if err != nil {
		return nil, fmt.Errorf("starting the sandboxed process: %w", err)
	}
	ctx, over := context.WithCancel(context.Background())
	p.over = over
	p.work.Go(func() { serveDials(ctx, control, p.connect, &p.open) })
	go func() {
		_ = p.command.Wait() // reason reports it if an answer is missing
		close(p.ended)
	}()
	p.Expect(maxPacket)
	late := time.AfterFunc(startTimeout, func() { p.KillFor(fmt.Errorf("it did not start within %s", startTimeout)) })
	defer late.Stop()
	var first hello
	if err := p.Receive(&first); err != nil {
		p.Close()
		return nil, fmt.Errorf("starting the sandboxed process: %w", err)
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
	defer func() { _ = theirs.Close() }()                 // the child has a duplicate
	p.command = exec.Command("/proc/self/exe", o.Args...) // #nosec G204 -- this program itself, be its file replaced meanwhile
	p.command.Args[0] = os.Args[0]
	processors := "2" // Go would have to open files to detect them
	if o.Background {
		processors = "1"
	}
	p.command.Env = []string{
		"GOMEMLIMIT=" + strconv.FormatInt(o.Memory*3/4, 10), "GOGC=50", "GOMAXPROCS=" + processors,
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
	if o.Background {
		lowerPriority(p.command.Process.Pid)
	}
	p.in, p.request, p.out, p.answers = in, json.NewEncoder(in), out, json.NewDecoder(io.Reader((*counted)(p)))
	return control, nil
}

// scratch creates a file and removes its name.
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

// Use sets how connections for the child are opened, and starts to enforce its memory limit. It must be called once,
// before the first request. If dial is nil, the child cannot connect to anything.
func (p *Process) Use(dial Dial) {
	p.dial.Store(&dial)
	p.work.Go(p.watch)
}

func (p *Process) connect(ctx context.Context, to Address) (net.Conn, error) {
	dial := p.dial.Load()
	if dial == nil || *dial == nil {
		return nil, &DialError{Message: "connections are not allowed"}
	}
	return (*dial)(ctx, to)
}

// Disconnect closes all connections of the child. It should be called between requests: the child may have few connections
// at a time, and those that it keeps open for reuse, or for nothing, count.
func (p *Process) Disconnect() { p.open.closeAll() }

// Ended reports whether the child has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Kill ends the child immediately.
func (p *Process) Kill() { _ = p.command.Process.Kill() } // fails if the child has ended

// KillFor ends the child immediately. Send and Receive then return the reason.
func (p *Process) KillFor(reason error) {
	p.killed.CompareAndSwap(nil, &reason)
	p.Kill()
}

// Resident returns the resident memory of the child in bytes, without shared pages, or 0 after its end.
func (p *Process) Resident() int64 { return resident(p.command.Process.Pid) }

// Close ends the child and releases its resources.
func (p *Process) Close() {
	p.Kill()
	<-p.ended
	p.over()
	_, _, _ = p.in.Close(), p.out.Close(), p.Scratch.Close() // nothing is lost
	p.work.Wait()
}

// Send sends a request.
func (p *Process) Send(request any) error {
	if err := p.request.Encode(request); err != nil {
		return p.reason(err)
	}
	return nil
}

// Expect limits the total size of the following answers, in bytes.
func (p *Process) Expect(bytes int64) { p.left = bytes }

// Receive blocks until an answer arrives. It returns a MemoryError if the child used too much memory, ErrTooMuch if the
// answers are longer than expected, and another error if the child ended.
func (p *Process) Receive(answer any) error {
	if err := p.answers.Decode(answer); err != nil {
		return p.reason(err)
	}
	return nil
}

// ErrTooMuch means that the answers of a child are longer than expected.
var ErrTooMuch = errors.New("the answer is longer than expected")

// counted reads the answers of a child, up to the expected size.
type counted Process

func (c *counted) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrTooMuch
	}
	n, err := c.out.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}

// reason ends the child and returns the cause of an error of the pipes, which usually is the end of the child.
func (p *Process) reason(err error) error {
	if errors.Is(err, ErrTooMuch) {
		return err
	}
	p.Kill()
	<-p.ended
	state := p.command.ProcessState
	switch output := p.errors.String(); {
	case p.killed.Load() != nil:
		return *p.killed.Load()
	case strings.Contains(output, "out of memory") || strings.Contains(output, "cannot allocate memory") || p.crashedForMemory():
		return &MemoryError{Limit: p.memory}
	case state.Exited():
		return fmt.Errorf("the sandboxed process ended, %s: %s", state, output)
	default:
		return fmt.Errorf("reading from the sandboxed process: %w", err)
	}
}

// crashedForMemory reports whether a child that failed had used much of its memory limit. Go's runtime does not always
// print a message when it cannot allocate memory.
func (p *Process) crashedForMemory() bool {
	state := p.command.ProcessState
	return !state.Success() && peakMemory(state) > p.memory*2/3
}

// watchEvery is the interval of checking a child's memory. In between, RLIMIT_DATA limits its allocations.
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

// tail keeps the first bytes that are written to it.
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
