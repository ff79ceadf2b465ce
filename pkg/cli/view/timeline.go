package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Event is an entry in the timeline of a ManifestWorkReplicaSet.
type Event struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	// Bad is true for an abort and for a failure.
	Bad bool `json:"bad,omitempty"`
}

// Timeline returns the events that the objects record, oldest first. A revision records only its last rollout and its last abort.
func Timeline(o *Objects) []Event {
	o = Prepared(o)
	var events []Event
	add := func(at time.Time, bad bool, format string, args ...any) {
		if !at.IsZero() {
			events = append(events, Event{At: at, Bad: bad, Text: fmt.Sprintf(format, args...)})
		}
	}
	history := o.history()
	for _, r := range Revisions(o) {
		mark := history.ByHash(r.Hash)
		add(r.Started, false, "the rollout of revision %d started%s%s", r.Number, phrase(" by ", r.CreatedBy), phrase(": ", r.ChangeCause))
		if mark != nil {
			add(mark.Ended, false, "revision %d became the current revision", r.Number)
			add(mark.Retried, false, "a retry of revision %d was requested", r.Number)
		}
		at, by := o.aborts(&r, mark)
		add(at, true, "the rollout of revision %d was aborted%s%s", r.Number, phrase(" by ", by), phrase(": ", r.AbortReason))
		if mark != nil {
			if would := mark.WouldAbort; would != nil {
				add(would.At, true, "the rollout of revision %d was not aborted: %s", r.Number, would.Text(would.Clusters))
			}
			add(ptr.Deref(mark.Abort, revision.Abort{}).Restored, false,
				"restored: every cluster had confirmed the revision to which the abort of revision %d returned", r.Number)
		}
	}
	for _, cause := range causesOf(o.recorded(), nil) {
		add(cause.Since, true, "%s", cause.event())
	}
	if StateOf(o.ReplicaSet) == workv1alpha1.StatePaused {
		add(SinceOf(o.ReplicaSet), false, "the rollout was paused")
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events
}

// Restored reports whether the hub recorded that every cluster has confirmed the revision to which the abort returned. The record of an
// earlier abort does not count: it has another time. No times of different clocks are compared, because a client sets the time of an abort.
func Restored(o *Objects) bool {
	history, at := o.history(), o.ReplicaSet.Status.AbortedTime
	mark := history.ByHash(o.ReplicaSet.Status.UpdateRevision)
	if mark == nil || mark.Abort == nil || at == nil {
		return false
	}
	return !mark.Abort.Restored.IsZero() && mark.Abort.At.Truncate(time.Second).Equal(at.Truncate(time.Second))
}

// aborts returns the time at which the last rollout of a revision was aborted, and the user who aborted it. It prefers the status: the hub
// copies the mark of the revision from there later.
func (o *Objects) aborts(r *Revision, mark *revision.Revision) (at time.Time, by string) {
	if mark != nil && mark.Abort != nil {
		at, by = mark.Abort.At, mark.Abort.By
	}
	status := &o.ReplicaSet.Status
	if r.Update && status.AbortedTime != nil {
		at, by = status.AbortedTime.Time, cmp.Or(status.AbortedBy, by)
	}
	return at, by
}

// event describes the first failure or rejection of a recorded cause.
func (c *Cause) event() string {
	text := c.Clusters[0]
	if len(c.Clusters) > 1 {
		text = "the first of " + countOf(len(c.Clusters))
	}
	if c.State == StateRejected {
		text += " was rejected"
	} else {
		text += " failed: " + inWords(c.Reason)
	}
	return text + phrase(": ", c.Told())
}

// inWords returns a reason of the API as words: "DeadlineExceeded" as "deadline exceeded".
func inWords(reason workv1alpha1.FailureReason) string {
	var out strings.Builder
	for i, letter := range string(reason) {
		if i > 0 && unicode.IsUpper(letter) {
			out.WriteByte(' ')
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
}

// phrase returns the text after a separator, or nothing if there is no text.
func phrase(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}
