package sandbox

// PID returns the process ID of the child.
func (p *Process) PID() int { return p.command.Process.Pid }
