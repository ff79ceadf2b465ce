package memory

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

func refusedBy(words string) error {
	return apierrors.NewForbidden(workv1.Resource("manifestworks"), "web", errors.New(words))
}

func internal(words string) error { return apierrors.NewInternalError(errors.New(words)) }

// tries is the memory of a process about the writes to two clusters.
type tries struct{ m Owner }

func (r *tries) see(at time.Duration, target string, a, b error) (refused, persisting []string) {
	outcome := r.m.Attempted([]Attempted{
		{Attempt{What: "cluster a", Target: target, Cluster: "a"}, a}, {Attempt{What: "cluster b", Target: target, Cluster: "b"}, b},
	}, rt.At(at))
	return outcome.Refused, outcome.Persisting
}

func (r *tries) refusalsSince(at time.Duration, target string, aborted bool, heard time.Duration) map[string]rollout.Rejection {
	notes := lifecycle.Notes{Failures: r.m.Failures(), Fleet: rollout.Fleet{Gap: rollout.UnknownGap(rt.At(heard))}}
	rejected, _ := notes.Refusals(target, aborted, rt.At(at))
	return rejected
}

func (r *tries) refusals(at time.Duration, target string, aborted bool) map[string]rollout.Rejection {
	return r.refusalsSince(at, target, aborted, -time.Hour)
}

// A write error is reported after the write has failed for a while. The report keeps its wording until the reason changes (P7).
func TestPersistingFailures(t *testing.T) {
	r := &tries{}
	see := func(at time.Duration, a, b error) []string {
		refused, persisting := r.see(at, "x", a, b)
		require.Empty(t, refused)
		return persisting
	}
	const told = "cluster a: Internal error occurred: one"
	require.Empty(t, see(0, nil, nil))
	require.Empty(t, see(0, internal("one"), internal("one")))
	require.Empty(t, see(time.Second, internal("two"), nil), "a hiccup")
	require.Equal(t, []string{told}, see(persistsAfter, internal("three"), ErrLater))
	require.Equal(t, []string{told}, see(time.Minute, ErrLater, internal("one")), "the write was not tried")
	require.Equal(t, []string{"cluster a: simulated"}, see(time.Minute, apierrors.NewTooManyRequests("simulated", 1), internal("one")))
	outcome := r.m.Attempted([]Attempted{{Attempt{What: "cluster b", Target: "x"}, internal("one")}}, rt.At(time.Minute+1))
	require.Empty(t, outcome.Persisting, "no write to a is wanted")
	require.Equal(t, []string{"cluster b: Internal error occurred: one"}, see(2*time.Minute, internal("one"), internal("two")))
	require.Empty(t, see(3*time.Minute, nil, nil))
}

// R11, P7: a rejection starts with the first answer and keeps its wording. It lasts until the write succeeds or a different write is
// wanted.
func TestRefusals(t *testing.T) {
	r := &tries{}
	for i, answer := range []error{
		refusedBy("request 1"), refusedBy("request 2"), internal("busy"), ErrRefusedLately, ErrLater,
		apierrors.NewConflict(workv1.Resource("manifestworks"), "web", errors.New("newer")), refusedBy("request 3"),
	} {
		refused, persisting := r.see(time.Duration(i)*time.Second, "x", answer, nil)
		require.Equal(t, []string{"cluster a: " + refusedBy("request 1").Error()}, refused, i)
		require.Empty(t, persisting)
	}
	require.Equal(t, map[string]rollout.Rejection{"a": {
		Since: rt.At(0), TriedAt: rt.At(6 * time.Second), Message: refusedBy("request 1").Error(),
	}}, r.refusals(10*time.Second, "x", false))
	a := Attempt{What: "cluster a", Target: "x"}
	require.True(t, r.m.RefusedLately(a, rt.At(11*time.Second)))
	require.False(t, r.m.RefusedLately(a, rt.At(12*time.Second)))
	require.False(t, r.m.RefusedLately(Attempt{What: "cluster a", Target: "y"}, rt.At(10*time.Second)), "another template")
	require.Empty(t, r.refusals(10*time.Second, "y", true))

	refused, _ := r.see(time.Minute, "x", apierrors.NewNotFound(workv1.Resource("namespaces"), "a"), nil)
	require.Contains(t, refused[0], "not found", "another reason changes the wording")
	require.Equal(t, rt.At(0), r.refusals(time.Minute, "x", false)["a"].Since, "but the rejection continues")
	r.see(2*time.Minute, "y", refusedBy("request 4"), nil)
	require.Equal(t, rt.At(2*time.Minute), r.refusals(2*time.Minute, "y", false)["a"].Since)
	r.see(3*time.Minute, "y", nil, nil)
	require.Empty(t, r.refusals(3*time.Minute, "y", false))
}

