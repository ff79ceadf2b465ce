package memory

import (
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// answer is the API server's first answer to a request that fails. IDs, ports and times in the answers change with each
// try, so a condition with the latest answer would be rewritten after each try (P7).
type answer struct {
	code   int32
	reason metav1.StatusReason
	words  string
}

// hear stores the message of an error if its code or reason has changed. The message may contain the text of any webhook or policy.
func (a *answer) hear(err error) {
	heard := answer{words: plain.Line(err.Error())}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		heard.code, heard.reason = known.Status().Code, known.Status().Reason
	}
	if a.words == "" || a.code != heard.code || a.reason != heard.reason {
		*a = heard
	}
}

// persistsAfter is the time for which every try of a write must have failed before a condition names the write. A write
// that failed once and was not retried, because of a pause or because it still waits for its turn, is not named.
const persistsAfter = 5 * time.Second

// failure is the result of a write that failed when it was last tried.
type failure struct {
	// Failure has a Cluster only if the write is that of the desired revision. Its Message is in answer.
	lifecycle.Failure
	answer answer
}

// Outcome is the result of a pass's writes.
type Outcome struct {
	// Refused lists the writes that the API server rejects. Persisting lists the writes that keep failing for other
	// reasons.
	Refused, Persisting []string
	// RetryAt is the time at which the first of the rejected writes may be retried; zero for none. A write that may
	// already be retried does not count, because it waits for its turn, not for a time.
	RetryAt time.Time
}

// Attempted records the results of a pass's writes, tried or not. It forgets all other writes, because they are no
// longer wanted.
func (o *Owner) Attempted(writes []Attempted, now time.Time) Outcome {
	failing := map[string]*failure{}
	for _, w := range writes {
		if next := o.failing[w.What].after(w, now); next != nil {
			failing[w.What] = next
		}
	}
	o.failing = failing
	return outcomeOf(failing, now)
}

func outcomeOf(failing map[string]*failure, now time.Time) (o Outcome) {
	for _, what := range slices.Sorted(maps.Keys(failing)) {
		switch f := failing[what]; {
		case !f.RefusedSince.IsZero():
			o.Refused = append(o.Refused, what+": "+f.answer.words)
			if at := f.TriedAt.Add(f.backoff()); at.After(now) && (o.RetryAt.IsZero() || at.Before(o.RetryAt)) {
				o.RetryAt = at
			}
		case f.TriedAt.Sub(f.Since) >= persistsAfter:
			o.Persisting = append(o.Persisting, what+": "+f.answer.words)
		}
	}
	return o
}

// after returns the failure of a write after the write was tried or skipped; nil for none. A rejected write stays
// rejected until the API server accepts it: neither a transient error nor a conflict is a new answer. An object that
// changes before each try counts as one that can't be written.
func (f *failure) after(w Attempted, now time.Time) *failure {
	same := f != nil && f.Target == w.Target
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
	next := failure{Failure: lifecycle.Failure{Cluster: w.Cluster, Target: w.Target, Since: now}}
	if same {
		next = *f
	}
	next.fail(w.Err, now)
	return &next
}

// fail records that the write failed again. While the API server rejects the write, only another rejection counts: an
// abort must not be based on a transient error.
func (f *failure) fail(err error, now time.Time) {
	lasting := IsLasting(err)
	if lasting || f.RefusedSince.IsZero() {
		f.TriedAt = now
	}
	if lasting && f.RefusedSince.IsZero() {
		f.RefusedSince = now
	}
	if lasting || f.RefusedSince.IsZero() {
		f.answer.hear(err)
	}
}

// backoff returns the time between a rejected try and the next one. It doubles, up to a minute.
func (f *failure) backoff() time.Duration {
	return min(max(f.TriedAt.Sub(f.RefusedSince), firstRetry), RefusedInterval)
}

// RefusedLately reports whether the API server rejected a write so recently that the write must not be retried yet.
func (o *Owner) RefusedLately(a Attempt, now time.Time) bool {
	f := o.failing[a.What]
	return f != nil && f.Target == a.Target && !f.RefusedSince.IsZero() && lately(f.TriedAt, now, f.backoff())
}

// Failures returns the writes of the desired revision that failed when they were last tried.
func (o *Owner) Failures() []lifecycle.Failure {
	var found []lifecycle.Failure
	for _, f := range o.failing {
		if f.Cluster != "" {
			write := f.Failure
			write.Message = f.answer.words
			found = append(found, write)
		}
	}
	return found
}

// Answered records the API server's answer to a request that fails in each pass, and returns the first answer.
func (o *Owner) Answered(what string, err error) string {
	if o.answers == nil {
		o.answers = map[string]*answer{}
	}
	if o.answers[what] == nil {
		o.answers[what] = &answer{}
	}
	o.answers[what].hear(err)
	return o.answers[what].words
}

// StillFail forgets the answers to all requests that are not listed, because they no longer fail.
func (o *Owner) StillFail(requests []string) {
	maps.DeleteFunc(o.answers, func(what string, _ *answer) bool { return !slices.Contains(requests, what) })
}
