// Command benchmark measures this project's work hub against upstream's, side by side on this machine.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
	if settings.render {
		return render(settings.out, settings.compare)
	}
	var compared []report.Baseline
	if settings.Driver != "" {
		// Before anything is measured: a name that is wrong must not cost an hour.
		if compared, err = baselines(settings.compare); err != nil {
			return err
		}
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
		Settle: settings.Settle.Seconds(), Delay: settings.Delay.Seconds(), Broker: settings.broker(), Baselines: compared,
	}
	result.Figures, err = scenario.Run(ctx, settings.Options)
	return errors.Join(err, write(settings.out, &result))
}

// resultsFile holds the raw figures.
const resultsFile = "results.json"

// write writes what was measured: the raw figures, the tables and the plot.
func write(dir string, result *report.Run) error {
	if len(result.Figures) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{resultsFile: string(data) + "\n", "results.md": result.Markdown(), "results.svg": result.SVG()}
	var errs []error
	for name, content := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	return errors.Join(errs...)
}

// render makes the report of results that are there already, compared with those that are named, or with the same as before.
func render(dir, compare string) error {
	result, err := read(filepath.Join(dir, resultsFile))
	if err != nil {
		return fmt.Errorf("-render: %w: measure first, or name its directory with -out", err)
	}
	if compare != "" {
		if result.Baselines, err = baselines(compare); err != nil {
			return err
		}
	}
	return write(dir, result)
}

// quietLogs keeps what client libraries log off the terminal.
func quietLogs() error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	return errors.Join(flags.Set("logtostderr", "false"), flags.Set("stderrthreshold", "FATAL"))
}
