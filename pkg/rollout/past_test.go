package rollout_test

import (
	"strings"
	"testing"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
)

// TestReadPast: what another hub rolled out, today's template being bbb and the current revision aaa (R6).
func TestReadPast(t *testing.T) {
	theirs := func(cluster, content string, more ...rt.WorkOption) rollout.Work {
		return rt.Work(cluster, append([]rt.WorkOption{rt.Holds(content), rt.Succeeded(0)}, more...)...)
	}
	ours := func(cluster, hash string) rollout.Work { return rt.Work(cluster, rt.Bears(hash), rt.Succeeded(0)) }
	for name, tc := range map[string]struct {
		current    string
		firstSight bool
		works      []rollout.Work
		surpassed  bool
		specs      string
		stable     string
	}{
		"rolled out by this hub":                   {current: "aaa", works: []rollout.Work{ours("c1", "bbb"), ours("c2", "bbb")}},
		"rolled out by another":                    {current: "aaa", works: []rollout.Work{theirs("c1", "bbb"), theirs("c2", "bbb")}, surpassed: true},
		"and the current one is unknown":           {works: []rollout.Work{theirs("c1", "bbb"), theirs("c2", "bbb")}},
		"and the current one is today's":           {current: "bbb", works: []rollout.Work{theirs("c1", "bbb"), theirs("c2", "zzz")}, specs: "zzz", stable: "zzz"},
		"in the middle, one still has the current": {current: "aaa", works: []rollout.Work{theirs("c1", "bbb"), ours("c2", "aaa")}},
		"in the middle, one has it from the other": {current: "aaa", works: []rollout.Work{theirs("c1", "bbb"), theirs("c2", "aaa")}, specs: "aaa", stable: "aaa"},
		"one that leaves says nothing": {
			current: "aaa", works: []rollout.Work{theirs("c1", "bbb"), rt.Work("c2", rt.Bears("aaa"), rt.Deleting())}, surpassed: true,
		},
		"one edited by hand still bears the current": {current: "aaa", works: []rollout.Work{theirs("c1", "bbb"), rt.Work("c2", rt.Bears("aaa"), rt.Edited())}},
		"begun by this hub, and one lost its marks":  {current: "aaa", works: []rollout.Work{ours("c1", "bbb"), theirs("c2", "bbb")}},
		"one lost its hash":                          {current: "aaa", works: []rollout.Work{theirs("c1", "bbb", rt.WrittenAt(0))}},
		"one lost its hash, and no status tells": {
			current: "aaa", firstSight: true, works: []rollout.Work{theirs("c1", "zzz", rt.WrittenAt(0))}, specs: "zzz", stable: "zzz",
		},
		"the one before today's": {current: "aaa", works: []rollout.Work{theirs("c1", "bbb"), theirs("c2", "zzz"), theirs("c3", "zzz")}, surpassed: true, specs: "zzz", stable: "zzz"},
		"it never succeeded": {
			current: "aaa", works: []rollout.Work{theirs("c1", "bbb"), rt.Work("c2", rt.Holds("zzz"), rt.InFlight(0))}, surpassed: true, specs: "zzz",
		},
		"two before today's":                  {current: "aaa", works: []rollout.Work{theirs("c1", "yyy"), theirs("c2", "zzz")}, surpassed: true, specs: "yyy zzz"},
		"one before today's, and one of ours": {current: "aaa", works: []rollout.Work{theirs("c1", "yyy"), ours("c2", "zzz")}, surpassed: true, specs: "yyy"},
		"first sight":                         {firstSight: true, works: []rollout.Work{theirs("c1", "bbb"), theirs("c2", "aaa")}, specs: "aaa", stable: "aaa"},
		"nothing":                             {current: "aaa"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &rollout.PastInput{Works: tc.works, Template: rt.DigestOf("bbb"), UpdateHash: "bbb", FirstSight: tc.firstSight}
			if tc.current != "" {
				in.Current = rt.Revision(tc.current)
			}
			past := rollout.ReadPast(in)
			var specs []string
			for i := range past.Specs {
				for _, known := range []string{"aaa", "bbb", "yyy", "zzz"} {
					if past.Specs[i].Digest == rt.DigestOf(known) {
						specs = append(specs, known)
						past.Specs[i].Template = rt.Template(known)
					}
				}
			}
			if past.Surpassed != tc.surpassed {
				t.Errorf("surpassed %v", past.Surpassed)
			}
			if got := strings.Join(specs, " "); got != tc.specs {
				t.Errorf("specs %q, not %q", got, tc.specs)
			}
			want := revision.Digest("")
			if tc.stable != "" {
				want = rt.DigestOf(tc.stable)
			}
			if got := past.Stable(rt.At(minute)); got != want {
				t.Errorf("stable %q, not %q", got, want)
			}
		})
	}
}
