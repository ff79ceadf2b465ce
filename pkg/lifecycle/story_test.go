package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// world is an API server with the revisions of one object, as far as steps read and write it.
type world struct {
	value     string
	status    status.Revisions
	revisions map[string]*appsv1.ControllerRevision
	works     []work.Work
	fails     map[string]bool
}

func (w *world) clone() *world {
	copied := *w
	copied.revisions = map[string]*appsv1.ControllerRevision{}
	for name, o := range w.revisions {
		copied.revisions[name] = o.DeepCopy()
	}
	return &copied
}

// view is what a pass sees: a cache shows revisions by their labels.
func (w *world) view() *lifecycle.View {
	var cached []*appsv1.ControllerRevision
	for _, name := range slices.Sorted(maps.Keys(w.revisions)) {
		if w.revisions[name].Labels[workv1alpha1.LabelReplicaSet] != "" {
			cached = append(cached, w.revisions[name].DeepCopy())
		}
	}
	v := view(w.value, w.status, cached...)
	v.Works = w.works
	return v
}

func (w *world) perform(step *lifecycle.Step) lifecycle.Answer {
	is := lifecycle.Answer{Key: step.Key, Result: lifecycle.Done}
	if w.fails[string(step.Action)] {
		is.Result, is.Err = lifecycle.Failed, errQuota
		return is
	}
	switch step.Action {
	case lifecycle.Create, lifecycle.Record:
		if w.revisions[step.Revision.Name] != nil {
			is.Result = lifecycle.Exists
			return is
		}
		created := step.Revision.DeepCopy()
		created.UID = "uid"
		w.revisions[created.Name] = created
	case lifecycle.ReadLive:
		if is.Object = w.revisions[step.Name].DeepCopy(); is.Object == nil {
			is.Result = lifecycle.Missing
		}
	case lifecycle.ReadSpec:
		for _, value := range []string{"a", "b", "c"} {
			if digestOf(value) == step.Digest {
				is.Spec = template(value)
			}
		}
	case lifecycle.BumpCollision:
		w.status.CollisionCount = &step.Collisions
	case lifecycle.Await:
	default:
		w.patch(step)
	}
	return is
}

func (w *world) patch(step *lifecycle.Step) {
	patched := w.revisions[step.Revision.Name]
	for key, value := range step.Patch.Labels {
		if patched.Labels == nil {
			patched.Labels = map[string]string{}
		}
		patched.Labels[key] = value
	}
	if step.Patch.Record != nil {
		revisiontest.Amend(patched, func(r *revision.Record) { *r = *step.Patch.Record })
	}
	if step.Patch.Number != 0 {
		patched.Revision = step.Patch.Number
	}
}

// mostSteps is more than any pass takes.
const mostSteps = 60

// pass makes one, or a part of one: the process is killed after some steps.
func (w *world) pass(steps int) (last lifecycle.Step, asked int) {
	v, keys := w.view(), map[string]bool{}
	for {
		last = lifecycle.Next(v)
		switch {
		case last.Action == lifecycle.Hold || last.Action == lifecycle.Proceed, asked == steps:
			return last, asked
		case keys[last.Key]:
			panic(fmt.Sprintf("asked again: %s", last.Key))
		}
		keys[last.Key] = true
		v.Answers = append(v.Answers, w.perform(&last))
		asked++
	}
}

// settle makes passes until nothing is written any more.
func (w *world) settle(t require.TestingT) lifecycle.Step {
	for range mostSteps {
		last, asked := w.pass(mostSteps)
		require.Less(t, asked, mostSteps, "the chain ends")
		if last.Action == lifecycle.Proceed || (last.Reason != lifecycle.Written && last.Reason != lifecycle.Refused) {
			return last
		}
		if len(w.fails) > 0 {
			return last
		}
	}
	require.Fail(t, "it never comes to rest")
	return lifecycle.Step{}
}

// state is what counts of the revisions.
func (w *world) state() string {
	h := w.view().History
	found := ""
	for i := range h.Revisions {
		rev := &h.Revisions[i]
		found += fmt.Sprintf("%s %s current=%t recorded=%t reused=%t\n", rev.Hash, rev.Digest, rev.WasCurrent(), !rev.Recorded.IsZero(), !rev.Reused.IsZero())
	}
	return found
}

