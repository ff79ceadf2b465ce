// Package screen shows to a person how a rollout goes: a model of what there is to see, and a printer of it.
package screen

// View is one screen.
type View struct {
	// Step of Steps is where the story is.
	Step, Steps int
	// Title says what happens now, Why says why.
	Title, Why string

	Clusters        []Cluster
	Current, Update Revision
	Conditions      []Condition
	// Message is what the hub says about the rollout, in its own words.
	Message string
	Checks  []Check
}

// Cluster is the line of one managed cluster.
type Cluster struct {
	Name string
	// Revision is the one that the hub gave the cluster.
	Revision Revision
	// State is what the cluster does with it.
	State string
}

// Revision names a revision: by its hash, by the version of the workload in it, and by its number.
type Revision struct {
	Hash, Version string
	Number        int64
}

// Condition is one condition of the ManifestWorkReplicaSet.
type Condition struct {
	Type, Status, Reason string
}

// Check is something that the story proves on the API objects.
type Check struct {
	Text string
	Done bool
}
