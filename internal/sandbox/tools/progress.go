package tools

import (
	"fmt"
	"io"
	"time"
)

// withProgress runs work and prints a line every 20 seconds, so that a quiet build does not look stuck.
func withProgress(out io.Writer, title string, work func() error) error {
	begin := time.Now()
	elapsed := func() time.Duration { return time.Since(begin).Round(time.Second) }
	ticker := time.NewTicker(20 * time.Second)
	defer ticker.Stop()

	done := make(chan error, 1)
	go func() { done <- work() }()
	fmt.Fprintf(out, "%s ...\n", title)
	for {
		select {
		case <-ticker.C:
			fmt.Fprintf(out, "%s ... %v\n", title, elapsed())
		case err := <-done:
			if err != nil {
				fmt.Fprintf(out, "%s failed after %v\n", title, elapsed())
				return err
			}
			fmt.Fprintf(out, "%s built in %v\n", title, elapsed())
			return nil
		}
	}
}
