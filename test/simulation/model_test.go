package simulation

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

var clusterNames, placementNames = []string{"c1", "c2", "c3", "c4", "c5", "c6"}, []string{"p1", "p2", "p3"}

var onlyOverBroker = flag.Bool("over-broker", false, "play every story of TestModel over a broker")

var soak = flag.Duration("soak", 0, "how long TestModel goes on with new stories")

// TestModel plays generated stories and checks the properties after every write and whenever the world is quiet.
func TestModel(t *testing.T) {
	began := time.Now()
	for round := 1; round == 1 || (time.Since(began) < *soak && !t.Failed()); round++ {
		t.Run(fmt.Sprintf("round %d", round), checkModel)
	}
	t.Log(&played)
}

// played contains the results of all stories of this process.
var played tally

type tally struct{ stories, writes, faults, restarts int }

func (s *tally) add(story []string) {
	s.stories++
	for _, line := range story {
		switch _, what, _ := strings.Cut(strings.TrimSpace(line), "  "); {
		case strings.HasPrefix(what, "hub: "):
			s.writes++
		case strings.HasPrefix(what, "fault: "):
			s.faults++
		case strings.HasPrefix(what, "the hub "):
			s.restarts++
		}
	}
}

func (s *tally) String() string {
	return fmt.Sprintf("%d stories, in which the hub wrote %d times, %d of its writes were hit by a fault, and it started again %d times",
		s.stories, s.writes, s.faults, s.restarts)
}

func checkModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(m.actions())
		m.w.Fault, m.w.Lag = nil, nil
		m.calm()
		m.lastingRefusals()
		m.quiet()
		m.w.Pause(false)
		m.quiet()
		m.w.Repent()
		m.quiet()
		m.ends(t)
		m.must(m.w.API.checkUnchanged())
		played.add(m.w.Story)
	})
}

type model struct {
	t *rapid.T
	w *World
	// placed contains the groups of each placement.
	placed map[string][2][]string
	// asOCM is true if the placements are written as OCM's placement controller does.
	asOCM bool
	// saved contains statuses from earlier points of the story, as a backup stores them.
	saved []*workv1alpha1.ManifestWorkReplicaSetStatus
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, w: NewWorld(), placed: map[string][2][]string{}}
	m.w.Check = func(write string) {
		if err := m.w.CheckWrite(write); err != nil {
			m.fail(err)
		}
	}
	if rapid.Bool().Draw(t, "lagging caches") {
		m.w.Lag = func(waiting int) int { return rapid.IntRange(1, waiting).Draw(t, "observed") }
	}
	if rapid.Bool().Draw(t, "faults") {
		m.w.Fault = func(string) Fault {
			if rapid.IntRange(0, 9).Draw(t, "fault?") > 0 {
				return NoFault
			}
			return rapid.SampledFrom([]Fault{KilledBefore, KilledAfter, Refused, Throttled, Conflicted, Lost}).Draw(t, "fault")
		}
	}
	if rapid.Bool().Draw(t, "clocks apart") {
		m.w.AgentsAhead = map[string]time.Duration{}
		for _, cluster := range clusterNames {
			m.w.AgentsAhead[cluster] = rapid.SampledFrom([]time.Duration{-5 * time.Minute, -20 * time.Second, 0, 20 * time.Second, 64 * time.Second, 5 * time.Minute}).
				Draw(t, "clock of "+cluster)
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "over a broker?") == 2 || *onlyOverBroker {
		m.w.OverBroker()
		m.w.Network.Fate = m.fate
	}
	m.w.Drops = m.w.Network == nil && rapid.Bool().Draw(t, "versions drop objects")
	m.asOCM = rapid.Bool().Draw(t, "placements as OCM")
	if rapid.Bool().Draw(t, "managed clusters") {
		m.w.Join(clusterNames...)
	}
	m.place(t)
	for _, version := range []string{"v1", "v2", "v3"} {
		m.w.Gate("", version, "True")
	}
	m.w.Create("v1", m.refs(t)...)
	m.corrupt(t)
	m.settle(time.Duration(rapid.IntRange(0, 60).Draw(t, "at first")) * time.Second)
	return m
}

