package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFailureWhileADecisionIsCreated: a tolerated failure does not pass to a later placementRef between the creation of a PlacementDecision
// and the write of its clusters. After that, an empty Placement hands its clusters over.
func TestFailureWhileADecisionIsCreated(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Place("p2", []string{"c1", "c2", "c3", "c4", "c5"})
	p1, p2 := progressive("p1", 3, "30s", 1, true), soaking(progressive("p2", 5, "30s", 0, true), 10*time.Minute)
	s.Create("v1", p1, p2)
	s.quiet()
	s.hangs("v2", "c1")
	s.settle(time.Minute)
	require.Equal(t, []string{"c1"}, s.failed(), s.story())
	s.Recreate("p1")
	s.settle(3 * time.Second)
	require.Equal(t, "p1", s.placementOf("c1"), s.story())
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.settle(10 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())

	s.Place("p1")
	s.Tell("p1 selects nothing any more")
	s.settle(10 * time.Second)
	require.Equal(t, "p2", s.placementOf("c2"), s.story())
}

// TestDeselectedClusterOfAnotherGroup: a deselected cluster counts for the decision group in which it failed.
func TestDeselectedClusterOfAnotherGroup(t *testing.T) {
	s := checkedStory(t)
	s.Place("p1", []string{"a1", "a2"}, []string{"b1", "b2"})
	p1 := soaking(perGroup("p1", "30s", 1, true), 10*time.Minute)
	s.Create("v1", p1)
	s.settle(time.Hour)
	s.hangs("v2", "a1", "a2")
	s.settle(10 * time.Second)
	s.Place("p1", []string{"a1", "b1"}, []string{"a2", "b2"})
	s.settle(time.Minute)
	require.Equal(t, []string{"a1", "a2"}, s.failed(), s.story())
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.Place("p1", []string{"a1", "b1"}, []string{"b2"})
	s.settle(2 * time.Second)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
}
