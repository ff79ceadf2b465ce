package memory

import (
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
)

// answer is what the API server said to a request that fails, in the words of the first time. Ids, ports and times in them are others with
// each try: a condition that followed them would be written with each (P7).
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

// persistsAfter is for how long a write must have failed, at each try, before it is named. One that failed once and was not tried again,
// because of a pause or because its turn has not come, is not named.
const persistsAfter = 5 * time.Second

// failure is what a write came to that did not succeed when it was tried last.
type failure struct {
	answer
	// cluster is whose work was to become the desired revision; empty for another write.
	cluster, target string
	// since is when it failed first, refusedSince when the API server refused it first; the latter is zero where it did not.
	since, refusedSince, triedAt time.Time
}

// Outcome is what the writes of a pass came to.
type Outcome struct {
	// Refused lists what the API server refuses, Persisting what fails for some time in another way.
	Refused, Persisting []string
	// RetryAt is when the first of the refused writes may be tried again; zero for none. One that could be by now waits for its turn, and not
	// for a time.
	RetryAt time.Time
}

// Attempted notes what the writes of a pass came to. What was not tried in this pass stays what it was, if it is listed here or kept; all
// else is not wanted any more, and is forgotten.
func (m *Owners) Attempted(owner string, writes []Attempted, kept []string, now time.Time) Outcome {
	before := m.failing(owner)
	failing := map[string]*failure{}
	for _, what := range kept {
		if known := before[what]; known != nil {
			failing[what] = known
		}
	}
	for _, w := range writes {
		if next := before[w.What].after(w, now); next != nil {
			failing[w.What] = next
		} else {
			delete(failing, w.What)
		}
	}
	outcome := outcomeOf(failing, now)
	if len(before) > 0 || len(failing) > 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.of(owner).failing = failing
	}
	return outcome
}

// failing are the writes of an owner that failed when they were tried last. Neither the map nor what it holds is ever changed.
func (m *Owners) failing(owner string) map[string]*failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).failing
}

func outcomeOf(failing map[string]*failure, now time.Time) (o Outcome) {
	for _, what := range slices.Sorted(maps.Keys(failing)) {
		switch f := failing[what]; {
		case !f.refusedSince.IsZero():
			o.Refused = append(o.Refused, what+": "+f.words)
			if at := f.triedAt.Add(RefusedInterval); at.After(now) && (o.RetryAt.IsZero() || at.Before(o.RetryAt)) {
				o.RetryAt = at
			}
		case f.triedAt.Sub(f.since) >= persistsAfter:
			o.Persisting = append(o.Persisting, what+": "+f.words)
		}
	}
	return o
}

// after is what is known of a write after it was tried, or left; nil for nothing. What the API server refuses stays refused until it
// accepts it: that it is busy in between, or that the object changed, is no other answer. An object that changes before each try is one
// that can't be written.
func (f *failure) after(w Attempted, now time.Time) *failure {
	same := f != nil && f.target == w.Target
	switch {
	case w.Err == nil:
		return nil
	case errors.Is(w.Err, ErrLater), errors.Is(w.Err, ErrRefusedLately):
		if !same {
			return nil
		}
		return f
	case same && (apierrors.IsConflict(w.Err) || errors.Is(w.Err, ErrUnseen)):
		return f
	}
	next := failure{cluster: w.Cluster, target: w.Target, since: now}
	if same {
		next = *f
	}
	next.fail(w.Err, now)
	return &next
}

// fail notes that the write failed once more. While the API server rejects it, only another rejection is an answer: an error that passes
// must not count as the try on which an abort rests (R11).
func (f *failure) fail(err error, now time.Time) {
	lasting := IsLasting(err)
	if lasting || f.refusedSince.IsZero() {
		f.triedAt = now
	}
	if lasting && f.refusedSince.IsZero() {
		f.refusedSince = now
	}
	if lasting || f.refusedSince.IsZero() {
		f.hear(err)
	}
}

// RefusedLately reports whether the API server refused a write less than a minute ago.
func (m *Owners) RefusedLately(owner string, a Attempt, now time.Time) bool {
	f := m.failing(owner)[a.What]
	return f != nil && f.target == a.Target && !f.refusedSince.IsZero() && now.Before(f.triedAt.Add(RefusedInterval))
}

// Failures are the writes of the desired revision that failed when they were tried last.
func (m *Owners) Failures(owner string) []plan.Failure {
	var found []plan.Failure
	for _, f := range m.failing(owner) {
		if f.cluster != "" {
			found = append(found, plan.Failure{
				Cluster: f.cluster, Target: f.target, Words: f.words,
				Since: f.since, RefusedSince: f.refusedSince, TriedAt: f.triedAt,
			})
		}
	}
	return found
}

// Answered notes what the API server said to a request that fails in each pass, and returns its words of the first time.
func (m *Owners) Answered(owner, what string, err error) string {
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

// StillFail forgets what was said to requests that don't fail any more: those that are not listed.
func (m *Owners) StillFail(owner string, requests []string) {
	still := sets.New(requests...)
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.look(owner).answers, func(what string, _ *answer) bool { return !still.Has(what) })
}
