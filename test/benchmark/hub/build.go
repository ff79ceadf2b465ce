package hub

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

// Controller is one of the two controllers that are compared.
type Controller string

// The controllers.
const (
	Ours     Controller = "ours"
	Upstream Controller = "upstream"
)

// BrokerBinary is the name of the broker in Binaries. The broker is not a controller, but is built with the controllers.
const BrokerBinary Controller = "broker"

// packages holds the main package of each controller.
var packages = map[Controller]string{Ours: "./cmd/work", Upstream: "./test/benchmark/upstream", BrokerBinary: "./test/benchmark/broker"}

// Binaries are the built controllers.
type Binaries map[Controller]string

// Build builds both controllers from this clone.
func Build(ctx context.Context) (Binaries, error) {
	root, err := tools.FindRoot()
	if err != nil {
		return nil, err
	}
	built := Binaries{}
	for controller, pkg := range packages {
		file := filepath.Join(root, "_output", "benchmark", string(controller))
		cmd := exec.CommandContext(ctx, "go", "build", "-o", file, pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building %s: %w:\n%s", pkg, err, output)
		}
		built[controller] = file
	}
	return built, nil
}
