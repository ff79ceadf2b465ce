//go:build unix && !linux

package process

import "syscall"

// childAttr puts a child into its own process group, because Ctrl-C on a terminal must reach only the sandbox, which then stops its
// children in order. After a crash, the watchdog cleans up.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
