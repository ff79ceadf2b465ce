package rollout_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

var updateStories = flag.Bool("update", false, "write the stories in testdata anew")

// storyRef is a ref with a story's groups.
func storyRef(name string, strategy []rt.RefOption, groups ...placement.Group) *worldRef {
	return &worldRef{Ref: rt.Ref(name, strategy...), groups: groups}
}

// until lets the hub pass, at the times that it asks for, up to a time of the story.
func (w *world) until(end time.Duration) {
	for {
		p := w.pass()
		if len(p.Writes) > 0 || len(p.Deletes) > 0 || p.Abort != nil {
			continue
		}
		if p.Recheck == 0 || w.now.Add(p.Recheck).After(rt.At(end)) {
			break
		}
		w.now = w.now.Add(p.Recheck)
	}
	w.now = rt.At(end)
}

func (w *world) everyoneSays(r report) {
	for _, work := range w.sorted() {
		w.say(work.cluster, r)
	}
}

// TestStories says what a hub does, line by line. Read the files in testdata to see it.
func TestStories(t *testing.T) {
	for name, tell := range map[string]func() *world{
		"abort": func() *world {
			return newWorld(
				storyRef("p1", []rt.RefOption{rt.Progressive(1), rt.Deadline("1m"), rt.AbortAll()}, placement.Group{Clusters: []string{"c1", "c2", "c3"}}),
				storyRef("p2", []rt.RefOption{rt.All()}, placement.Group{Clusters: []string{"c3", "d1"}}))
		},
		"groups": func() *world {
			return newWorld(storyRef("p1", []rt.RefOption{rt.PerGroup(), rt.Mandatory("canary"), rt.MaxFailures(1), rt.Deadline("1m"), rt.Soak(10 * second)},
				placement.Group{Name: "west", Index: 0, Clusters: []string{"w1", "w2"}},
				placement.Group{Name: "canary", Index: 1, Clusters: []string{"k1"}},
				placement.Group{Name: "east", Index: 2, Clusters: []string{"e1"}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := tell()
			var story strings.Builder
			w.log = func(format string, args ...any) {
				fmt.Fprintf(&story, "t=%s %s\n", w.now.Sub(rt.Epoch), fmt.Sprintf(format, args...))
			}
			w.check = func(_ *rollout.Snapshot, p *rollout.Plan) {
				if err := w.judge(p); err != nil {
					t.Error(err)
				}
			}
			switch name {
			case "abort":
				w.tellAbort()
			case "groups":
				w.tellGroups()
			}
			compare(t, filepath.Join("testdata", name+".txt"), story.String())
		})
	}
}

// tellAbort: the first rollout succeeds, the second one breaks c2 and is aborted, the third one is the undo.
func (w *world) tellAbort() {
	w.template("aaa")
	for step := range 4 {
		w.until(time.Duration(step+1) * 10 * second)
		w.everyoneSays(succeeding)
	}
	w.until(minute)
	w.template("bbb")
	w.until(minute + 10*second)
	w.say("c1", succeeding)
	w.say("d1", succeeding)
	w.until(minute + 20*second)
	w.say("c2", degraded)
	w.until(3 * minute)
	w.everyoneSays(succeeding)
	w.until(4 * minute)
	w.refs[1].join(0, "d2")
	w.until(5 * minute)
	w.everyoneSays(succeeding)
	w.template("aaa")
	w.until(6 * minute)
}

// tellGroups: the mandatory group first, then west, where one failure is tolerated, then east; w2 leaves.
func (w *world) tellGroups() {
	w.template("aaa")
	w.until(10 * second)
	w.say("k1", succeeding)
	w.until(30 * second)
	w.say("w1", succeeding)
	w.until(2 * minute)
	w.say("e1", succeeding)
	w.until(3 * minute)
	w.refs[0].leave("w2")
	w.until(4 * minute)
	w.vanish("w2")
	w.until(5 * minute)
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *updateStories {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the story is another one now, run go test -update if that is wanted (-was +is):\n%s", diff)
	}
}
