package rollout_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestMain has every run play the same stories, where -rapid.checks and -rapid.seed don't say otherwise: a change is not to be refused
// for what an earlier one broke. `make soak` plays new ones.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "1000")
	_ = flag.Set("rapid.seed", "1")
	flag.Parse()
	os.Exit(m.Run())
}

var (
	clusters = []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6"}
	groups   = []string{"canary", "west", "east"}
	hashes   = []string{"aaa", "bbb", "ccc"}
)

func drawRef(t *rapid.T, name string) *worldRef {
	size := func(label string) any {
		return rapid.SampledFrom([]any{0, 1, 2, 3, 20, "0%", "25%", "50%", "100%"}).Draw(t, name+" "+label)
	}
	ref := &worldRef{}
	for i, group := range groups {
		ref.groups = append(ref.groups, placement.Group{Name: group, Index: int32(i)})
	}
	for _, cluster := range clusters {
		if group := rapid.IntRange(-2, len(groups)-1).Draw(t, name+" selects "+cluster); group >= 0 {
			ref.join(group, cluster)
		}
	}
	var options []rt.RefOption
	switch rapid.SampledFrom([]string{"All", "Progressive", "PerGroup"}).Draw(t, name+" strategy") {
	case "Progressive":
		options = append(options, rt.Progressive(size("maxConcurrency")))
	case "PerGroup":
		options = append(options, rt.PerGroup())
	default:
		options = append(options, rt.All())
	}
	ref.Ref = rt.Ref(name, append(options,
		rt.MaxFailures(size("maxFailures")),
		rt.Deadline(rapid.SampledFrom([]string{"None", "30s", "5m"}).Draw(t, name+" progressDeadline")),
		rt.Soak(rapid.SampledFrom([]time.Duration{0, 10 * second}).Draw(t, name+" minSuccessTime")))...)
	if ref.Strategy.All == nil {
		if i := rapid.IntRange(-2, len(groups)-1).Draw(t, name+" mandatory"); i >= 0 {
			if rapid.Bool().Draw(t, name+" mandatory by name") {
				rt.Mandatory(groups[i])(&ref.Ref)
			} else {
				rt.MandatoryAt(int32(i))(&ref.Ref)
			}
		}
	}
	if rapid.Bool().Draw(t, name+" AbortAll") {
		rt.AbortAll()(&ref.Ref)
	}
	return ref
}

