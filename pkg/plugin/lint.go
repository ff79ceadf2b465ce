package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
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
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "Output format: json or sarif")
	cmd.Flags().IntVar(&flags.limit, "manifest-limit", handover.DefaultLimits().ManifestBytes,
		"Maximum total size of the manifests of one object in bytes; use the value of the webhook's --manifestLimit")
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

func (o *options) lint(flags *lintOptions) error {
	if !slices.Contains([]string{"", "json", "sarif"}, flags.output) {
		return fmt.Errorf("--output %q is unknown; use json or sarif", flags.output)
	}
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
	reader := o.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, 0, err
		}
		defer func() { _ = opened.Close() }()
		reader = opened
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, 0, err
	}
	nodes, decoder := documents(content), yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return findings, checked, nil
		case err != nil:
			return nil, 0, err
		}
		if gvk := object.GroupVersionKind(); gvk.Group != workv1alpha1.GroupName || gvk.Kind != workv1alpha1.ManifestWorkReplicaSetKind.Kind {
			continue
		}
		line := func(string) int { return 0 }
		if checked < len(nodes) {
			line = func(field string) int { return lineOf(nodes[checked], field) }
		}
		findings = append(findings, lintObject(finding{File: file}, object, limit, line)...)
		checked++
	}
}

// lintObject checks one object. line returns the line of a field.
func lintObject(of finding, object *unstructured.Unstructured, limit int, line func(string) int) (findings []finding) {
	of.Object = object.GetNamespace() + "/" + object.GetName()
	verdict := validate.ReplicaSet(nil, object, validate.Limits{ManifestBytes: limit})
	for _, problem := range verdict.Errors {
		of.Severity, of.Type, of.Line = "error", string(problem.Type), line(problem.Field)
		of.Field, of.Message = problem.Field, problem.ErrorBody()
		findings = append(findings, of)
	}
	for _, warning := range verdict.Warnings {
		of.Severity, of.Type, of.Line, of.Field, of.Message = "warning", "Warning", line(""), "", warning
		findings = append(findings, of)
	}
	return findings
}

func (o *options) report(findings []finding, format string) error {
	switch format {
	case "sarif":
		return writeSARIF(o.Out, findings)
	case "json":
		encoder := json.NewEncoder(o.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(findings)
	}
	out := &printer{Writer: o.Out}
	for i := range findings {
		f := &findings[i]
		where := ""
		if f.Field != "" {
			where = f.Field + ": "
		}
		out.printf("%s: %s: %s: %s%s\n", f.File, f.Object, f.Severity, where, oneLine(f.Message))
	}
	return out.err
}