// corrupt turns up to two agents into adversaries, in half of the stories. No Placement selects c7.
func (m *model) corrupt(t *rapid.T) {
	if m.w.Network != nil || !rapid.Bool().Draw(t, "adversaries") {
		return
	}
	m.w.Corrupt(rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"c7"}, clusterNames...)), 1, 2, rapid.ID[string]).Draw(t, "adversaries' clusters")...)
	m.w.adversaries.strike = func() {
		if rapid.IntRange(0, 9).Draw(t, "strike?") == 0 {
			m.attack(t, 1)
		}
	}
}

// attack lets adversaries act.
func (m *model) attack(t *rapid.T, times int) {
	if m.w.adversaries.clusters.Len() == 0 {
		return
	}
	for range times {
		cluster := rapid.SampledFrom(sets.List(m.w.adversaries.clusters)).Draw(t, "adversary")
		m.w.Attack(cluster, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
	}
}

// undoOffline restores an older template whose rollout was once complete, while the agent of one cluster is silent.
func (m *model) undoOffline(t *rapid.T) {
	contents, current := m.w.contents(), m.w.Object().Status.CurrentRevision
	var former []string
	for _, rev := range m.w.Revisions() {
		hash := rev.Labels[workv1alpha1.LabelControllerHash]
		if !revision.RecordOf(rev).Ended.IsZero() && hash != current && contents[hash] != "" {
			former = append(former, contents[hash])
		}
	}
	if len(former) == 0 {
		return
	}
	version := rapid.SampledFrom(former).Draw(t, "former version")
	m.report(rapid.SampledFrom(clusterNames).Draw(t, "offline cluster"), version, Silent)
	m.w.Update(version)
}

// permit grants the hub the permission on ControllerRevisions, or revokes it.
func (m *model) permit(allowed bool) {
	if m.w.API.NoHistory == allowed {
		m.w.API.NoHistory = !allowed
		m.w.Tell("admin: permission on ControllerRevisions: %v", allowed)
	}
}

// lastingRefusals checks that a lasting rejection causes no writes, even if its message changes, at any point of the story (P7). Half an
// hour is longer than all deadlines.
func (m *model) lastingRefusals() {
	m.w.adversaries.strike = nil
	m.settle(30 * time.Minute)
	if len(m.w.Refusals) > 0 && m.w.Object() != nil {
		m.must(m.w.checkIdle(10 * time.Minute))
	}
}

// quiet checks the properties when nothing happens any more.
func (m *model) quiet() {
	m.permit(true)
	for _, cluster := range clusterNames {
		m.w.Refuse(cluster, NoFault)
	}
	strike := m.w.adversaries.strike
	m.w.adversaries.strike = nil
	m.w.GiveBack()
	defer m.calm()()
	m.rest()
	m.approveAll()
	m.must(m.w.CheckQuiet())
	m.w.adversaries.strike = strike
}

func (m *model) refs(t *rapid.T) []workv1alpha1.LocalPlacementReference {
	var refs []workv1alpha1.LocalPlacementReference
	for _, placement := range placementNames[:rapid.SampledFrom([]int{1, 1, 2, 2, 3}).Draw(t, "refs")] {
		ref := drawRef(t, placement)
		if m.w.Network == nil && rapid.IntRange(0, 3).Draw(t, "gate") == 0 {
			ref = gated(ref)
		}
		refs = append(refs, ref)
	}
	return refs
}

func drawRef(t *rapid.T, placement string) workv1alpha1.LocalPlacementReference {
	ref := workv1alpha1.LocalPlacementReference{Name: placement}
	config := clusterv1alpha1.RolloutConfig{
		ProgressDeadline: rapid.SampledFrom([]string{"None", "10s", "30s", "3m", "1h"}).Draw(t, "deadline"),
		MaxFailures:      rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromString("40%")}).Draw(t, "maxFailures"),
	}
	config.MinSuccessTime.Duration = rapid.SampledFrom([]time.Duration{0, 5 * time.Second}).Draw(t, "minSuccessTime")
	ref.RolloutStrategy.FailureStrategy = rapid.SampledFrom([]workv1alpha1.FailureStrategy{
		"", workv1alpha1.AbortAll, workv1alpha1.AbortAll, workv1alpha1.ReportAbort,
	}).Draw(t, "abort")
	if rapid.IntRange(0, 2).Draw(t, "skip") == 0 {
		ref.RolloutStrategy.UnavailableClusters = workv1alpha1.SkipUnavailable
	}
	var mandatory clusterv1alpha1.MandatoryDecisionGroups
	if rapid.IntRange(0, 3).Draw(t, "mandatory?") == 0 {
		mandatory.MandatoryDecisionGroups = []clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "g0"}}
		// The batch of a mandatory group is the whole group. The check of P4 does not consider this.
		ref.RolloutStrategy.Type = clusterv1alpha1.ProgressivePerGroup
	} else {
		ref.RolloutStrategy.Type = rapid.SampledFrom([]clusterv1alpha1.RolloutType{clusterv1alpha1.All, clusterv1alpha1.Progressive, clusterv1alpha1.ProgressivePerGroup}).Draw(t, "type")
	}
	if ref.RolloutStrategy.Type != clusterv1alpha1.All && len(mandatory.MandatoryDecisionGroups) == 0 {
		ref.RolloutStrategy.Groups = drawApprovals(t, drawRings(t))
	}
	switch ref.RolloutStrategy.Type {
	case clusterv1alpha1.All:
		ref.RolloutStrategy.All = &clusterv1alpha1.RolloutAll{RolloutConfig: config}
	case clusterv1alpha1.Progressive:
		ref.RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{RolloutConfig: config, MaxConcurrency: intstr.FromInt32(rapid.Int32Range(1, 3).Draw(t, "maxConcurrency"))}
	default:
		ref.RolloutStrategy.ProgressivePerGroup = &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: config, MandatoryDecisionGroups: mandatory}
	}
	return ref
}