func drawWorld(t *rapid.T) *world {
	var refs []*worldRef
	for i := range rapid.IntRange(1, 3).Draw(t, "refs") {
		refs = append(refs, drawRef(t, fmt.Sprintf("p%d", i)))
	}
	w := newWorld(refs...)
	w.settle = rapid.SampledFrom([]time.Duration{0, 3 * second}).Draw(t, "settle")
	w.log = func(format string, args ...any) {
		t.Logf("t=%s "+format, append([]any{w.now.Sub(rt.Epoch)}, args...)...)
	}
	w.check = func(s *rollout.Snapshot, p *rollout.Plan) {
		if err := w.judge(released(p)); err != nil {
			t.Fatal(err)
		}
		if err := judgePause(s, p); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// step is one thing that happens to a fleet.
func (w *world) step(t *rapid.T) {
	cluster := func() string { return rapid.SampledFrom(clusters).Draw(t, "cluster") }
	ref := func() *worldRef { return rapid.SampledFrom(w.refs).Draw(t, "ref") }
	switch rapid.SampledFrom([]string{
		"report", "report", "report", "report", "wait", "wait", "wait", "succeed", "template", "flap",
		"join", "leave", "remove", "vanish", "restart", "retry", "edit", "lose", "hide", "pause", "resume",
	}).Draw(t, "step") {
	case "report":
		w.say(cluster(), rapid.SampledFrom(reports).Draw(t, "report"))
	case "succeed":
		for _, work := range w.sorted() {
			if rapid.IntRange(0, 3).Draw(t, "share") > 0 {
				w.say(work.cluster, succeeding)
			}
		}
	case "wait":
		w.wait(rapid.SampledFrom([]time.Duration{second, 4 * second, 12 * second, 40 * second, 6 * minute}).Draw(t, "wait"))
	case "template":
		w.template(rapid.SampledFrom(hashes).Draw(t, "template"))
	case "join":
		ref().join(rapid.IntRange(0, len(groups)-1).Draw(t, "group"), cluster())
	case "leave":
		ref().leave(cluster())
	case "flap":
		c, sick := cluster(), rapid.SampledFrom([]report{unapplied, progressing, degraded}).Draw(t, "sick")
		for range rapid.IntRange(1, 12).Draw(t, "times") {
			w.say(c, sick)
			w.pass()
			w.wait(rapid.SampledFrom([]time.Duration{second, 20 * second}).Draw(t, "sick for"))
			w.say(c, succeeding)
			w.pass()
			w.wait(2 * second)
			w.pass()
		}
	case "remove":
		w.remove(cluster())
	case "vanish":
		w.vanish(cluster())
	case "restart":
		w.restart()
	case "retry":
		w.retry()
	case "edit":
		w.edit(cluster())
	case "pause":
		w.pause(true)
	case "resume":
		w.pause(false)
	case "lose":
		r := ref()
		r.missing = !r.missing
	case "hide":
		r := ref()
		r.hidden = 1 - r.hidden
	}
}

func (w *world) wait(d time.Duration) {
	w.now = w.now.Add(d)
	w.log("%s later", d)
}

// quiet lets time pass, in the hub's own steps, until nothing is written any more and nothing will change by itself.
func (w *world) quiet(t *rapid.T, each func()) *rollout.Plan {
	for range 400 {
		each()
		update, current, aborted := w.update, w.current, w.aborted
		p := w.pass()
		if len(p.Writes) == 0 && len(p.Deletes) == 0 && p.Recheck == 0 && w.update == update && w.current == current && w.aborted == aborted {
			return p
		}
		w.now = w.now.Add(max(p.Recheck, time.Millisecond))
	}
	t.Fatal("it never becomes quiet")
	return nil
}

// prosper is every agent doing well.
func (w *world) prosper() {
	for _, work := range w.sorted() {
		w.vanish(work.cluster)
		w.say(work.cluster, succeeding)
	}
}

// TestSimulation folds Decide over the life of a small fleet: P3 and P4 hold after each step, P1 and P2 when all is quiet. In half of the stories
// revisions drop objects of each other, which stay until they are available: P10 holds as well.
func TestSimulation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.keeps = rapid.Bool().Draw(t, "pruneStrategy WhenAvailable")
		w.template("aaa")
		if rapid.Bool().Draw(t, "there is a stable revision") {
			w.quiet(t, w.prosper)
			w.template("bbb")
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.step(t)
			for range rapid.IntRange(0, 3).Draw(t, "passes") {
				w.pass()
			}
		}

		w.log("the agents fall silent")
		w.judgeQuiet(t, w.quiet(t, func() {}))
		w.pause(false)
		w.judgeQuiet(t, w.quiet(t, func() {}))

		w.log("the agents are well again, the Placements complete")
		for _, ref := range w.refs {
			ref.missing, ref.hidden = false, 0
		}
		w.judgeHealthy(t, w.quiet(t, w.prosper))
	})
}

