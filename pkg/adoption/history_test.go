package adoption_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/adoption"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestReadHistory: the rollouts of another hub. The template in the spec is bbb, and the current revision is aaa.
func TestReadHistory(t *testing.T) {
	theirs := func(cluster, content string, more ...rt.WorkOption) work.Work {
		return rt.Work(cluster, append([]rt.WorkOption{rt.Holds(content), rt.Succeeded(0)}, more...)...)
	}
	ours := func(cluster, hash string) work.Work { return rt.Work(cluster, rt.AtRevision(hash), rt.Succeeded(0)) }
	for name, tc := range map[string]struct {
		current    string
		firstSight bool
		selects    string // c1 c2 c3 if empty
		works      []work.Work
		replaced   bool
		surpassed  bool
		specs      string
		stable     string
	}{
		"rolled out by this hub":                   {current: "aaa", works: []work.Work{ours("c1", "bbb"), ours("c2", "bbb")}},
		"rolled out by another":                    {current: "aaa", works: []work.Work{theirs("c1", "bbb"), theirs("c2", "bbb")}, replaced: true, surpassed: true},
		"and the current one is unknown":           {works: []work.Work{theirs("c1", "bbb"), theirs("c2", "bbb")}, replaced: true},
		"and the current one is today's":           {current: "bbb", works: []work.Work{theirs("c1", "bbb"), theirs("c2", "zzz"), theirs("c3", "zzz")}, replaced: true, specs: "zzz", stable: "zzz"},
		"in the middle, one still has the current": {current: "aaa", works: []work.Work{theirs("c1", "bbb"), theirs("c3", "zzz"), ours("c2", "aaa")}},
		"in the middle, one has it from the other": {current: "aaa", works: []work.Work{theirs("c1", "bbb"), theirs("c2", "aaa")}, replaced: true, specs: "aaa"},
		"one that leaves says nothing": {
			current: "aaa", works: []work.Work{theirs("c1", "bbb"), theirs("c3", "bbb"), rt.Work("c2", rt.AtRevision("aaa"), rt.Deleting())}, replaced: true, surpassed: true,
		},
		"one edited by hand still bears the current":        {current: "aaa", works: []work.Work{theirs("c1", "bbb"), theirs("c3", "bbb"), rt.Work("c2", rt.AtRevision("aaa"), rt.Edited())}},
		"begun by this hub, and one lost its marks":         {current: "aaa", works: []work.Work{ours("c1", "bbb"), theirs("c2", "bbb")}},
		"begun by this hub, and the next template is there": {current: "aaa", works: []work.Work{ours("c1", "yyy"), ours("c3", "yyy"), theirs("c2", "zzz")}},
		"all but one lost their marks":                      {current: "aaa", works: []work.Work{ours("c1", "yyy"), theirs("c3", "zzz"), theirs("c2", "zzz")}},
		"one lost its hash":                                 {current: "aaa", works: []work.Work{theirs("c1", "bbb", rt.WrittenAt(0)), theirs("c2", "bbb")}},
		"only one work, of several clusters":                {current: "aaa", works: []work.Work{theirs("c1", "zzz")}},
		"only one work, of one cluster":                     {current: "aaa", selects: "c1", works: []work.Work{theirs("c1", "zzz")}, surpassed: true},
		"the one before today's":                            {current: "aaa", works: []work.Work{theirs("c1", "bbb"), theirs("c2", "zzz"), theirs("c3", "zzz")}, replaced: true, surpassed: true, specs: "zzz", stable: "zzz"},
		"it never succeeded": {
			current: "aaa", works: []work.Work{theirs("c1", "bbb"), rt.Work("c2", rt.Holds("zzz"), rt.InFlight(0)), rt.Work("c3", rt.Holds("zzz"), rt.InFlight(0))},
			replaced: true, surpassed: true, specs: "zzz",
		},
		"two before today's, the more frequent first": {current: "aaa", works: []work.Work{theirs("c1", "yyy"), theirs("c2", "zzz"), theirs("c3", "zzz")}, replaced: true, surpassed: true, specs: "zzz yyy"},
		"first sight":                             {firstSight: true, works: []work.Work{theirs("c1", "bbb"), theirs("c2", "aaa"), theirs("c3", "aaa")}, specs: "aaa", stable: "aaa"},
		"first sight, only one cluster has it":    {firstSight: true, works: []work.Work{theirs("c1", "bbb"), theirs("c2", "aaa"), theirs("c3", "bbb")}, specs: "aaa"},
		"first sight, of one cluster":             {firstSight: true, selects: "c2", works: []work.Work{theirs("c2", "aaa")}, specs: "aaa", stable: "aaa"},
		"first sight, one work bears a hash":      {firstSight: true, works: []work.Work{theirs("c1", "aaa"), theirs("c2", "aaa"), ours("c3", "zzz")}, specs: "aaa"},
		"first sight, one lost its hash":          {firstSight: true, works: []work.Work{theirs("c1", "zzz", rt.WrittenAt(0)), theirs("c2", "zzz")}, specs: "zzz", stable: "zzz"},
		"first sight, nobody selects one":         {firstSight: true, works: []work.Work{theirs("c1", "aaa"), theirs("c9", "aaa")}, specs: "aaa"},
		"first sight, two works of one cluster":   {firstSight: true, works: []work.Work{theirs("c1", "aaa"), theirs("c1", "aaa", rt.Named("webx4k2z"))}, specs: "aaa"},
		"first sight, generated names":            {firstSight: true, works: []work.Work{theirs("c1", "aaa", rt.Named("webx4k2z")), theirs("c2", "aaa", rt.Named("web9c8b7"))}, specs: "aaa", stable: "aaa"},
		"first sight, a name that no hub gives":   {firstSight: true, works: []work.Work{theirs("c1", "zzz", rt.Named("anything")), theirs("c2", "aaa"), theirs("c3", "aaa")}, specs: "aaa", stable: "aaa"},
		"first sight, older than its owner":       {firstSight: true, works: []work.Work{theirs("c1", "zzz", rt.CreatedAt(-time.Minute)), theirs("c2", "zzz", rt.CreatedAt(-time.Minute))}},
		"first sight, a Placement is missing":     {firstSight: true, selects: "c1 missing", works: []work.Work{theirs("c1", "aaa")}, specs: "aaa"},
		"a Placement is missing, nothing is told": {current: "aaa", selects: "c1 c2 missing", works: []work.Work{theirs("c1", "zzz"), theirs("c2", "zzz")}},
		"nothing": {current: "aaa"},
	} {
		t.Run(name, func(t *testing.T) {
			in := &adoption.Input{
				Owner: &metav1.ObjectMeta{Namespace: rt.OwnerNamespace, Name: rt.OwnerName, UID: "uid", CreationTimestamp: metav1.NewTime(rt.Epoch)},
				Refs:  selecting(cmp.Or(tc.selects, "c1 c2 c3")), Works: tc.works, Template: rt.DigestOf("bbb"), FirstSight: tc.firstSight,
			}
			if tc.current != "" {
				in.Current = rt.Revision(tc.current)
			}
			past := adoption.ReadHistory(in)
			var specs []string
			for i := range past.Specs {
				for _, known := range []string{"aaa", "bbb", "yyy", "zzz"} {
					if past.Specs[i].Digest == rt.DigestOf(known) {
						specs = append(specs, known)
						past.Specs[i].Template = rt.Template(known)
					}
				}
			}
			if past.Surpassed != tc.surpassed || past.Replaced != tc.replaced {
				t.Errorf("surpassed %v, replaced %v", past.Surpassed, past.Replaced)
			}
			if got := strings.Join(specs, " "); got != tc.specs {
				t.Errorf("specs %q, not %q", got, tc.specs)
			}
			want := revision.Digest("")
			if tc.stable != "" {
				want = rt.DigestOf(tc.stable)
			}
			if got := past.Stable(rt.At(time.Minute)); got != want {
				t.Errorf("stable %q, not %q", got, want)
			}
		})
	}
}

// selecting returns placementRefs that select some clusters. If the last word is "missing", one more placementRef has no Placement.
func selecting(clusters string) []placement.Ref {
	selected, missing := strings.CutSuffix(clusters, " missing")
	refs := []placement.Ref{rt.Ref("p1", rt.All(), rt.Clusters(strings.Fields(selected)...))}
	if missing {
		refs = append(refs, rt.Ref("p2", rt.Missing()))
	}
	return refs
}
