package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modulePath marks the root of the repository.
const modulePath = "github.com/open-cluster-management-io/work-rollback"

// FindRoot returns the root of the repository that holds the working directory.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the working directory: %w", err)
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.Contains(data, []byte("module "+modulePath+"\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a clone of %s: change to one", start, modulePath)
		}
	}
}

// requirements returns the versions that the go.mod in dir requires, by module. If no file is given, a -modfile in GOFLAGS applies, which
// is for the root module.
func requirements(ctx context.Context, dir string, file ...string) (map[string]string, error) {
	output, err := runGo(ctx, dir, append([]string{"mod", "edit", "-json"}, file...)...)
	if err != nil {
		return nil, fmt.Errorf("reading the versions in %s/go.mod: %w", dir, err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(output, &mod); err != nil {
		return nil, fmt.Errorf("reading the versions in %s/go.mod: %w", dir, err)
	}
	versions := map[string]string{}
	for _, require := range mod.Require {
		versions[require.Path] = require.Version
	}
	return versions, nil
}

// runGo runs the go command in dir and returns its standard output. An error contains the last lines of standard error.
func runGo(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// Without cgo, the tools share compiled packages with `make build` and the tests, regardless of the machine.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	switch err := cmd.Run(); {
	case err == nil:
		return stdout.Bytes(), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("the go command is not in PATH: install Go from https://go.dev/dl: %w", err)
	default:
		return nil, fmt.Errorf("go %s: %w:\n%s", strings.Join(args, " "), err, tail(stderr.String(), 20))
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
