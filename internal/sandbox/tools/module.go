package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// ModuleFile reads a file of a Go module, in the version that this repository requires. Use it for files that a module ships beside its Go
// code and does not embed.
func ModuleFile(ctx context.Context, module, file string) ([]byte, error) {
	root, err := FindRoot()
	if err != nil {
		return nil, err
	}
	required, err := requirements(ctx, root)
	if err != nil {
		return nil, err
	}
	version, ok := required[module]
	if !ok {
		return nil, fmt.Errorf("%s/go.mod does not require %s: add it, %s is read from there", root, module, file)
	}
	output, err := runGo(ctx, root, "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return nil, fmt.Errorf("looking for the module %s %s: %w", module, version, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(output, &downloaded); err != nil {
		return nil, fmt.Errorf("looking for the module %s %s: %w", module, version, err)
	}
	data, err := os.ReadFile(filepath.Join(downloaded.Dir, file))
	if err != nil {
		return nil, fmt.Errorf("reading a file of %s %s (did its version change?): %w", module, version, err)
	}
	return data, nil
}