// story is a world that somebody did things to.
func story(t *rapid.T) *world {
	w := &world{value: "a", revisions: map[string]*appsv1.ControllerRevision{}}
	for range rapid.IntRange(1, 6).Draw(t, "events") {
		w.settle(t)
		w.happens(t)
	}
	return w
}

func (w *world) happens(t *rapid.T) {
	value := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value")
	switch rapid.SampledFrom([]string{"template", "delete", "strip", "lose", "complete", "take", "works", "foreign"}).Draw(t, "event") {
	case "template":
		w.status.UpdateRevision = hashOf(w.value)
		w.value = value
	case "delete":
		delete(w.revisions, nameOf(value))
	case "strip":
		if o := w.revisions[nameOf(value)]; o != nil {
			o.Labels = nil
		}
	case "lose":
		w.status = status.Revisions{}
	case "complete":
		if o := w.revisions[nameOf(value)]; o != nil {
			current(time.Duration(len(w.revisions)) * time.Minute)(o)
			w.status.CurrentRevision = hashOf(value)
		}
	case "take":
		if w.revisions[nameOf(value)] == nil {
			w.revisions[nameOf(value)] = object(value, 1, foreign)
		}
	case "works":
		w.works = []work.Work{ours("c1", value), ours("c2", w.value), ours("c3", value, rt.Succeeded(0))}
	case "foreign":
		w.works = []work.Work{theirs("c1", value), theirs("c2", value), theirs("c3", w.value)}
	}
}

// The chain always ends, and proceeds only when the newest revision is the template's.
func TestChainEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := story(t)
		last := w.settle(t)
		require.Equal(t, lifecycle.Proceed, last.Action)
		require.False(t, last.Outcome.TemplateHeld)
		h := w.view().History
		require.Equal(t, digestOf(w.value), h.Newest().Digest)
		require.Equal(t, h.Newest().Hash, last.Outcome.Update.Hash)
		before := w.state()
		_, asked := w.pass(mostSteps)
		require.Equal(t, before, w.state(), "and then nothing is written any more (P7), after %d questions", asked)
	})
}

// A process that is killed between two steps leaves behind what its successor needs (P5).
func TestKilledBetweenSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := story(t)
		whole := w.clone()
		whole.settle(t)
		_, steps := w.clone().pass(mostSteps)
		killed := w.clone()
		killed.pass(rapid.IntRange(0, steps).Draw(t, "killed after"))
		killed.settle(t)
		require.Equal(t, whole.state(), killed.state())
	})
}

// Requests that fail start nothing new, and once they succeed all comes to the same end.
func TestRequestsThatFail(t *testing.T) {
	actions := []lifecycle.Action{lifecycle.Create, lifecycle.Record, lifecycle.Relabel, lifecycle.Renumber, lifecycle.MarkCurrent, lifecycle.Unmark, lifecycle.ReadLive, lifecycle.ReadSpec}
	rapid.Check(t, func(t *rapid.T) {
		w := story(t)
		whole := w.clone()
		whole.settle(t)
		w.fails = map[string]bool{string(rapid.SampledFrom(actions).Draw(t, "fails")): true}
		last := w.settle(t)
		if last.Action == lifecycle.Proceed && !last.Outcome.TemplateHeld && last.Outcome.Revisions.AbortedTime == nil {
			h := w.view().History
			require.Equal(t, digestOf(w.value), h.Newest().Digest, "nothing is rolled out without its revision")
		}
		w.fails = nil
		w.settle(t)
		require.Equal(t, whole.state(), w.state())
	})
}

// A hash without a revision is still named.
func TestNamed(t *testing.T) {
	v := view("a", status.Revisions{}, object("a", 1))
	require.Equal(t, digestOf("a"), v.Named(hashOf("a")).Digest)
	require.Equal(t, revision.Digest("gone"), v.Named("x").Digest)
	v.NoHistory = true
	require.Equal(t, revision.Digest("gone"), v.Named(hashOf("a")).Digest)
}
