package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/resource"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/manifest"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/validate"
)

// lintOptions holds the flags of the lint command.
type lintOptions struct {
	files     []string
	against   []string
	recursive bool
	output    output
	limit     int
}

// finding is an error or a warning about an object in a file.
type finding struct {
	File     string `json:"file"`
	Object   string `json:"object,omitempty"`
	Severity string `json:"severity"`
	// Line is the line of the field, or of its nearest parent in the file. It is 0 if it is unknown.
	Line int `json:"line,omitempty"`
	// Type is the kind of the error, as in Kubernetes' field errors, or one of the types below.
	Type string `json:"-"`
	// Field is the path of the invalid field. It is empty for warnings.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// uri is the URI of the file.
	uri string
}

// The types of the findings that are not field errors.
const (
	typeWarning = "Warning"
	typeBroken  = "BrokenDocument"
	typeUnknown = "UnknownField"
)

const severityError = "error"

func newLint(o *options) *cobra.Command {
	flags := &lintOptions{}
	cmd := &cobra.Command{
		Use: "lint -f FILE", GroupID: groupAhead, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Check manifests as the admission webhook does, without a hub",
		Long: "Check manifests as the admission webhook does, without a hub. Unknown fields are errors, too.\n" +
			"Objects of other kinds are skipped. The exit code is 1 if there is an error; warnings do not affect it.",
		Example: `  # Check the files in a directory in a pipeline
  kubectl mwrs lint -f manifests/

  # Also check what a change would lose, and which parts of it clusters would reject
  git show main:web.yaml > before.yaml
  kubectl mwrs lint -f web.yaml --against before.yaml

  # Check the output of another tool
  kustomize build . | kubectl mwrs lint -f - -o json

  # Write a report for a code scanner
  kubectl mwrs lint -f web.yaml -o sarif > lint.sarif`,
		RunE: func(*cobra.Command, []string) error { return o.lint(flags) },
	}
	cmd.Flags().StringSliceVarP(&flags.files, "filename", "f", nil, "Files, directories or patterns to check; - reads from standard input")
	cmd.Flags().StringSliceVar(&flags.against, "against", nil, "Files or directories with the objects before the change: "+
		"warn about irreversible effects of the rollout or its abort")
	cmd.Flags().BoolVarP(&flags.recursive, "recursive", "R", false, "Check the files in subdirectories, too")
	flags.output.addFlag(cmd, "sarif")
	cmd.Flags().IntVar(&flags.limit, "manifest-limit", handover.DefaultLimits().ManifestBytes,
		"Maximum total size of the manifests of one object in bytes; use the value of the webhook's --manifestLimit")
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

func (o *options) lint(flags *lintOptions) error {
	plain.For(o.Out).Inert() // A pipeline may run lint on untrusted files.
	plain.For(o.ErrOut).Inert()
	files, err := expand(flags.files, flags.recursive)
	if err != nil {
		return err
	}
	before, err := o.setsBefore(flags)
	if err != nil {
		return err
	}
	findings, checked := []finding{}, 0
	for _, file := range files {
		found, n, err := o.lintFile(file, flags.limit, before)
		if err != nil {
			return err
		}
		findings, checked = append(findings, found...), checked+n
	}
	if checked == 0 && len(findings) == 0 {
		return errors.New("there is no ManifestWorkReplicaSet in the files")
	}
	for i := range findings {
		findings[i].inert()
	}
	if err := o.report(findings, &flags.output); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.Severity == severityError }) {
		return &exitError{code: 1}
	}
	return nil
}

// inert makes the texts of a finding harmless in every format: a tool may print a part of the report to the log of a pipeline.
func (f *finding) inert() {
	f.uri = uriOf(f.File)
	for _, text := range []*string{&f.File, &f.Object, &f.Field, &f.Message} {
		*text = plain.Inert(*text)
	}
}

