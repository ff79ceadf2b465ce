//go:build !linux

package measure

import (
	"errors"
	"time"
)

// CPU works on Linux only.
func CPU(int) (time.Duration, error) {
	return 0, errors.New("the benchmark reads the CPU clock and the memory of processes from Linux: run it on Linux")
}
