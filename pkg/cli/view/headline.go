package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Headline describes the state in one sentence: the present state or the next event. A screen that shows it fills in the time.
type Headline struct {
	Before string `json:"before"`
	// At is the time in the sentence; zero if the sentence has no time.
	At    time.Time `json:"at,omitzero"`
	After string    `json:"after,omitempty"`
	Level Level     `json:"level"`
}

// Level is the urgency of a headline, or of a state.
type Level string

// The levels.
const (
	LevelGood Level = "good"
	LevelBusy Level = "busy"
	LevelWarn Level = "warn"
	LevelBad  Level = "bad"
)

func says(level Level, format string, args ...any) Headline {
	return Headline{Before: fmt.Sprintf(format, args...), Level: level}
}

// headline returns the headline of a view whose other fields are set: the problem, or else the next event, or else the progress. While no
// cluster is sick, the clusters in flight are expected to succeed. unverified is true if the clusters of a Placement are unknown, or if a
// Placement has no clusters.
func headline(f *Fleet, unverified bool) Headline {
	sick := unverified || len(f.Attention) > 0 && f.Attention[0].troubled()
	switch {
	case len(f.Alarms) > 0:
		return says(LevelBad, "%s. This information may be out of date.", sentence(f.Alarms[0].Text))
	case f.State == workv1alpha1.StateInvalid:
		return says(LevelBad, "The hub can’t follow the spec, and changes nothing until the spec is corrected.")
	}
	first := func(level Level, timed bool) int {
		return slices.IndexFunc(f.Then, func(fact Fact) bool { return fact.level == level && fact.At.IsZero() != timed })
	}
	if at := first(LevelBad, true); at >= 0 {
		return Headline{Before: "In ", At: f.Then[at].At, After: ": " + f.Then[at].Text + ".", Level: LevelBad}
	}
	for _, level := range []Level{LevelBad, LevelWarn} {
		if at := first(level, false); at >= 0 {
			return says(level, "%s.", sentence(f.Then[at].Text))
		}
	}
	found := says(LevelOf(string(f.State)), "%s.", sentence(f.Summary))
	if sick && (found.Level == LevelGood || found.Level == LevelBusy) {
		found.Level = LevelWarn
	}
	if f.Estimate != nil {
		found.Before, found.At, found.After = found.Before+" The rest are expected in ", f.Estimate.Rollout, "."
	}
	return found
}

// sentence capitalizes the first letter of a text.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
