// Command controlplane is etcd, kube-apiserver, controllers of kube-controller-manager and kubectl in one binary, built from their Go
// modules. The name of the link through which it is called selects the program. One binary links what the programs share only once.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	// Register the metrics, log format and version that the programs' own main packages register.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// programs are the programs by name. Only the selected one is set up, because they register global flags.
var programs = map[string]func() int{
	"etcd": func() int {
		etcdmain.Main(os.Args)
		return 0
	},
	"kube-apiserver":   run(apiserver.NewAPIServerCommand),
	"kube-controllers": run(newControllersCommand),
	"kubectl":          run(kubectl.NewDefaultKubectlCommand),
}

func run(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

func main() {
	program, known := programs[filepath.Base(os.Args[0])]
	if !known {
		names := make([]string, 0, len(programs))
		for name := range programs {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "call this program through a link with one of the names %v\n", names)
		os.Exit(2)
	}
	os.Exit(program())
}
