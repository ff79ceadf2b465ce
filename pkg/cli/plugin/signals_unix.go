//go:build unix

package plugin

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// terminalSignals returns the signals by which a terminal tells that its size changed, and that its user stops or continues the program.
func terminalSignals() (signals <-chan os.Signal, end func()) {
	arrived := make(chan os.Signal, 8)
	signal.Notify(arrived, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
	return arrived, func() { signal.Stop(arrived) }
}

// heed follows a signal of the terminal: the next screen is drawn anew. A stop returns when the user continues the program.
func (c *canvas) heed(ctx context.Context, sig os.Signal, signals <-chan os.Signal) error {
	c.last = ""
	switch sig {
	case syscall.SIGCONT: // The shell may have restored its terminal.
		c.open = false
	case syscall.SIGTSTP:
		if err := c.leave(); err != nil {
			return err
		}
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGSTOP); err != nil {
			return err
		}
		for sig != syscall.SIGCONT {
			select {
			case sig = <-signals:
			case <-ctx.Done():
				return nil
			}
		}
	}
	return nil
}
