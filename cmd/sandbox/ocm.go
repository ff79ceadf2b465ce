package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

// runAgainst builds this program against a checkout of OCM, and replaces this process with it. It returns only an error.
func runAgainst(ctx context.Context, out io.Writer, checkout string) error {
	checkout, err := filepath.Abs(checkout)
	if err != nil {
		return fmt.Errorf("looking for the checkout of OCM: %w", err)
	}
	root, err := tools.FindRoot()
	if err != nil {
		return err
	}
	directory := filepath.Join(root, "_output", "sandbox-ocm")
	flags, err := command(ctx, root, os.Environ(), filepath.Join(root, "hack", "link-ocm.sh"), checkout, filepath.Join(directory, "linked"))
	if err != nil {
		return fmt.Errorf("linking the checkout of OCM: %w", err)
	}
	fmt.Fprintf(out, "Building the sandbox against OCM in %s ...\n", checkout)
	environment := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+flags)
	program := filepath.Join(directory, "sandbox")
	if _, err := command(ctx, root, environment, "go", "build", "-o", program, "./cmd/sandbox"); err != nil {
		return fmt.Errorf("building the sandbox against OCM in %s (it needs the releases of OCM's api and sdk-go that go.mod names): %w", checkout, err)
	}
	return syscall.Exec(program, append([]string{program}, withoutOCM(os.Args[1:])...), environment)
}

// command runs a program and returns what it prints.
func command(ctx context.Context, directory string, environment []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = directory, environment
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// withoutOCM returns the arguments without the flag --ocm.
func withoutOCM(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		switch {
		case arg == "--ocm":
			return slices.Delete(args, i, min(i+2, len(args)))
		case strings.HasPrefix(arg, "--ocm="):
			return slices.Delete(args, i, i+1)
		}
	}
	return args
}
