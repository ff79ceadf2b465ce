// Command benchmark measures this project's work hub against upstream's, side by side on this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/hub"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
	"github.com/open-cluster-management-io/work-rollback/test/benchmark/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	settings, err := parse(args)
	if err != nil {
		return err
	}
	if err := quietLogs(); err != nil {
		return err
	}
	if settings.Binaries, err = hub.Build(ctx); err != nil {
		return err
	}
	settings.Out = os.Stderr
	result := report.Run{
		Began: time.Now().UTC().Truncate(time.Second), Machine: machine(), Command: command(args),
		Settle: settings.Settle.Seconds(), Delay: settings.Delay.Seconds(), Broker: settings.broker(),
	}
	result.Figures, err = scenario.Run(ctx, settings.Options)
	return errors.Join(err, write(settings.out, &result))
}

// write writes the report to a file, or to standard output if no file is given.
func write(file string, result *report.Run) error {
	if len(result.Figures) == 0 {
		return nil
	}
	if file == "" {
		_, err := fmt.Print(result.Markdown())
		return err
	}
	return os.WriteFile(file, []byte(result.Markdown()), 0o644)
}

// quietLogs keeps the logs of client libraries off the terminal.
func quietLogs() error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	return errors.Join(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL"))
}
