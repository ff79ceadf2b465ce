package tools

import (
	"context"
	"path/filepath"
)

// BuildWork builds this repository's work hub into dir, as `make build` does, and returns the path of the binary.
func BuildWork(ctx context.Context, dir string) (string, error) { return BuildRelease(ctx, dir, "") }

// BuildRelease builds the work hub as a released version, as `make build VERSION=...` does. An empty version stands for a development
// build.
func BuildRelease(ctx context.Context, dir, version string) (string, error) {
	root, err := FindRoot()
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(filepath.Join(dir, "work"))
	if err != nil {
		return "", err
	}
	arguments := []string{"build"}
	if version != "" {
		arguments = append(arguments, "-ldflags=-X "+modulePath+"/pkg/version.gitVersion="+version)
	}
	_, err = runGo(ctx, root, append(arguments, "-o", file, "./cmd/work")...)
	return file, err
}
