package tools

import (
	"context"
	"path/filepath"
)

// BuildWork builds this repository's work hub into dir, as `make build` does, and returns the path of the binary.
func BuildWork(ctx context.Context, dir string) (string, error) {
	root, err := FindRoot()
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(filepath.Join(dir, "work"))
	if err != nil {
		return "", err
	}
	_, err = runGo(ctx, root, "build", "-trimpath", "-o", file, "./cmd/work")
	return file, err
}
