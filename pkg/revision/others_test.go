package revision

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

var noon = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

func since(at time.Time) func(*appsv1.ControllerRevision) {
	return amended(func(r *Record) { r.CurrentSince = at })
}

// remembering gives a revision the others that it would have in a history.
func remembering(t *testing.T, h *History, current string) func(*appsv1.ControllerRevision) {
	t.Helper()
	return func(o *appsv1.ControllerRevision) {
		amended(func(r *Record) { r.Others = h.OthersOf(o.Labels[workv1alpha1.LabelControllerHash], current) })(o)
	}
}

// TestOthers: a revision records the current one, even if that is gone.
func TestOthers(t *testing.T) {
	current := stored(t, "aaa", 1, since(noon), created(noon.Add(-time.Hour)))
	h := NewHistory(owner(), []Revision{current, stored(t, "bbb", 2)})
	update := stored(t, "bbb", 2, remembering(t, &h, "aaa"))

	lost := NewHistory(owner(), []Revision{update})
	entry, known := lost.Entry("aaa")
	if !known || entry.Digest != current.Digest || !entry.Created.Equal(noon.Add(-time.Hour)) || !entry.CurrentSince.Equal(noon) {
		t.Errorf("known %v: %+v", known, entry)
	}
	for _, hash := range []string{"bbb", "zzz", ""} {
		if _, known := lost.Entry(hash); known {
			t.Errorf("%q is known", hash)
		}
	}
	if kept := lost.OthersOf("bbb", "aaa"); kept["aaa"] != entry {
		t.Errorf("what is lost is forgotten: %v", kept)
	}
	if unknown, named := lost.OthersOf("bbb", "zzz")["zzz"]; !named || unknown != (Entry{}) {
		t.Errorf("a current one that nobody knows: %v, %+v", named, unknown)
	}
	for _, value := range []string{"", "null", "[]", `{"others":{"aaa":7}}`, `{"others":{"aaa":{"digest":"x"}},"reached":"many"}`} {
		broken := stored(t, "bbb", 2, annotated(workv1alpha1.AnnotationRecord, value))
		if broken.Others != nil {
			t.Errorf("%q was read", value)
		}
	}
}

// TestOthersOfTheNewest: the newest revision that remembers a hash counts, as a name can be used again once its revision is pruned.
func TestOthersOfTheNewest(t *testing.T) {
	older := stored(t, "bbb", 2, amended(func(r *Record) { r.Others = Others{"aaa": {Digest: "old"}} }))
	newer := stored(t, "ccc", 3, amended(func(r *Record) { r.Others = Others{"aaa": {Digest: "new"}} }))
	silent := stored(t, "ddd", 4, amended(func(r *Record) { r.Others = Others{"aaa": {}} }))
	h := NewHistory(owner(), []Revision{silent, older, newer})
	if entry, known := h.Entry("aaa"); !known || entry.Digest != "new" {
		t.Errorf("got %+v", entry)
	}
}

// TestJudgeCurrent: what counts of a status.currentRevision.
func TestJudgeCurrent(t *testing.T) {
	former := stored(t, "aaa", 1, since(noon))
	current := stored(t, "bbb", 2, since(noon.Add(time.Hour)))
	never := stored(t, "ccc", 3)
	plain := NewHistory(owner(), []Revision{former, current, never})
	update := stored(t, "ddd", 4, remembering(t, &plain, "bbb"))
	legacy := stored(t, "ddd", 4)
	complete := stored(t, "ddd", 4, since(noon.Add(2*time.Hour)))
	surpassed := stored(t, "bbb", 2, surpassedAt(noon.Add(2*time.Hour)))
	for name, tc := range map[string]struct {
		revisions []Revision
		named     string
		want      string
		record    bool
		putBack   bool
	}{
		"the latest":                             {revisions: []Revision{former, current, never, update}, named: "bbb", want: "bbb"},
		"one that was it before":                 {revisions: []Revision{former, current, never, update}, named: "aaa", want: "aaa", record: true},
		"one that never was":                     {revisions: []Revision{former, current, never, update}, named: "ccc", want: "bbb", putBack: true},
		"the update revision":                    {revisions: []Revision{former, current, never, update}, named: "ddd", want: "bbb", putBack: true},
		"one that is not there":                  {revisions: []Revision{former, current, never, update}, named: "zzz", want: "bbb", putBack: true},
		"none":                                   {revisions: []Revision{former, current, never, update}, want: "bbb", putBack: true},
		"the deleted one":                        {revisions: []Revision{former, never, update}, named: "bbb", want: "bbb"},
		"another, while the right one is gone":   {revisions: []Revision{former, never, update}, named: "ccc", want: "bbb", putBack: true},
		"a deleted one, from before an upgrade":  {revisions: []Revision{former, never, legacy}, named: "bbb", want: "bbb"},
		"one that is not there, no update":       {revisions: []Revision{former, current, never}, named: "zzz", want: "zzz"},
		"the status does not follow yet":         {revisions: []Revision{former, current, complete}, named: "bbb", want: "bbb"},
		"the status does not follow yet, first":  {revisions: []Revision{complete}, want: ""},
		"none ever was":                          {revisions: []Revision{never, legacy}, named: "ccc", want: "ccc", record: true},
		"none ever was, none is named":           {revisions: []Revision{never, legacy}},
		"none is, since another hub ran":         {revisions: []Revision{surpassed, never, legacy}, named: "ccc", want: "ccc", record: true},
		"none is, since another hub ran, update": {revisions: []Revision{surpassed, never, legacy}},
		"no history":                             {named: "aaa", want: "aaa"},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHistory(owner(), tc.revisions)
			got := h.JudgeCurrent(tc.named, "ddd")
			if got.Hash != tc.want || got.Record != tc.record || (got.Problem != "") != tc.putBack {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestFormerCurrents: a revision remembers the latest former current ones, whose revisions the history limit may delete, and those that other
// revisions remember. They are not live.
func TestFormerCurrents(t *testing.T) {
	remembered := Others{}
	for i := range 30 {
		remembered[fmt.Sprintf("old%02d", i)] = Entry{Digest: Digest(fmt.Sprintf("d%02d", i)), CurrentSince: noon.Add(-time.Duration(30-i) * time.Hour), Former: true}
	}
	remembered["never"] = Entry{Digest: "never"}
	surpassed := stored(t, "aaa", 1, surpassedAt(noon.Add(time.Minute)))
	current := stored(t, "bbb", 2, since(noon), amended(func(r *Record) { r.Others = remembered }))
	h := NewHistory(owner(), []Revision{surpassed, current, stored(t, "ccc", 3)})
	others := h.OthersOf("ddd", "bbb")
	if len(others) != 1+maxFormer || others["bbb"].Former || !others["aaa"].Former || !others["old29"].Former {
		t.Errorf("%d entries: %+v", len(others), others)
	}
	for _, hash := range []string{"old10", "never", "ddd"} {
		if _, found := others[hash]; found {
			t.Errorf("%s is remembered", hash)
		}
	}
	if entry, known := h.Returned("d05"); !known || !entry.CurrentSince.Equal(noon.Add(-25*time.Hour)) {
		t.Errorf("known %v: %+v", known, entry)
	}
	for _, digest := range []Digest{"never", "d99", "", current.Digest} {
		if _, known := h.Returned(digest); known {
			t.Errorf("%q returned", digest)
		}
	}
	if h.remembers("old29") {
		t.Error("one that is not live is remembered as live")
	}
	if hash, _ := h.LastCurrent(); hash != "bbb" {
		t.Errorf("the last current one is %s", hash)
	}
}
