package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/test/benchmark/report"
)

// committed are the results that a run over a broker is compared with where no others are named: those of `make bench` and `make
// bench-api`.
var committed = []string{"test/benchmark/results/results.json", "test/benchmark/results/api-*/results.json"}

// baselines reads the results of runs through the API server, the newest first: it counts where several have a fleet of the same size.
// The files that are named must be there.
func baselines(named string) ([]report.Baseline, error) {
	files := strings.Split(named, ",")
	if named == "" {
		files = nil
		for _, pattern := range committed {
			found, err := filepath.Glob(pattern)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
	}
	var found []report.Baseline
	for _, file := range files {
		run, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("-compare: %w", err)
		}
		baseline, err := report.NewBaseline(filepath.ToSlash(file), run)
		if err != nil {
			return nil, fmt.Errorf("-compare: %w", err)
		}
		found = append(found, baseline)
	}
	slices.SortStableFunc(found, func(a, b report.Baseline) int { return b.Began.Compare(a.Began) })
	return found, nil
}

// read reads raw figures.
func read(file string) (*report.Run, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s", file)
	}
	if err != nil {
		return nil, err
	}
	run := &report.Run{}
	if err := json.Unmarshal(data, run); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return run, nil
}