// place makes each placement select some clusters, in up to two groups. The selections may overlap.
func (m *model) place(t *rapid.T) {
	for _, placement := range placementNames {
		var groups [2][]string
		for _, cluster := range clusterNames {
			if group := rapid.IntRange(-1, 1).Draw(t, placement+" "+cluster); group >= 0 {
				groups[group] = append(groups[group], cluster)
			}
		}
		m.placed[placement] = groups
		m.write(placement, groups)
	}
}

// write writes the clusters of a placement. In half of the stories, it does so as OCM's placement controller, and the hub may look at any
// time.
func (m *model) write(placement string, groups [2][]string) {
	if !m.asOCM {
		m.w.Place(placement, groups[0], groups[1])
		return
	}
	m.w.PlaceGroups(placement, func(bool) {
		if rapid.Bool().Draw(m.t, "the hub looks") {
			m.settle(0)
		}
	}, DecisionGroup{"g0", groups[0]}, DecisionGroup{"g1", groups[1]})
}

func (m *model) report(cluster, version string, outcome Outcome) {
	m.w.Report(cluster, version, outcome)
	m.w.Tell("agents: %s %s %s", cluster, version, outcome)
}

// works returns the works of the ManifestWorkReplicaSet.
func (m *model) works() []*workv1.ManifestWork {
	return slices.DeleteFunc(m.w.Works(), func(work *workv1.ManifestWork) bool { return !owned(work) })
}

func (m *model) handEdit(t *rapid.T) {
	works := m.works()
	if len(works) == 0 {
		return
	}
	work := rapid.SampledFrom(works).Draw(t, "work")
	m.w.forgetServed(work)
	template := Template(edited)
	m.w.patch(Works, work.Namespace, work.Name, map[string]any{"spec": from(&template).Object}, false)
	m.w.Tell("user: edits the work of %s", work.Namespace)
}

func (m *model) settle(during time.Duration) { m.must(m.w.Settle(during)) }

// rest runs the world until nothing more happens by itself.
func (m *model) rest() {
	if m.w.Network != nil {
		m.settle(2 * time.Hour) // Covers the longest deadline, and a clock that is set back.
	}
	m.settle(Forever)
}

func (m *model) must(err error) {
	if err != nil {
		m.fail(err)
	}
}

func (m *model) fail(err error) {
	m.t.Fatalf("%v\n%s", err, m.story())
}

func (m *model) story() string { return strings.Join(m.w.Story, "\n") }
