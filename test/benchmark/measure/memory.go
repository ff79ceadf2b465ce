package measure

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// PeakMemory returns the peak memory of a process (VmHWM) in bytes.
func PeakMemory(pid int) (int64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	defer file.Close()
	return statusField(file, "VmHWM")
}

// statusField reads a field of /proc/<pid>/status in kB.
func statusField(status io.Reader, name string) (int64, error) {
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		field, value, found := strings.Cut(lines.Text(), ":")
		if !found || field != name {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		kilobytes, err := strconv.ParseInt(number, 10, 64)
		if err != nil || unit != "kB" {
			return 0, fmt.Errorf("%s is %q, not a number of kB", name, value)
		}
		return kilobytes << 10, nil
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("there is no field %s", name)
}
