package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// The exit codes of `work preflight`.
const (
	exitFound  = 1
	exitFailed = 2
)

// exit is an error with the exit code of the process.
type exit struct {
	error
	code int
}

// ExitCode returns the exit code of the process.
func (e exit) ExitCode() int { return e.code }

// Unwrap returns the cause.
func (e exit) Unwrap() error { return e.error }

func failed(err error) error { return exit{error: err, code: exitFailed} }

type options struct {
	leaving             bool
	kubeconfig, context string
	output              string
}

// NewCommand returns the command `work preflight`.
func NewCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "preflight --leaving",
		Short: "Find what must be resolved before the hub is changed",
		Long: "Find what must be resolved before the hub is changed. It only reads.\n\n" +
			"With --leaving: before OCM's own hub takes over. The exit code is 0 if there is nothing to resolve, 1 if there is, " +
			"and 2 after an error.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return failed(fmt.Errorf("%q: work preflight takes flags only", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return failed(err) })
	flags := cmd.Flags()
	flags.BoolVar(&o.leaving, "leaving", false, "Check what OCM's own hub would delete, roll out or ignore.")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"The kubeconfig of the hub. Default: the file in KUBECONFIG, the user's own file, or the credentials of the Pod.")
	flags.StringVar(&o.context, "context", "", "The context of the kubeconfig.")
	flags.StringVarP(&o.output, "output", "o", "text", "text or json.")
	return cmd
}

func (o *options) run(ctx context.Context, out io.Writer) error {
	switch {
	case !o.leaving:
		return failed(errors.New("name what to check: work preflight --leaving"))
	case o.output != "text" && o.output != "json":
		return failed(fmt.Errorf("--output=%s: use text or json", o.output))
	}
	objects, err := o.list(ctx)
	if err != nil {
		return failed(err)
	}
	findings := Leaving(objects)
	if err := write(out, o.output, objects, findings); err != nil {
		return failed(err)
	}
	if len(findings) > 0 {
		return exit{error: fmt.Errorf("problems to resolve before OCM's hub takes over: %d", len(findings)), code: exitFound}
	}
	return nil
}

// list reads the objects from the hub.
func (o *options) list(ctx context.Context) (*Objects, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("name a kubeconfig of the hub with --kubeconfig: %w", err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	metadatas, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for ManifestWorks: %w", err)
	}
	return List(ctx, objects, metadatas)
}

// report is the output of -o json.
type report struct {
	Checked  checked   `json:"checked"`
	Findings []Finding `json:"findings"`
}

// checked counts the objects that were checked.
type checked struct {
	ReplicaSets int `json:"manifestWorkReplicaSets"`
	Works       int `json:"manifestWorks"`
}

func write(out io.Writer, format string, objects *Objects, findings []Finding) error {
	counts := checked{ReplicaSets: len(objects.ReplicaSets), Works: len(objects.Works)}
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report{Checked: counts, Findings: append([]Finding{}, findings...)})
	}
	table := tabwriter.NewWriter(plain.For(out), 0, 0, 2, ' ', 0)
	for _, f := range findings {
		cells := []any{string(f.Severity), string(f.Reason), f.Object, f.What, f.Remedy}
		for i := range cells {
			cells[i] = plain.Line(fmt.Sprint(cells[i]))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n\t\t\tbefore: %s\n", cells...)
	}
	fmt.Fprintf(table, "checked %d ManifestWorkReplicaSets and %d ManifestWorks, found %d\n", counts.ReplicaSets, counts.Works, len(findings))
	return table.Flush()
}
