// Command kubectl-mwrs is a kubectl plugin for ManifestWorkReplicaSets. It shows rollouts and rolls them back.
package main

import (
	"os"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
)

func main() { os.Exit(plugin.Main(os.Args[1:])) }
