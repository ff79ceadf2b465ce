package rollout

// Wait is what a cluster waits for.
type Wait string

// What a cluster can wait for.
const (
	// WaitNothing means that it waits for nothing.
	WaitNothing    Wait = ""
	WaitTurn       Wait = "Turn"
	WaitEarlierRef Wait = "EarlierRef"
	WaitDeletion   Wait = "Deletion"
	WaitAgent      Wait = "Agent"
	WaitSoak       Wait = "Soak"
	WaitHandover   Wait = "Handover"
	WaitManifests  Wait = "Manifests"
	WaitAcceptance Wait = "Acceptance"
)
