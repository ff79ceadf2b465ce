//go:build unix && !linux

package process

import "syscall"

// childAttr puts a child into its own process group, because Ctrl-C on a terminal must reach
// only the sandbox, which then stops its children in order. What is left after a crash is the
// watchdog's.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