// judgeQuiet is P1, and R14: what does not go on says so.
func (w *world) judgeQuiet(t *rapid.T, p *rollout.Plan) {
	if w.aborted {
		if !w.paused {
			w.judgeContents(t, w.current)
		}
		return
	}
	if p.RollsOut() || p.AbortDue() != nil {
		if p.Stalled {
			t.Fatalf("R14: stalled by a pause")
		}
		return
	}
	pending, failing := false, false
	for _, ref := range w.refs {
		_, deadline := deadlineOf(ref)
		all := w.subjects(ref)
		waits := slices.ContainsFunc(all, func(s subject) bool {
			return !s.gone && !w.leaving(s, ref) && (s.work == nil || !s.work.at(w.update))
		})
		halted := w.judgeFailures(ref, all) != nil
		failing = failing || w.hasFailedUnselected(ref)
		for _, s := range all {
			if w.leaving(s, ref) {
				stuck := w.hasFailed(s, ref)
				failing = failing || stuck
				pending = pending || !stuck && !halted && (waits || !s.gone)
				continue
			}
			failing = failing || w.failed[s.cluster]
			if s.work == nil || !s.work.at(w.update) {
				continue
			}
			failed := w.failed[s.cluster] || w.isFailed(s.work, ref)
			failing = failing || failed && (!s.gone || s.work.deleting || w.failed[s.cluster]) || s.work.report == degraded && !w.spent(s, ref)
			if w.isWell(s.work, ref) && s.work.kept() != "" && halted {
				continue // Nothing is trimmed there.
			}
			gone := s.gone && w.isWell(s.work, ref)
			pending = pending || (!failed && !gone && !w.isSettled(s.work, ref) && (s.work.report != degraded || deadline))
		}
	}
	if want := failing && !pending && !p.Complete; p.Stalled != want {
		t.Fatalf("R14: stalled is %v, want %v: %v, %+v, %+v", p.Stalled, want, p.Phases(), p.Failing, p.Refs)
	}
}

// judgeHealthy is P1 and P2.
func (w *world) judgeHealthy(t *rapid.T, p *rollout.Plan) {
	w.judgeContents(t, w.desired())
	if w.aborted {
		return
	}
	if len(w.owners()) > 0 && w.current != w.update {
		t.Fatalf("P2: all are healthy, and current is %q, update %q, %v", w.current, w.update, p.Counts)
	}
}

func (w *world) judgeContents(t *rapid.T, hash string) {
	for cluster := range w.owners() {
		if w.works[cluster] == nil {
			t.Fatalf("%s has no work: %v, records %+v, halted %v", cluster, w.last.Phases(), w.records, w.last.Refs)
		}
	}
	for _, work := range w.sorted() {
		if !work.deleting && (!work.at(hash) || work.kept() != "" && work.report == succeeding) {
			t.Fatalf("P1, P2: all is quiet, and %s is at %s with content %s, not at %s", work.cluster,
				work.object.Labels, work.content, hash)
		}
	}
}

// TestDecideIsAFunction: equal snapshots give equal plans, and none is changed.
func TestDecideIsAFunction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.template("aaa")
		w.check = func(s *rollout.Snapshot, p *rollout.Plan) {
			before := fmt.Sprintf("%+v", snapshotText(s))
			again := rollout.Decide(s)
			if got, want := planText(again), planText(p); got != want {
				t.Fatalf("the same snapshot gives two plans:\n%s\n%s", got, want)
			}
			if after := snapshotText(s); before != after {
				t.Fatalf("Decide changed its snapshot:\n%s\n%s", before, after)
			}
			reversed := *s
			reversed.Works = slices.Clone(s.Works)
			slices.Reverse(reversed.Works)
			if got, want := planText(rollout.Decide(&reversed)), planText(p); got != want {
				t.Fatalf("the order of the works makes a difference:\n%s\n%s", got, want)
			}
		}
		for range 15 {
			w.step(t)
			w.pass()
		}
	})
}

func planText(p *rollout.Plan) string {
	return fmt.Sprint(p.Writes, p.Deletes, p.Complete, p.Stalled, p.Recheck, p.Phases(), p.Counts, p.Failing, p.Abort, p.Behind, p.Confirmed)
}

func snapshotText(s *rollout.Snapshot) string {
	text := fmt.Sprintf("%+v %+v %+v", s.Refs, s.Labels, s.Now)
	for i := range s.Refs {
		text += fmt.Sprintf("%+v", s.Refs[i].Placement)
	}
	for i := range s.Works {
		text += fmt.Sprintf("%+v", s.Works[i].Object)
	}
	return text
}
