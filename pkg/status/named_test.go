package status_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestSoakThatHasNoEffect: OCM's strategy All has no soak. Progressing reports this during the rollout and when it is complete.
func TestSoakThatHasNoEffect(t *testing.T) {
	const want = "minSuccessTime has no effect with type All: p1 (5m0s)"
	two := rt.Clusters("c1", "c2")
	for _, in := range []*status.Input{
		input(status.RollingOut, rt.Refs(rt.Ref("p1", rt.Soak(5*minute), two)), rt.Works(inFlight("c1"))),
		input(status.Complete, rt.Refs(rt.Ref("p1", rt.Soak(5*minute), two)), rt.Works(done("c1"), done("c2"))),
	} {
		if _, messages := told(build(in)); !strings.HasSuffix(messages[progressing], want) {
			t.Errorf("%s: %q", in.Stage, messages[progressing])
		}
	}
	if _, messages := told(build(input(status.RollingOut, p1(two, rt.Soak(minute))))); strings.Contains(messages[progressing], "no effect") {
		t.Errorf("%q", messages[progressing])
	}
}

// TestPlacementVerifiedNamesAll: the message names all missing Placements and all bad fields.
func TestPlacementVerifiedNamesAll(t *testing.T) {
	in := input(status.RollingOut, rt.Refs(rt.Ref("p1", rt.Missing()), rt.Ref("p2", rt.Missing())))
	if c := status.PlacementVerified(in); !strings.Contains(c.Message, "spec.placementRefs[0]") || !strings.Contains(c.Message, "spec.placementRefs[1]") {
		t.Error(c.Message)
	}
	in = input(status.RollingOut, p1(rt.Clusters("c1")))
	in.Plan.Refs[0].Err = errors.New("one")
	in.Plan.Refs = append(in.Plan.Refs, rollout.RefOutcome{Err: fmt.Errorf("two")})
	if c := status.PlacementVerified(in); c.Message != "one; two" {
		t.Error(c.Message)
	}
}

// TestIgnoredRefsAreNamed: if there are too many placementRefs, only the first ones count, and the conditions report the consequences. A
// complete rollout stays complete.
func TestIgnoredRefsAreNamed(t *testing.T) {
	const said = "spec.placementRefs has 7 entries, but only the first 1 count: clusters that are selected only by the others keep their ManifestWorks and get no new revision, " +
		"no ManifestWork is deleted, and no rollout completes; select more clusters with each Placement, or create several ManifestWorkReplicaSets"
	for stage, want := range map[status.Stage]string{status.RollingOut: "NewRevisionCreated True", status.Complete: "NewManifestWorkAvailable False"} {
		heads, messages := told(build(input(stage, p1(rt.Clusters("c1")), rt.Works(done("c1")), rt.IgnoredRefs(6))))
		if heads[verified] != "NotAsExpected False" || messages[verified] != said || heads[progressing] != want {
			t.Errorf("%s: %s, %q, %s", stage, heads[verified], messages[verified], heads[progressing])
		}
		if waits := strings.Contains(messages[progressing], "no rollout completes while spec.placementRefs has more than 1 entries"); waits != (stage == status.RollingOut) {
			t.Errorf("%s: %q", stage, messages[progressing])
		}
	}
	heads, messages := told(build(input(status.RollingOut, p1(rt.Missing()), rt.IgnoredRefs(6))))
	if heads[verified] != "PlacementDecisionNotFound False" || !strings.HasPrefix(messages[verified], said+"; spec.placementRefs[0].name: there is no Placement") {
		t.Errorf("%s: %q", heads[verified], messages[verified])
	}
}

// TestLargerHistoryLimitIsNamed: in every stage, Progressing reports that fewer revisions are kept than the spec requests. Nothing else
// changes.
func TestLargerHistoryLimitIsNamed(t *testing.T) {
	const said = "spec.revisionHistoryLimit is 101, but the maximum of 100 applies: the newest 100 old revisions are kept; set it to at most 100"
	for _, stage := range []status.Stage{status.RollingOut, status.Stalled, status.Complete, status.Aborting, status.Aborted} {
		in := input(stage, p1(rt.Clusters("c1")), rt.Works(done("c1")))
		in.PrunedNote = "a note"
		in.Object.Spec.RevisionHistoryLimit = ptr.To[int32](100)
		before, words := told(build(in))
		in.Object.Spec.RevisionHistoryLimit = ptr.To[int32](101)
		heads, messages := told(build(in))
		if !maps.Equal(heads, before) || messages[progressing] != words[progressing]+"; "+said || messages[applied] != words[applied] {
			t.Errorf("%s: %v, %q, before %v, %q", stage, heads, messages, before, words)
		}
	}
}

// TestUnheardClustersAreNamed: the clusters whose agents have not reported over a broker are named, with the remedy.
func TestUnheardClustersAreNamed(t *testing.T) {
	const named = "1 cluster (c1) with no report since this hub started: no progressDeadline fires there before the agent reports; " +
		"connect the agent to the broker, or remove the cluster from the Placement"
	fleet := p1(rt.Clusters("c1", "c2"))
	for name, tc := range map[string]struct {
		stage status.Stage
		works []work.Work
		of    []string
	}{
		"in flight": {status.RollingOut, []work.Work{inFlight("c1"), done("c2")}, []string{"Progressing", "PlacementRolledOut"}},
		"stalled": {status.Stalled, []work.Work{failed("c1"), done("c2")},
			[]string{"Progressing", "PlacementRolledOut", "ManifestworkApplied"}},
		"aborted": {status.Aborted, []work.Work{old("c1"), old("c2")}, []string{"Progressing", "PlacementRolledOut"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{fleet, rt.Heard(0, "c2"), rt.Works(tc.works...)}
			if tc.stage == status.Aborted {
				options = append(options, rt.Aborted())
			}
			_, messages := told(build(input(tc.stage, options...)))
			for _, condition := range tc.of {
				if !strings.Contains(messages[condition], named) {
					t.Errorf("%s: %q", condition, messages[condition])
				}
			}
		})
	}
}

// TestUnreachedClustersAreNamed: agents that are available but do not receive the hub's events are named with the remedy, in every stage.
func TestUnreachedClustersAreNamed(t *testing.T) {
	const want = "2 clusters (c1, c2) not reached: the agent is connected or its cluster is available, but it does not report what the hub sent; " +
		"restart the work agent there, and check that no other client of the broker has its client ID"
	for _, in := range []*status.Input{
		input(status.RollingOut, p1(rt.Clusters("c1", "c2")), rt.Works(inFlight("c1"))),
		input(status.Stalled, p1(rt.Clusters("c1", "c2")), rt.Works(inFlight("c1"))),
		input(status.Complete, p1(rt.Clusters("c1", "c2")), rt.Works(done("c1"), done("c2"))),
	} {
		built := build(in)
		if _, messages := told(built); strings.Contains(messages[rolledOut], "not reached") {
			t.Errorf("%s: %q", in.Stage, messages[rolledOut])
		}
		in.Snapshot.Unreached = []string{"c1", "c2"}
		if _, messages := told(build(in)); !strings.Contains(messages[rolledOut], want) {
			t.Errorf("%s: %q", in.Stage, messages[rolledOut])
		}
	}
}
