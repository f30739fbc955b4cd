package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls of a confined child: those that Go's runtime needs, and those that read and write open
// files. None of them opens or names anything, or signals another process. Some do not exist on every architecture.
var allowed = []string{
	// Memory.
	"brk", "madvise", "mincore", "mmap", "mprotect", "munmap",
	// Threads.
	"exit", "exit_group", "futex", "gettid", "getpid", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday", "rseq",
	"sched_getaffinity", "sched_yield", "set_robust_list", "restart_syscall", "setitimer", "timer_create", "timer_settime", "timer_delete",
	"arch_prctl",
	// Signals of its own threads.
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
	// Open files.
	"close", "dup", "dup3", "fstat", "ftruncate", "lseek", "pread64", "pwrite64", "read", "readv", "recvfrom", "recvmsg", "shutdown",
	"write", "writev", "getsockname", "getpeername", "getsockopt", "setsockopt",
	// Polling.
	"epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "pipe2", "poll", "ppoll",
	"getrandom", "uname", "getrlimit", "getrusage",
}

// confine makes the kernel reject all other system calls of the process. It cannot be undone.
func confine() error {
	info, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("seccomp is not supported on this architecture: %w", err)
	}
	known := slices.DeleteFunc(slices.Clone(allowed), func(name string) bool {
		_, ok := info.SyscallNames[name]
		return !ok
	})
	filter := seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno, // EPERM makes the cause of an error visible
			Syscalls: []seccomp.SyscallGroup{
				{Action: seccomp.ActionAllow, Names: known},
				// The flags of clone3 are in memory, which a filter cannot read. With ENOSYS, a C library falls back to
				// clone.
				{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
				{Action: seccomp.ActionAllow, NamesWithCondtions: append(fileCommands(), []seccomp.NameWithConditions{
					{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}},
					{Name: "tgkill", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.Equal, Value: uint64(os.Getpid())}}},
				}...)},
			},
		},
	}
	if err := seccomp.LoadFilter(filter); err != nil {
		return fmt.Errorf("loading a seccomp filter: %w", err)
	}
	return nil
}

// fileCommands returns the fcntl commands that Go uses on open files. Other commands can make the kernel signal another
// process of the same user.
func fileCommands() (out []seccomp.NameWithConditions) {
	for _, command := range []uint64{unix.F_GETFL, unix.F_SETFL, unix.F_GETFD, unix.F_SETFD, unix.F_DUPFD_CLOEXEC} {
		out = append(out, seccomp.NameWithConditions{
			Name: "fcntl", Conditions: seccomp.ArgumentConditions{{Argument: 1, Operation: seccomp.Equal, Value: command}},
		})
	}
	return out
}

// limit sets the rlimits of the process. Go reserves memory in large pieces and does not use all of them. The parent
// enforces the exact limit; RLIMIT_DATA limits allocations until the parent notices.
func limit(memory, scratch int64) error {
	const files, pieces = 64, 128 << 20
	for resource, most := range map[int]uint64{
		unix.RLIMIT_DATA:   uint64(memory + pieces),
		unix.RLIMIT_FSIZE:  uint64(scratch),
		unix.RLIMIT_NOFILE: files,
		unix.RLIMIT_CORE:   0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limiting resource %d to %d: %w", resource, most, err)
		}
	}
	return nil
}

// endWithParent makes the kernel kill a child when its parent ends.
func endWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// killFirst makes the kernel's OOM killer choose the process instead of its parent.
func killFirst(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0) // if this fails, the kernel chooses
}

// lowerPriority lowers the priority of a process that has just started. The kernel keeps one for each thread, which its new
// threads inherit.
func lowerPriority(pid int) {
	const lower, normal = 15, 20 // the system call returns 20 less the niceness
	ours, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return
	}
	nice := normal - ours + lower
	done := map[string]bool{}
	for again := true; again; { // a thread may have started another one before its turn
		again = false
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return // it has ended
		}
		for _, thread := range threads {
			if id, err := strconv.Atoi(thread.Name()); err == nil && !done[thread.Name()] {
				_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice) // raising the niceness needs no privilege
				done[thread.Name()], again = true, true
			}
		}
	}
}

// resident returns the resident memory of a process in bytes, without shared pages, or 0 after its end.
func resident(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	const least = 3
	if len(fields) < least {
		return 0
	}
	all, err := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, err2 := strconv.ParseInt(string(fields[2]), 10, 64)
	if errors.Join(err, err2) != nil {
		return 0
	}
	return (all - shared) * int64(os.Getpagesize())
}

// peakMemory returns the maximum resident memory of a process, in bytes.
func peakMemory(state *os.ProcessState) int64 {
	const kibibyte = 1 << 10
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss * kibibyte
	}
	return 0
}

// controlPair returns the two ends of a socket that preserves packet boundaries.
func controlPair() (ours *net.UnixConn, theirs *os.File, err error) {
	mine, theirs, err := pair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, nil, err
	}
	if ours, err = controlOf(mine); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// controlOf converts a file that is such a socket, and closes the file.
func controlOf(f *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	out, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("the control file is not a socket"), conn.Close())
	}
	return out, nil
}

// streamPair returns the two ends of a connection.
func streamPair() (ours net.Conn, theirs *os.File, err error) {
	mine, theirs, err := pair(unix.SOCK_STREAM)
	if err != nil {
		return nil, nil, err
	}
	ours, err = net.FileConn(mine)
	if err := errors.Join(err, mine.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

func pair(kind int) (ours, theirs *os.File, err error) {
	both, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(both[0]), "ours"), os.NewFile(uintptr(both[1]), "theirs"), nil
}

// reply sends a reply with a file descriptor; file may be nil.
func reply(control *net.UnixConn, answer dialed, file *os.File) error {
	packet, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	_, _, err = control.WriteMsgUnix(packet, rights, nil)
	return err
}

// receive receives a packet of reply.
func receive(control *net.UnixConn) (dialed, *os.File, error) {
	const descriptor = 4 // bytes
	packet, rights := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(descriptor))
	n, m, _, _, err := control.ReadMsgUnix(packet, rights)
	switch {
	case err == nil && n == 0:
		err = io.EOF
	case err != nil:
		err = errors.Join(io.EOF, err) // no packet can be read from a broken socket
	}
	var out dialed
	if err != nil {
		return out, nil, err
	}
	if err := json.Unmarshal(packet[:n], &out); err != nil || m == 0 {
		return out, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil || len(messages) == 0 {
		return out, nil, errors.Join(errors.New("received a connection without its file descriptor"), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return out, nil, errors.Join(errors.New("received a connection without its file descriptor"), err)
	}
	return out, os.NewFile(uintptr(files[0]), "connection"), nil
}
