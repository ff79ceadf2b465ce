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

// LogToFile permanently redirects the logs of the components inside this process (the agents, the placement controller) to a file: they may
// log even after they were stopped. The logger is global, so only a main package should call this.
func LogToFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating the directory of the logs: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of the agents: %w", err)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	err = errors.Join(
		flags.Set("logtostderr", "false"),
		// By default, errors also go to the terminal, and into the file once for each lower severity.
		flags.Set("stderrthreshold", "FATAL"),
		flags.Set("one_output", "true"),
	)
	if err != nil {
		return fmt.Errorf("configuring the log of the agents: %w", err)
	}
	klog.SetOutput(file)
	// Without a logger, controller-runtime logs a warning to the terminal after half a minute.
	ctrllog.SetLogger(klog.NewKlogr())
	return nil
}
