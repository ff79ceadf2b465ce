package process

import "syscall"

// childAttr puts a child into its own process group, because Ctrl-C on a terminal must reach only the sandbox, which then stops its
// children in order. It also makes the kernel kill the child when the thread that started it ends.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
