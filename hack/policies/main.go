// Command policies writes the admission policies of ManifestWorkReplicaSets, from the table in pkg/webhook/rule, to its output.
package main

import (
	"fmt"
	"os"

	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/policy"
)

func main() {
	data, err := policy.YAML()
	if err == nil {
		_, err = os.Stdout.Write(data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
