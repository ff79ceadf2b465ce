package work

import (
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Revision is the part of a ControllerRevision that Decide needs.
type Revision struct {
	// Name is the name of the ControllerRevision.
	Name string
	// Hash is its short name.
	Hash string
	// Digest is the digest of its template.
	Digest revision.Digest
	// Template is the spec that the works get. It must not be changed.
	Template *workv1.ManifestWorkSpec
	// ReportsDegraded is true if every agent reports Degraded for it, True or False. Until an agent has reported Degraded, its cluster has
	// not succeeded.
	ReportsDegraded bool
	// Reused is true if the template returned to an older revision.
	Reused bool
	// CountsFrom is the time at which the template returned to it, or when a user retried it; zero if neither happened. Earlier reports of
	// clusters that already have it do not count for this rollout. CountsFrom is the stored time, which decides the order of events.
	CountsFrom time.Time
	// BeginSeen is the time at which this process first saw that return or retry; zero if it does not matter. Durations are counted from
	// BeginSeen or CountsFrom, whichever is earlier.
	BeginSeen time.Time
	// Underway is true if its rollout is in progress.
	Underway bool
}

// begins returns the time from which the rollout counts: CountsFrom, or BeginSeen if that is earlier. If the clock of the hub that wrote
// CountsFrom was ahead of the real time, the rollout must not wait for that time.
func (r *Revision) begins() time.Time {
	if r.BeginSeen.IsZero() {
		return r.CountsFrom
	}
	return Earlier(r.CountsFrom, r.BeginSeen)
}

// NewRevision returns the part of a readable revision that Decide needs.
func NewRevision(rev *revision.Revision) *Revision {
	return &Revision{
		Name:     rev.Object.Name,
		Hash:     rev.Hash,
		Digest:   rev.Digest,
		Template: rev.Template,

		ReportsDegraded: rev.ReportsDegraded,
	}
}

// reportsProgress reports whether a rule in the template makes the agent report Progressing.
func (r *Revision) reportsProgress() bool {
	if r.Template == nil {
		return false
	}
	for i := range r.Template.ManifestConfigs {
		if hasRule(r.Template.ManifestConfigs[i].ConditionRules, workv1.ManifestProgressing) {
			return true
		}
	}
	return false
}

// hasRule reports whether a rule sets a condition of a type.
func hasRule(rules []workv1.ConditionRule, conditionType string) bool {
	return slices.ContainsFunc(rules, func(rule workv1.ConditionRule) bool { return rule.Condition == conditionType })
}
