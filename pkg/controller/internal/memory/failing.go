package memory

import (
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
)

// answer is the API server's first answer to a request that fails. IDs, ports and times in the answers change with each try: a condition
// with the latest answer would be written with each try (P7).
type answer struct {
	code   int32
	reason metav1.StatusReason
	words  string
}

// hear takes over the message of an error if its code or reason has changed.
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

// persistsAfter is how long every try of a write must have failed before the write is named. A write that failed once and was not retried,
// because of a pause or because its turn has not come, is not named.
const persistsAfter = 5 * time.Second

// failure is the result of a write that failed when it was last tried.
type failure struct {
	answer
	// cluster is the cluster whose work was to get the desired revision; empty for any other write.
	cluster, target string
	// since is when it first failed. refusedSince is when the API server first rejected it; zero if it did not.
	since, refusedSince, triedAt time.Time
}

// Outcome is the result of a pass's writes.
type Outcome struct {
	// Refused lists the writes that the API server rejects, and Persisting those that keep failing in another way.
	Refused, Persisting []string
	// RetryAt is when the first of the rejected writes may be retried; zero for none. A write that could already be retried does not count:
	// it waits for its turn, not for a time.
	RetryAt time.Time
}

// Attempted notes the results of a pass's writes, tried or not. Other writes are no longer wanted, and are forgotten.
func (m *Owners) Attempted(owner string, writes []Attempted, now time.Time) Outcome {
	before := m.failing(owner)
	failing := map[string]*failure{}
	for _, w := range writes {
		if next := before[w.What].after(w, now); next != nil {
			failing[w.What] = next
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

// failing returns the writes of an owner that failed when they were last tried. Neither the map nor its values are ever changed.
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
			if at := f.triedAt.Add(f.backoff()); at.After(now) && (o.RetryAt.IsZero() || at.Before(o.RetryAt)) {
				o.RetryAt = at
			}
		case f.triedAt.Sub(f.since) >= persistsAfter:
			o.Persisting = append(o.Persisting, what+": "+f.words)
		}
	}
	return o
}

// after returns the failure of a write after it was tried or left; nil for none. A rejected write stays rejected until the API server
// accepts it: neither a transient error nor a conflict is a new answer. An object that changes before each try counts as one that can't be
// written.
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

// fail notes that the write failed once more. While the API server rejects it, only another rejection is an answer: a transient error must
// not count as the try on which an abort rests.
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

// backoff returns the time between a rejected try and the next one. It doubles, up to a minute.
func (f *failure) backoff() time.Duration {
	return min(max(f.triedAt.Sub(f.refusedSince), firstRetry), RefusedInterval)
}

// RefusedLately reports whether the API server rejected a write so recently that it is not retried yet.
func (m *Owners) RefusedLately(owner string, a Attempt, now time.Time) bool {
	f := m.failing(owner)[a.What]
	return f != nil && f.target == a.Target && !f.refusedSince.IsZero() && lately(f.triedAt, now, f.backoff())
}

// Failures returns the writes of the desired revision that failed when they were last tried.
func (m *Owners) Failures(owner string) []lifecycle.Failure {
	var found []lifecycle.Failure
	for _, f := range m.failing(owner) {
		if f.cluster != "" {
			found = append(found, lifecycle.Failure{
				Cluster: f.cluster, Target: f.target, Message: f.words,
				Since: f.since, RefusedSince: f.refusedSince, TriedAt: f.triedAt,
			})
		}
	}
	return found
}

// Answered notes the API server's answer to a request that fails in each pass, and returns its first answer.
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

// StillFail forgets the answers to requests that no longer fail: those that are not listed.
func (m *Owners) StillFail(owner string, requests []string) {
	still := sets.New(requests...)
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.look(owner).answers, func(what string, _ *answer) bool { return !still.Has(what) })
}
