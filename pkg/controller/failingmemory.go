package controller

import (
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
)

// answer is what the API server said to a request that fails, in the words of the first time. Ids, ports and times in them are others with each
// try: a condition that followed them would be written with each (P7).
type answer struct {
	code   int32
	reason metav1.StatusReason
	words  string
}

// hear takes over the words of an error, where its code or its reason is another one than before.
func (a *answer) hear(err error) {
	heard := answer{words: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		heard.code, heard.reason = known.Status().Code, known.Status().Reason
	}
	if a.words == "" || a.code != heard.code || a.reason != heard.reason {
		*a = heard
	}
}

// persistsAfter is for how long a write must have failed, at each try, before it is named.
const persistsAfter = 5 * time.Second

// failure is what a write came to that did not succeed when it was tried last.
type failure struct {
	answer
	// cluster is whose work was to become the desired revision; empty for another write.
	cluster, target string
	// since is when it failed first, refusedSince when the API server refused it first; the latter is zero where it did not.
	since, refusedSince, triedAt time.Time
}

// attempted is a write and what it came to.
type attempted struct {
	attempt
	err error
}

// attempted notes what the writes of a pass came to, and lists what the API server refuses, and what fails for some time in another way. What
// was not tried in this pass stays what it was, if it is listed here or kept; all else is not wanted any more, and is forgotten. retryAt is when
// the first of the refused ones may be tried again; one that could be by now waits for its turn, and not for a time.
func (m *ownerMemory) attempted(owner string, writes []attempted, kept []string, now time.Time) (refused, persisting []string, retryAt time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.look(owner).failing
	failing := map[string]*failure{}
	for _, what := range kept {
		if known := before[what]; known != nil {
			failing[what] = known
		}
	}
	for _, w := range writes {
		if next := before[w.what].after(w, now); next != nil {
			failing[w.what] = next
		} else {
			delete(failing, w.what)
		}
	}
	if len(before) > 0 || len(failing) > 0 {
		m.of(owner).failing = failing
	}
	for _, what := range slices.Sorted(maps.Keys(failing)) {
		switch f := failing[what]; {
		case !f.refusedSince.IsZero():
			refused = append(refused, what+": "+f.words)
			if at := f.triedAt.Add(refusedInterval); at.After(now) && (retryAt.IsZero() || at.Before(retryAt)) {
				retryAt = at
			}
		case now.Sub(f.since) >= persistsAfter:
			persisting = append(persisting, what+": "+f.words)
		}
	}
	return refused, persisting, retryAt
}

// after is what is known of a write after it was tried, or left; nil for nothing. What the API server refuses stays refused until it accepts
// it: that it is busy in between, or that the object changed, is no other answer. An object that changes before each try is one that can't be
// written.
func (f *failure) after(w attempted, now time.Time) *failure {
	same := f != nil && f.target == w.target
	switch {
	case w.err == nil:
		return nil
	case errors.Is(w.err, errLater), errors.Is(w.err, errRefusedLately):
		if !same {
			return nil
		}
		return f
	case same && (apierrors.IsConflict(w.err) || errors.Is(w.err, errUnseen)):
		return f
	}
	next := failure{cluster: w.cluster, target: w.target, since: now}
	if same {
		next = *f
	}
	next.triedAt = now
	if lasting := isLasting(w.err); lasting || next.refusedSince.IsZero() {
		if lasting && next.refusedSince.IsZero() {
			next.refusedSince = now
		}
		next.hear(w.err)
	}
	return &next
}

// refusedLately reports whether the API server refused a write less than a minute ago.
func (m *ownerMemory) refusedLately(owner string, a attempt, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.look(owner).failing[a.what]
	return f != nil && f.target == a.target && !f.refusedSince.IsZero() && now.Before(f.triedAt.Add(refusedInterval))
}

// failures are the writes of the desired revision that failed when they were tried last.
func (m *ownerMemory) failures(owner string) []plan.Failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []plan.Failure
	for _, f := range m.look(owner).failing {
		if f.cluster != "" {
			found = append(found, plan.Failure{
				Cluster: f.cluster, Target: f.target, Words: f.words, Since: f.since, RefusedSince: f.refusedSince, RetryAt: f.triedAt.Add(refusedInterval),
			})
		}
	}
	return found
}

// answered notes what the API server said to a request that fails in each pass, and returns its words of the first time.
func (m *ownerMemory) answered(owner, what string, err error) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if known.answers[what] == nil {
		if known.answers == nil {
			known.answers = map[string]*answer{}
		}
		known.answers[what] = &answer{}
	}
	known.answers[what].hear(err)
	return known.answers[what].words
}

// stillFail forgets what was said to requests that don't fail any more: those that are not listed.
func (m *ownerMemory) stillFail(owner string, requests []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answers := m.look(owner).answers
	maps.DeleteFunc(answers, func(what string, _ *answer) bool { return !slices.Contains(requests, what) })
}