// TestBackoff: the time between two tries of a rejected write doubles, up to a minute. A write that is no longer wanted is forgotten.
func TestBackoff(t *testing.T) {
	r := &tries{}
	a := Attempt{What: "cluster a", Target: "x", Cluster: "a"}
	at := time.Duration(0)
	for _, wait := range []time.Duration{1, 1, 2, 4, 8, 16, 32, 60, 60} {
		outcome := r.m.Attempted([]Attempted{{a, refusedBy("a quota")}}, rt.At(at))
		require.Equal(t, rt.At(at+wait*time.Second), outcome.RetryAt)
		at += wait * time.Second
		require.True(t, r.m.RefusedLately(a, rt.At(at-1)))
		require.False(t, r.m.RefusedLately(a, rt.At(at)))
	}
	r.m.Attempted([]Attempted{{a, ErrRefusedLately}}, rt.At(at))
	require.Contains(t, r.refusals(at, "x", false), "a")
	r.m.Attempted(nil, rt.At(at))
	require.Empty(t, r.refusals(at, "x", false))
}

// R4: a write that fails for another reason than a rejection delays an abort for at most 2 minutes of contact with the API server. It
// blocks a rollout permanently.
func TestStuck(t *testing.T) {
	r := &tries{}
	for at := time.Duration(0); at <= lifecycle.StuckAfter; at += 30 * time.Second {
		r.see(at, "x", internal(fmt.Sprint(at)), nil)
	}
	require.Empty(t, r.refusals(lifecycle.StuckAfter-1, "x", true))
	require.Empty(t, r.refusals(lifecycle.StuckAfter, "x", false), "the write may have succeeded, and takes its slot")
	require.Contains(t, r.refusals(lifecycle.StuckAfter, "x", true), "a")
	require.Empty(t, r.refusalsSince(lifecycle.StuckAfter, "x", true, time.Minute), "the API server could not be reached")
	require.Contains(t, r.refusalsSince(lifecycle.StuckAfter+time.Minute, "x", true, time.Minute), "a")
}

// P7: the error of another request keeps its wording until the request succeeds.
func TestAnswers(t *testing.T) {
	m := &Owner{}
	require.Equal(t, refusedBy("1").Error(), m.Answered("patching", refusedBy("1")))
	require.Equal(t, refusedBy("1").Error(), m.Answered("patching", refusedBy("2")))
	m.StillFail([]string{"patching"})
	require.Equal(t, refusedBy("1").Error(), m.Answered("patching", refusedBy("3")))
	require.Equal(t, internal("4").Error(), m.Answered("patching", internal("4")))
	require.Equal(t, "port 1", m.Answered("creating", errors.New("port 1")))
	require.Equal(t, "port 1", m.Answered("creating", errors.New("port 2")))
	m.StillFail(nil)
	require.Equal(t, "port 3", m.Answered("creating", errors.New("port 3")))
}

// If a user retries a cluster, its write is tried at once, and no other write is. The time of its first rejection is kept.
func TestRetries(t *testing.T) {
	r := &tries{}
	r.see(0, "x", refusedBy("a quota"), refusedBy("a quota"))
	lately := func(cluster string) bool {
		return r.m.RefusedLately(Attempt{What: "cluster " + cluster, Target: "x"}, rt.At(0))
	}
	require.True(t, lately("a"))
	r.m.Retries(nil)
	require.True(t, lately("a"))
	r.m.Retries([]string{"a", "gone"})
	require.False(t, lately("a"))
	require.True(t, lately("b"))
	require.Equal(t, rt.At(0), r.refusals(0, "x", false)["a"].Since)
}

// If the clock is set back, times of writes that lie in the future become the current time. Other times stay.
func TestSetBack(t *testing.T) {
	r := &tries{}
	r.see(0, "x", internal("down"), nil)
	r.see(time.Hour, "x", internal("down"), refusedBy("a quota"))
	r.m.SetBack(rt.At(time.Minute))
	failing := maps.Clone(r.m.failing)
	require.Equal(t, []time.Time{rt.At(0), rt.At(time.Minute)}, []time.Time{failing["cluster a"].Since, failing["cluster a"].TriedAt})
	b := failing["cluster b"]
	require.Equal(t, []time.Time{rt.At(time.Minute), rt.At(time.Minute), rt.At(time.Minute)}, []time.Time{b.Since, b.RefusedSince, b.TriedAt})
	r.m.SetBack(rt.At(2 * time.Minute))
	require.Equal(t, failing, r.m.failing)
}

// An answer of the API server may contain the text of any webhook or policy. It enters conditions, events and the ledger on one line, without
// control characters.
func TestAnswersAreHarmless(t *testing.T) {
	const raw, harmless = "frozen by \x1b[31mpolicy\x1b[0m\nForged", `frozen by \x1b[31mpolicy\x1b[0m Forged`
	r := &tries{}
	refused, _ := r.see(0, "x", refusedBy(raw), nil)
	require.Len(t, refused, 1)
	require.Contains(t, refused[0], harmless)
	require.Contains(t, r.m.Failures()[0].Message, harmless)
	require.Contains(t, r.m.Answered("patching", refusedBy(raw)), harmless)
}
