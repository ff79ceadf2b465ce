package tools

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// withProgress runs work and shows that it goes on: on a terminal a line that counts seconds, elsewhere a
// line a minute, so that no one takes a quiet build for a dead one.
func withProgress(out io.Writer, title string, work func() error) error {
	begin := time.Now()
	elapsed := func() time.Duration { return time.Since(begin).Round(time.Second) }
	file, ok := out.(*os.File)
	terminal := ok && term.IsTerminal(int(file.Fd()))

	interval := time.Minute
	if terminal {
		interval = time.Second
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()

	done := make(chan error, 1)
	go func() { done <- work() }()
	if terminal {
		fmt.Fprintf(out, "%s ...", title)
	} else {
		fmt.Fprintf(out, "%s ...\n", title)
	}
	for {
		select {
		case <-ticker.C:
			if terminal {
				fmt.Fprintf(out, "\r\033[K%s ... %v", title, elapsed())
			} else {
				fmt.Fprintf(out, "%s ... %v\n", title, elapsed())
			}
		case err := <-done:
			if terminal {
				fmt.Fprint(out, "\r\033[K")
			}
			if err != nil {
				fmt.Fprintf(out, "%s failed after %v\n", title, elapsed())
				return err
			}
			fmt.Fprintf(out, "%s built in %v\n", title, elapsed())
			return nil
		}
	}
}
