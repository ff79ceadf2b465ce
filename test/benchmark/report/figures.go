package report

import (
	"time"
)

// The scenarios.
const (
	// Quiet is a status event that changes nothing, of a fleet that has long been up to date.
	Quiet = "status event that changes nothing"
	// First is the first rollout, type All.
	First = "first rollout"
	// All is an update, type All.
	All = "update All"
	// Progressive is an update, a tenth of the clusters at a time.
	Progressive = "update Progressive 10%"
	// Back is a person who goes back to the last version when half of the clusters have the new one.
	Back = "going back by hand, half done"
	// Abort is an automatic abort of an update that every cluster has.
	Abort = "automatic abort"
	// Alone is an abort of a tenant while nobody else is at work, and Beside one while another tenant takes all that it can get.
	Alone  = "abort alone"
	Beside = "abort beside a greedy tenant"
	// BesideWorst is one while another tenant changes the templates that cost the hub the most within its bounds.
	BesideWorst = "abort beside the worst templates"
	// QuietOfMany is Quiet where there are many ManifestWorkReplicaSets.
	QuietOfMany = "status event, many sets"
	// Restart is a hub that is started on a fleet at rest, with a new version to roll out: times run from the start of its process.
	Restart = "restart of the hub"
	// RestartMidway is a hub that is restarted while an update is under way.
	RestartMidway = "restart of the hub, half done"
	// BrokerRestart is a broker that is restarted while an update is under way, and forgets everything.
	BrokerRestart = "restart of the broker, half done"
	// AgentsReturn is an update with AbortAll, in the middle of which all agents disconnect and come back at once.
	AgentsReturn = "all agents return, half done"
	// FirstOfMany is the first rollout of those.
	FirstOfMany = "first rollout, many sets"
)

// The controllers.
const (
	Ours     = "ours"
	Upstream = "upstream"
)

// Figures are what was measured of one controller in one scenario.
type Figures struct {
	Scenario   string
	Controller string
	// Clusters is N; Sets is how many ManifestWorkReplicaSets select them.
	Clusters int
	Sets     int
	// Driver is what works travel by, where that is no API server.
	Driver string
	// Messages are the events over a broker that brought works to agents, and reports to the hub.
	Messages int
	// Aborts is how often a rollout was aborted that had no failure, and Missing how many clusters never got the version. Both are measured
	// where something is restarted in the middle.
	Aborts  int
	Missing int
	// Events is how many times it was done; all else is of one of them.
	Events int

	// Works is how many works had to be written, and Writes how often their generation changed.
	Works  int
	Writes int
	// CPU seconds of the controller, user and system, until it rests.
	CPU float64
	// Seconds from what set it off to the first and the last work that was written, and until the status says that it is over.
	FirstWrite float64
	LastWrite  float64
	Complete   float64
	// Requests of the controller by what they are about, watches aside.
	Requests map[string]int
	// PeakMemory is the most that the process ever had, in bytes, at the end of the scenario; LiveHeap is what its heap holds after a
	// garbage collection, beyond what it held when there was no work yet.
	PeakMemory float64
	LiveHeap   float64
	// ServerMemory and BrokerMemory are the most that the API server and the broker ever had in memory, and EtcdSize is the size of etcd's
	// database, all at the end of the scenario and in bytes.
	ServerMemory float64
	BrokerMemory float64
	EtcdSize     float64
}

// Run is all that was measured on one machine, one after the other.
type Run struct {
	// Began is when.
	Began time.Time
	// Machine describes the processors and the memory.
	Machine string
	// Command repeats it.
	Command string
	// Settle is our --success-settle: how long a success is seen before it counts.
	Settle float64
	// Delay is after what time an agent answers.
	Delay float64
	// Broker is what works travel over; empty for the API server.
	Broker  string
	Figures []Figures
}
