package plugin

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// printSimulation prints the result of a simulation as text.
func (o *options) printSimulation(in *forecast.Input, s *simulation) error {
	out := newPrinter(o.Out, screenOf(o.Out))
	out.prose(plain.Line(s.Object)+"   ", fleetText(in))
	out.prose("assumed  ", agentsText(&in.Agents)+windowsText(in))
	for _, note := range s.Notes {
		out.prose("note     ", note)
	}
	out.prose("result   ",
		fmt.Sprintf("%d runs with seed %d in %s: %s", s.Result.Runs, s.Seed, s.Took, outcomesText(&s.Result)))
	out.text("\n")
	out.table(measureTable(&s.Result))
	if s.Result.Duration.P95.Open {
		out.prose("", "An interval that ends with … is open: there are too few runs. Use a larger --budget or --runs.")
	}
	if len(s.Changes) > 0 {
		out.text("\n")
		out.prose("", "What would change it, each change alone and on the same clusters (medians):")
		out.table(changeTable(s.Changes))
	}
	return out.err
}

func measureTable(s *forecast.Summary) *table {
	var rows [][]string
	row := func(name string, m *forecast.Measure, text func(float64) string) {
		rows = append(rows, []string{name, "at most " + quantileText(m.P50, text), "at most " + quantileText(m.P95, text)})
	}
	row("time until complete, aborted or at a standstill", &s.Duration, durationText)
	row("clusters that ran the new revision", &s.Exposed, countText)
	row("clusters that it never reached", &s.NeverReached, countText)
	if s.Restore != nil {
		row("time from an abort until all clusters are back", s.Restore, durationText)
	}
	if s.Unnoticed.P95.Value > 0 {
		row("broken clusters that count as successes", &s.Unnoticed, countText)
	}
	t := tableOf([]column{{}, {name: "HALF OF THE RUNS"}, {name: "95% OF THE RUNS"}}, rows, asIs)
	t.whole = true
	return t
}

func changeTable(changes []change) *table {
	t := tableOf([]column{
		{name: "CHANGE"}, {name: "RUNS"}, {name: "RAN THE NEW REVISION"}, {name: "TIME"}, {name: "ABORTED"}, {name: "COMPLETE"},
	}, changes, func(c *change) []string {
		is, was := &c.Result, &c.Without
		return []string{
			c.Change, strconv.Itoa(is.Runs),
			differenceText(is.Exposed.P50.Value, was.Exposed.P50.Value, countText),
			differenceText(is.Duration.P50.Value, was.Duration.P50.Value, durationText),
			differenceText(is.Share(forecast.Aborted), was.Share(forecast.Aborted), shareText),
			differenceText(is.Share(forecast.Complete), was.Share(forecast.Complete), shareText),
		}
	})
	t.whole = true
	return t
}

func fleetText(in *forecast.Input) string {
	var parts []string
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		name := in.ReplicaSet.Spec.PlacementRefs[i].Name
		part := fmt.Sprintf("%d clusters in placement %s", in.Placements[name].Selected, name)
		if groups := in.Placements[name].Groups; len(groups) > 1 {
			part += fmt.Sprintf(" (%d decision groups)", len(groups))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func agentsText(a *forecast.Agents) string {
	text := "a cluster succeeds after " + a.Apply.String()
	if a.Spread > 0 {
		low, high := a.Apply.Seconds()*math.Exp(-a.Spread), a.Apply.Seconds()*math.Exp(a.Spread)
		text += fmt.Sprintf(" (median; two thirds of them within %s to %s)", durationText(low), durationText(high))
	}
	if a.Slow > 0 {
		text += fmt.Sprintf("; %s are slow (%g times as long)", shareText(a.Slow), a.SlowFactor)
	}
	text += fmt.Sprintf("; %s fail, %s hang, %s are offline", shareText(a.Fail), shareText(a.Hang), shareText(a.Offline))
	if a.Held > 0 {
		text += fmt.Sprintf(", %s are on hold", shareText(a.Held))
	}
	return text
}

func windowsText(in *forecast.Input) string {
	if len(in.Windows) == 0 {
		return ""
	}
	return "; the rollout begins at " + in.Begin.Format(time.RFC3339) + ", and each cluster waits for its window"
}

func outcomesText(s *forecast.Summary) string {
	var parts []string
	for _, outcome := range []struct {
		of   forecast.Outcome
		text string
	}{
		{forecast.Complete, "complete"}, {forecast.Aborted, "aborted"}, {forecast.Stalled, "stalled"},
		{forecast.Waiting, "waiting indefinitely"},
	} {
		if s.Outcomes[outcome.of] > 0 {
			parts = append(parts, shareText(s.Share(outcome.of))+" "+outcome.text)
		}
	}
	return strings.Join(parts, ", ")
}

// quantileText returns a value with its confidence interval.
func quantileText(q forecast.Quantile, text func(float64) string) string {
	value, low, high := text(q.Value), text(q.Low), text(q.High)
	switch {
	case q.Open:
		return fmt.Sprintf("%s (%s to %s…)", value, low, high)
	case low == high:
		return value
	}
	return fmt.Sprintf("%s (%s to %s)", value, low, high)
}

// differenceText returns a value and its difference from the value without the change.
func differenceText(value, without float64, text func(float64) string) string {
	switch is, was := text(value), text(without); {
	case is == was:
		return is + " (same)"
	case value > without:
		return is + " (+" + text(value-without) + ")"
	default:
		return is + " (-" + text(without-value) + ")"
	}
}

func countText(v float64) string { return fmt.Sprintf("%.0f", v) }

func shareText(v float64) string { return fmt.Sprintf("%.3g%%", v*100) }

// durationText returns a number of seconds as a duration, without a trailing 0s.
func durationText(seconds float64) string {
	text := forecast.Seconds(seconds).Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		return strings.TrimSuffix(text, "0s")
	}
	return text
}
