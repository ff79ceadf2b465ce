package plugin

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"

	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// output is the flag -o of a command that shows data. All commands have the formats json, yaml and jsonpath; some have more formats.
type output struct {
	choice
	format string
	path   *jsonpath.JSONPath
}

// addFlag adds the flag to a command.
func (f *output) addFlag(cmd *cobra.Command, own ...string) {
	formats := append([]string{"json", "yaml"}, own...)
	f.choice = choice{&f.format, append(slices.Clone(formats), "jsonpath=…")}
	cmd.Flags().VarP(f, "output", "o", "Output format: "+either(f.of))
	completes(cmd, "output", cobra.FixedCompletions(append(formats, "jsonpath="), cobra.ShellCompDirectiveNoFileComp))
}

// Set implements pflag.Value.
func (f *output) Set(value string) error {
	if template, isPath := strings.CutPrefix(value, "jsonpath="); isPath {
		f.format, f.path = "jsonpath", jsonpath.New("output").AllowMissingKeys(true)
		return f.path.Parse(template)
	}
	return f.choice.Set(value)
}

// isSet reports whether the output is data. The format wide is a table.
func (f *output) isSet() bool { return f.format != "" && f.format != "wide" }

// print writes a value in the format of the flag. names are the names of its parts, for the format name. It does not change the texts:
// scripts need the originals, and JSON and YAML escape control characters.
func (f *output) print(o *options, value any, names ...string) error {
	switch f.format {
	case "name":
		var errs []error
		for _, name := range names {
			errs = append(errs, o.sayf("%s\n", name))
		}
		return errors.Join(errs...)
	case "yaml":
		return o.printYAML(value)
	case "jsonpath":
		data, err := json.Marshal(value)
		if err != nil {
			return err
		}
		var read any
		if err := json.Unmarshal(data, &read); err != nil {
			return err
		}
		return f.path.Execute(o.Out, read)
	}
	encoder := json.NewEncoder(plain.Raw(o.Out))
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// resourceOf returns the name of a ManifestWorkReplicaSet in kubectl's format.
func resourceOf(name string) string {
	return "manifestworkreplicaset.work.open-cluster-management.io/" + name
}
