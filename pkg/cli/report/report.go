// Package report renders a ManifestWorkReplicaSet as one HTML page for a post-mortem. It is pure: the page depends only on the view. The
// page has no scripts and loads nothing. All text from agents and users is escaped.
package report

import (
	"bytes"
	"html/template"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// Input is the content of a report.
type Input struct {
	Fleet    *view.Fleet
	Clusters []view.Cluster
	Events   []view.Event
	// Diff is the unified diff from the current revision to the update revision, with masked Secrets. NoDiff is the reason why there is no
	// diff.
	Diff, NoDiff string
	// Now is the time of the report.
	Now time.Time
}

// Line is a line of the diff. Its class is added, removed, place or empty.
type Line struct{ Class, Text string }

// Lines returns the lines of the diff.
func (in *Input) Lines() []Line {
	var lines []Line
	for text := range strings.SplitSeq(strings.TrimSuffix(in.Diff, "\n"), "\n") {
		class := ""
		switch {
		case strings.HasPrefix(text, "@@"), strings.HasPrefix(text, "--- "), strings.HasPrefix(text, "+++ "):
			class = "place"
		case strings.HasPrefix(text, "+"):
			class = "added"
		case strings.HasPrefix(text, "-"):
			class = "removed"
		}
		lines = append(lines, Line{class, text})
	}
	return lines
}

// Render returns the page.
func Render(in *Input) ([]byte, error) {
	var page bytes.Buffer
	err := layout.Execute(&page, in)
	return page.Bytes(), err
}

var layout = template.Must(template.New("report").Funcs(template.FuncMap{
	"text": plain.Text, "time": stamp, "percent": percent, "list": func(names []string) string { return strings.Join(names, ", ") },
	"reached": func(r *view.Reached) string { return r.Text(duration.HumanDuration) }, "class": classOf,
}).Parse(page))

// classOf returns the class of the state of a cluster: bad, good, or empty.
func classOf(state view.State) string {
	if level := view.LevelOf(string(state)); level == view.LevelBad || level == view.LevelGood {
		return string(level)
	}
	return ""
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return "–"
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

func percent(part, total int) int {
	if total <= 0 {
		return 0
	}
	return min(100, part*100/total)
}
