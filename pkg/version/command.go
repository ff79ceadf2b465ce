package version

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

// NewCommand returns the subcommand that prints the version of its binary. It needs no hub.
func NewCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return write(cmd.OutOrStdout(), Get(), format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Format of the output: empty for text, or json")
	return cmd
}

// write writes a version as text, or as a JSON object with the field names of `kubectl version`. Text omits fields that
// are unknown to the build.
func write(out io.Writer, info apimachineryversion.Info, format string) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(info)
	case "":
	default:
		return fmt.Errorf("--output: %q is not a format of this command: use json, or leave it out for text", format)
	}
	for _, line := range []struct{ name, value string }{
		{"Version", info.GitVersion}, {"Commit", info.GitCommit}, {"Date", info.BuildDate}, {"Go", info.GoVersion}, {"Platform", info.Platform},
	} {
		if line.value == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "%-10s%s\n", line.name+":", line.value); err != nil {
			return err
		}
	}
	return nil
}
