package measure

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the user and system time of a running process. It comes from the process's own CPU clock, in nanoseconds:
// /proc/<pid>/stat counts in steps of 10 ms, which is more than a quiet pass costs.
func CPU(pid int) (time.Duration, error) {
	// The clock of a process, as clock_getcpuclockid(3) makes it: the complement of the number, and 2 for "user and system".
	id := (^pid)<<3 | 2
	var at unix.Timespec
	if err := unix.ClockGettime(int32(id), &at); err != nil { //nolint:gosec // a process number has at most 22 bits
		return 0, fmt.Errorf("reading the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(at.Nano()), nil
}
