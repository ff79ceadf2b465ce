package plugin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/plugin/internal/manifest"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/validate"
)

// lintOptions holds the flags of the lint command.
type lintOptions struct {
	files  []string
	output string
	limit  int
}

// finding is an error or a warning about an object in a file.
type finding struct {
	File     string `json:"file"`
	Object   string `json:"object"`
	Severity string `json:"severity"`
	// Line is the line of the field, or of its nearest parent in the file. It is 0 if it is unknown.
	Line int `json:"line,omitempty"`
	// Type is the kind of the error, as in Kubernetes' field errors, or "Warning".
	Type string `json:"-"`
	// Field is the path of the invalid field. It is empty for warnings.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func newLint(o *options) *cobra.Command {
	flags := &lintOptions{}
	cmd := &cobra.Command{
		Use: "lint -f FILE", GroupID: groupAhead, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Check manifests as the admission webhook does, without a hub",
		Long: "Check manifests as the admission webhook does, without a hub.\n" +
			"Objects of other kinds are skipped. The exit code is 1 if there is an error; warnings do not affect it.",
		Example: `  # Check a file in a pipeline
  kubectl mwrs lint -f web.yaml

  # Check the output of another tool
  kustomize build . | kubectl mwrs lint -f - -o json

  # Write a report for a code scanner
  kubectl mwrs lint -f web.yaml -o sarif > lint.sarif`,
		RunE: func(*cobra.Command, []string) error { return o.lint(flags) },
	}
	cmd.Flags().StringSliceVarP(&flags.files, "filename", "f", nil, "Files to check; - reads from standard input")
	outputFlag(cmd, &flags.output, "json", "sarif")
	cmd.Flags().IntVar(&flags.limit, "manifest-limit", handover.DefaultLimits().ManifestBytes,
		"Maximum total size of the manifests of one object in bytes; use the value of the webhook's --manifestLimit")
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

func (o *options) lint(flags *lintOptions) error {
	plain.For(o.Out).Inert() // A pipeline runs lint on the files of strangers.
	plain.For(o.ErrOut).Inert()
	findings, checked := []finding{}, 0
	for _, file := range flags.files {
		found, n, err := o.lintFile(file, flags.limit)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		findings, checked = append(findings, found...), checked+n
	}
	if checked == 0 {
		return errors.New("there is no ManifestWorkReplicaSet in the files")
	}
	if err := o.report(findings, flags.output); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.Severity == "error" }) {
		return &exitError{code: 1}
	}
	return nil
}

// lintFile checks the ManifestWorkReplicaSets in a file. It returns the findings and the number of objects checked.
func (o *options) lintFile(file string, limit int) (findings []finding, checked int, err error) {
	reader, err := o.open(file)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = reader.Close() }()
	for set, err := range manifest.Sets(reader) {
		if err != nil {
			return nil, 0, err
		}
		findings = append(findings, lintObject(finding{File: file}, set, limit)...)
		checked++
	}
	return findings, checked, nil
}

// lintObject checks one object.
func lintObject(of finding, set *manifest.Set, limit int) (findings []finding) {
	of.Object = set.Object.GetNamespace() + "/" + set.Object.GetName()
	verdict := validate.ReplicaSet(nil, set.Object, validate.Limits{ManifestBytes: limit})
	for _, problem := range verdict.Errors {
		of.Severity, of.Type, of.Line = "error", string(problem.Type), set.Line(problem.Field)
		of.Field, of.Message = problem.Field, problem.ErrorBody()
		findings = append(findings, of)
	}
	for _, warning := range verdict.Warnings {
		of.Severity, of.Type, of.Line, of.Field, of.Message = "warning", "Warning", set.Line(""), "", warning
		findings = append(findings, of)
	}
	return findings
}

func (o *options) report(findings []finding, format string) error {
	switch format {
	case "sarif":
		return o.printJSON(sarifOf(findings))
	case "json":
		return o.printJSON(findings)
	}
	out := newPrinter(o.Out, screen{})
	for i := range findings {
		f := &findings[i]
		where := ""
		if f.Field != "" {
			where = f.Field + ": "
		}
		out.printf("%s: %s: %s: %s\n", f.File, f.Object, f.Severity, where+f.Message)
	}
	return out.err
}
