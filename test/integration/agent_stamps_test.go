package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// lie makes the agents of these clusters report the state of the old object under the generation of the next revision, until tell is
// called. A new spec triggers two controllers of an agent: one applies the spec, and the other reads the object and stamps the new
// generation on the result. The first controller is held until the second has read the old object. Then the second is held until the hub
// knows that the first has applied the new object. Nothing is forged: all reports come from the agent.
func (f *labFleet) lie(generation int64, shorts []string, begin func()) (tell func()) {
	f.t.Helper()
	liars := make([]*liar, 0, len(shorts))
	for _, short := range shorts {
		liars = append(liars, f.liar(short, generation))
	}
	begin()
	var late []*hold
	for _, l := range liars {
		late = append(late, l.speak())
	}
	return func() {
		for _, h := range late {
			h.release()
		}
	}
}

// untilItLies repeats a scenario until the agent lied in it. On a busy machine, the second controller may read the object again between the
// apply and the report of the first controller. The report is then correct, which is not the tested case.
func untilItLies(t *testing.T, scenario func(t *testing.T) (lied bool)) {
	t.Helper()
	for try := range 5 {
		lied := false
		t.Run(fmt.Sprintf("try%d", try), func(t *testing.T) { lied = scenario(t) })
		if lied || t.Failed() {
			return
		}
	}
	t.Fatal("the agent told the truth each time")
}

// says reports whether an agent's last report meets all checks.
func (f *labFleet) says(short string, words ...func(*workv1.ManifestWorkStatus) bool) bool {
	f.t.Helper()
	work := f.work(short)
	return !slices.ContainsFunc(words, func(says func(*workv1.ManifestWorkStatus) bool) bool { return !says(&work.Status) })
}

type liar struct {
	f          *labFleet
	short      string
	generation int64
	before     string
	apply      *hold
	rereads    chan *hold
}

func (f *labFleet) liar(short string, generation int64) *liar {
	f.t.Helper()
	agent := f.agents[short]
	l := &liar{
		f: f, short: short, generation: generation, before: f.content(short)["version"],
		apply: agent.managed.hold(writes(f.object(0))), rereads: make(chan *hold, 1),
	}
	agent.hub.around(reports(is(workv1.WorkApplied, "", generation)), func(pass func() bool) {
		reread := agent.managed.hold(reads(f.object(0)))
		if !pass() {
			reread.release() // Its copy of the work was too old. It applies and reports again.
			return
		}
		select {
		case l.rereads <- reread:
		default:
			reread.release()
		}
	})
	return l
}

func (l *liar) speak() (late *hold) {
	f := l.f
	f.t.Helper()
	soon(f.t, l.short+" applies it", l.apply.caught)
	f.reported(l.short, "the new generation", is(workv1.WorkProgressing, "", l.generation), is(workv1.WorkAvailable, metav1.ConditionTrue, l.generation))
	require.Equal(f.t, l.before, f.content(l.short)["version"], "what it reports is what it read of the old object")
	l.apply.release()
	f.reported(l.short, "the new generation as applied", is(workv1.WorkApplied, metav1.ConditionTrue, l.generation))
	select {
	case late = <-l.rereads:
	case <-time.After(patience):
		f.t.Fatalf("%s did not report what it applied within %s", l.short, patience)
	}
	return late
}

// Quirk: the agent stamps the new generation on conditions that it read from the old object. An old success does not count, although the
// hub receives it, and the following failure counts.
func TestOldSuccessUnderTheNewGeneration(t *testing.T) {
	shares(t)
	underBoth(t, func(t *testing.T, way way) {
		untilItLies(t, func(t *testing.T) bool { return oldSuccessCountsForNothing(t, way) })
	})
}

func oldSuccessCountsForNothing(t *testing.T, way way) (lied bool) {
	f := newLabFleet(t, labOptions{})
	f.begin(way.of("10s", 0, abortAll), f.template(rules(), healthy("v1")))
	tell := f.lie(2, way.first, func() { f.roll(f.template(rules(), stuck("v2"))) })
	defer tell()
	for _, short := range way.first {
		if !f.says(short, seems(2)...) {
			return false
		}
		require.Equal(t, stuck("v2"), f.content(short), "which is not true")
	}
	eventually(t, "the hub hears it", func() error {
		if updated := f.get().Status.Summary.Updated; int(updated) < len(way.first) {
			return fmt.Errorf("%d are updated", updated)
		}
		return nil
	})
	tell()
	f.reported("c1", "the truth", is(workv1.WorkProgressing, metav1.ConditionTrue, 2))
	f.abortedTo("v1", "v2", way.first)
	return true
}

// The same quirk with an old failure: the new revision works, and is not aborted because the old revision had been stuck or degraded for a
// long time.
func TestOldFailureUnderTheNewGeneration(t *testing.T) {
	shares(t)
	for name, failure := range map[string]struct{ works, condition string }{
		"Progressing": {"false", workv1.WorkProgressing},
		"Degraded":    {"degraded", workv1.WorkDegraded},
	} {
		t.Run(name, func(t *testing.T) {
			underBoth(t, func(t *testing.T, way way) {
				untilItLies(t, func(t *testing.T) bool { return oldFailure(t, way, failure.works, failure.condition) })
			})
		})
	}
}

func oldFailure(t *testing.T, way way, works, condition string) (lied bool) {
	const deadline = 8 * time.Second
	f := newLabFleet(t, labOptions{})
	f.begin(way.of(deadline.String(), 0), f.template(rules(), healthy("v1")))
	f.roll(f.template(rules(), data{"version": "v2", "works": works}))
	f.stalled()
	old := meta.FindStatusCondition(f.work("c1").Status.Conditions, condition)
	tell := f.lie(3, []string{"c1"}, func() {
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate = f.template(rules(), healthy("v3"))
			mwrs.Spec.PlacementRefs[0].RolloutStrategy = way.of(deadline.String(), 0, abortAll)
		})
	})
	defer tell()
	if !f.says("c1", is(workv1.WorkApplied, metav1.ConditionTrue, 3), is(condition, metav1.ConditionTrue, 3)) {
		return false
	}
	stamped := meta.FindStatusCondition(f.work("c1").Status.Conditions, condition)
	require.Equal(t, old.LastTransitionTime, stamped.LastTransitionTime, "as long as v2 was")
	require.Greater(t, time.Since(stamped.LastTransitionTime.Time), deadline, "longer than the deadline")
	always(t, "it has not failed", time.Second, func() error {
		if mwrs := f.get(); mwrs.Status.AbortedTime != nil {
			return fmt.Errorf("aborted: %s", describe(mwrs))
		}
		return nil
	})
	tell()
	f.complete()
	f.everywhere("v3")
	f.neverAborted()
	f.neverCurrent("v2")
	return true
}
