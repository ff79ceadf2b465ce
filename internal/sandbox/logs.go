package sandbox

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// LogToFile sends what the parts inside this process log (the agents, the placement controller) to a file instead of
// the terminal, permanently: they may log after they were stopped. The logger is process-wide, so this is for a
// main package to decide.
func LogToFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the directory of the logs: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of the agents: %w", err)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	err = errors.Join(
		flags.Set("logtostderr", "false"),
		// Errors go to the terminal too, otherwise, and into the file once for each lower severity.
		flags.Set("stderrthreshold", "FATAL"),
		flags.Set("one_output", "true"),
	)
	if err != nil {
		return fmt.Errorf("configuring the log of the agents: %w", err)
	}
	klog.SetOutput(file)
	// Without a logger it complains on the terminal after half a minute.
	ctrllog.SetLogger(klog.NewKlogr())
	return nil
}
