// Command recording records the terminal output of a command as an animated SVG:
//
//	recording -o docs/images/abort.svg -- bin/sandbox demo
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/open-cluster-management-io/work-rollback/internal/recording"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run() error {
	output := flag.String("o", "", "The file to write.")
	title := flag.String("title", "A recording of a terminal", "The name of the picture, for screen readers.")
	columns := flag.Int("columns", 110, "The width of the terminal.")
	rows := flag.Int("rows", 30, "The height of the terminal.")
	wait := flag.Duration("longest-wait", 2*time.Second, "How long one screen stands at most.")
	flag.Parse()
	if *output == "" || flag.NArg() == 0 {
		return fmt.Errorf("usage: recording -o FILE -- COMMAND [ARGUMENT...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, flag.Arg(0), flag.Args()[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	frames, err := recording.Run(ctx, cmd, *columns, *rows, 500*time.Millisecond)
	if err != nil {
		return err
	}
	// The pages name no directory of the machine that made the recording.
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	recording.Hide(frames, directory+"/")
	if err := os.MkdirAll(filepath.Dir(*output), 0o755); err != nil {
		return err
	}
	file, err := os.Create(*output)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := recording.SVG(file, frames, recording.Options{
		Title: *title, Columns: *columns, Rows: *rows, LongestWait: *wait, LastWait: 6 * time.Second,
	}); err != nil {
		return err
	}
	return file.Close()
}
