package screen

import (
	"fmt"
	"strings"
)

// line is a line of a screen. Its key stays the same when its text changes.
type line struct {
	key  string
	text string
}

// checkKey begins the key of a check's line.
const checkKey = "check "

// head renders what stays the same during a step.
func head(view View) []line {
	return []line{{"title", fmt.Sprintf("[%d/%d] %s", view.Step, view.Steps, view.Title)}, {"why", "      " + view.Why}}
}

// body renders what changes during a step.
func body(view View) []line {
	var lines []line
	add := func(key, format string, args ...any) {
		lines = append(lines, line{key, strings.TrimRight(fmt.Sprintf(format, args...), " ")})
	}
	names, revisions := len("CLUSTER"), len("REVISION")
	for _, cluster := range view.Clusters {
		names, revisions = max(names, len(cluster.Name)), max(revisions, len(cluster.Revision.short()))
	}
	add("clusters", "  %-*s  %-*s  STATE", names, "CLUSTER", revisions, "REVISION")
	for _, cluster := range view.Clusters {
		add("cluster "+cluster.Name, "  %-*s  %-*s  %s", names, cluster.Name, revisions, cluster.Revision.short(), cluster.State)
	}
	add("current", "  current revision  %s", view.Current.long())
	add("update", "  update revision   %s", view.Update.long())

	types, statuses := len("CONDITION"), len("Unknown")
	for _, condition := range view.Conditions {
		types = max(types, len(condition.Type))
	}
	add("conditions", "  %-*s  %-*s  REASON", types, "CONDITION", statuses, "STATUS")
	for _, condition := range view.Conditions {
		add("condition "+condition.Type, "  %-*s  %-*s  %s", types, condition.Type, statuses, condition.Status, condition.Reason)
	}
	if view.Message != "" {
		add("message", "  the hub says: %s", view.Message)
	}
	for _, check := range view.Checks {
		mark := "[ ]"
		if check.Done {
			mark = "[x]"
		}
		add(checkKey+check.Text, "  %s %s", mark, check.Text)
	}
	return lines
}

func (r Revision) short() string {
	switch {
	case r.Hash == "":
		return "-"
	case r.Version == "":
		return r.Hash
	default:
		return fmt.Sprintf("%s (%s)", r.Hash, r.Version)
	}
}

func (r Revision) long() string {
	if r.Hash == "" || r.Number == 0 {
		return r.short()
	}
	return fmt.Sprintf("%s, number %d", r.short(), r.Number)
}