// expand returns the files of the paths as kubectl does: a directory stands for its YAML and JSON files, and a path that does not exist is
// a pattern.
func expand(paths []string, recursive bool) (files []string, err error) {
	for _, path := range paths {
		matches := []string{path}
		if _, err := os.Stat(path); path != "-" && errors.Is(err, fs.ErrNotExist) {
			if matches, err = filepath.Glob(path); err != nil || len(matches) == 0 {
				return nil, fmt.Errorf("%s: there is no such file or directory, and no file matches it as a pattern", path)
			}
		}
		for _, match := range matches {
			found, err := filesIn(match, recursive)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

// filesIn returns the files in a directory, or the file itself. It skips devices and pipes in a directory, because reading them may never
// end.
func filesIn(path string, recursive bool) (files []string, err error) {
	if path == "-" {
		return []string{path}, nil
	}
	visitors, err := resource.ExpandPathsToFileVisitors(nil, path, recursive, resource.FileExtensions, nil)
	if err != nil {
		return nil, err
	}
	for _, visitor := range visitors {
		file := visitor.(*resource.FileVisitor).Path
		if info, err := os.Stat(file); file == path || err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no file with one of the extensions %s", path, strings.Join(resource.FileExtensions, ", "))
	}
	return files, nil
}

// setsBefore returns the objects before the change, by namespace and name.
func (o *options) setsBefore(flags *lintOptions) (map[string]*workv1alpha1.ManifestWorkReplicaSet, error) {
	before := map[string]*workv1alpha1.ManifestWorkReplicaSet{}
	files, err := expand(flags.against, flags.recursive)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		sets, err := o.setsOf(file)
		if err != nil {
			return nil, fmt.Errorf("--against: %w", err)
		}
		for _, set := range sets {
			before[set.Namespace+"/"+set.Name] = set
		}
	}
	return before, nil
}

// irreversibleWarnings returns warnings about the irreversible effects of the change from an older object.
func irreversibleWarnings(before map[string]*workv1alpha1.ManifestWorkReplicaSet, set *manifest.Set) []string {
	old := before[set.Name()]
	if old == nil {
		return nil
	}
	now, _ := set.Decoded() // A decoding error is already a finding.
	return view.Irreversible(&old.Spec.ManifestWorkTemplate, now)
}

// lintFile checks the ManifestWorkReplicaSets in a file. It returns the findings and the number of objects checked. A document that can't
// be read is a finding.
func (o *options) lintFile(
	file string, limit int, before map[string]*workv1alpha1.ManifestWorkReplicaSet,
) (findings []finding, checked int, err error) {
	reader, err := o.open(file)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = reader.Close() }()
	for set, err := range manifest.Sets(reader) {
		if errors.Is(err, context.Canceled) {
			return nil, 0, err // The user canceled the command.
		}
		if err != nil {
			f := finding{File: file, Severity: severityError, Type: typeBroken, Message: err.Error()}
			if broken := (*manifest.BrokenError)(nil); errors.As(err, &broken) {
				f.Line = broken.Line
			}
			findings = append(findings, f)
			continue
		}
		findings = append(findings, lintObject(finding{File: file}, set, limit, irreversibleWarnings(before, set))...)
		checked++
	}
	return findings, checked, nil
}

// lintObject checks one object.
func lintObject(of finding, set *manifest.Set, limit int, irreversible []string) (findings []finding) {
	of.Object = set.Name()
	of.Severity = severityError
	findings = unknownFields(of, set)
	verdict := validate.ReplicaSet(nil, set.Object, validate.Limits{ManifestBytes: limit})
	for _, problem := range verdict.Errors {
		of.Type, of.Line = string(problem.Type), set.Line(problem.Field)
		of.Field, of.Message = problem.Field, problem.ErrorBody()
		findings = append(findings, of)
	}
	for _, warning := range append(verdict.Warnings, irreversible...) {
		of.Severity, of.Type, of.Line, of.Field, of.Message = "warning", typeWarning, set.Line(""), "", warning
		findings = append(findings, of)
	}
	return findings
}

const (
	// maxUnknown is the maximum number of unknown fields that are named for one object.
	maxUnknown = 10
	// maxFieldText is the maximum length of the path of an unknown field in bytes.
	maxFieldText = 300
)

// unknownFields returns the findings about fields that no ManifestWorkReplicaSet has.
func unknownFields(of finding, set *manifest.Set) (findings []finding) {
	of.Type = typeUnknown
	unknown := set.Unknown()
	for i, path := range unknown {
		of.Line, of.Field, of.Message = set.Line(path), revision.Shortened(path, maxFieldText), "unknown field"
		if i == maxUnknown {
			of.Line, of.Field, of.Message = set.Line(""), "", fmt.Sprintf("%d more unknown fields are not listed here", len(unknown)-maxUnknown)
			return append(findings, of)
		}
		findings = append(findings, of)
	}
	return findings
}

func (o *options) report(findings []finding, to *output) error {
	switch {
	case to.format == "sarif":
		return to.print(o, sarifOf(findings))
	case to.isSet():
		return to.print(o, findings)
	}
	out := newPrinter(o.Out, screen{})
	for i := range findings {
		f := &findings[i]
		out.printf("%s\n", joined(f.File, f.Object, f.Severity, f.Field, f.Message))
	}
	return out.err
}

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), ": ")
}
