package rollout

import "time"

// GroupPhase is the progress of a listed decision group.
type GroupPhase string

// The phases of a listed group, in their order.
const (
	// GroupMissing means that no PlacementDecision has the group: neither it nor what comes after it begins.
	GroupMissing GroupPhase = "Missing"
	// GroupWaiting means that the groups before it are not done, or still bake.
	GroupWaiting GroupPhase = "Waiting"
	// GroupUnapproved means that it waits only for its approval.
	GroupUnapproved GroupPhase = "Unapproved"
	// GroupRunning means that its clusters get the update revision.
	GroupRunning GroupPhase = "Running"
	// GroupBaking means that it is done, and that its bakeTime has not passed.
	GroupBaking GroupPhase = "Baking"
	// GroupDone means that it no longer holds anything back.
	GroupDone GroupPhase = "Done"
)

// GroupState is the state of a decision group that rolloutStrategy.groups lists, while the rollout is in progress.
type GroupState struct {
	// Placement is the Placement of its placementRef.
	Placement string
	// Group is the groupName of its entry in the list, or its groupIndex as text.
	Group string
	State GroupPhase
	// For is the group that it waits for if State is Waiting; empty otherwise.
	For string
	// Until is when its bakeTime has passed if State is Baking; zero otherwise.
	Until time.Time
	// NeedsApproval is true if the group waits, or will wait, for an approval that it does not have.
	NeedsApproval bool
	// Clusters is how many of its clusters count, and Unfinished names those that have to succeed first, sorted.
	Clusters   int
	Unfinished []string
}
