package report

import (
	"time"
)

// The scenarios.
const (
	// Quiet is a status event that changes nothing, in a fleet that is up to date.
	Quiet = "status event that changes nothing"
	// First is the first rollout, type All.
	First = "first rollout"
	// All is an update, type All.
	All = "update All"
	// Progressive is an update of a tenth of the clusters at a time.
	Progressive = "update Progressive 10%"
	// Back is a user's return to the last version when half of the clusters have the new version.
	Back = "going back by hand, half done"
	// Abort is an automatic abort of an update that every cluster has.
	Abort = "automatic abort"
	// Alone is a tenant's abort without other load. Beside is a tenant's abort while another tenant uses all the capacity that it can get.
	Alone  = "abort alone"
	Beside = "abort beside a greedy tenant"
	// BesideWorst is a tenant's abort while another tenant changes the templates that cost the hub the most within its bounds.
	BesideWorst = "abort beside the worst templates"
	// QuietOfMany is Quiet with many ManifestWorkReplicaSets.
	QuietOfMany = "status event, many sets"
	// Restart is a hub that is started on a fleet at rest, with a new version to roll out: times run from the start of its process.
	Restart = "restart of the hub"
	// RestartMidway is a hub that is restarted during an update.
	RestartMidway = "restart of the hub, half done"
	// BrokerRestart is a broker that is restarted during an update, and loses its whole state.
	BrokerRestart = "restart of the broker, half done"
	// AgentsReturn is an update with AbortAll during which all agents disconnect and reconnect at the same time.
	AgentsReturn = "all agents return, half done"
	// FirstOfMany is the first rollout of many ManifestWorkReplicaSets.
	FirstOfMany = "first rollout, many sets"
)

// The controllers.
const (
	Ours     = "ours"
	Upstream = "upstream"
)

// Figures are the measurements of one controller in one scenario.
type Figures struct {
	Scenario   string
	Controller string
	// Clusters is N, and Sets is the number of ManifestWorkReplicaSets that select the clusters.
	Clusters int
	Sets     int
	// Driver is the driver of the works, if they do not travel through the API server.
	Driver string
	// Messages are the events over a broker that brought works to agents, and reports to the hub.
	Messages int
	// Aborts is the number of aborted rollouts without a failure, and Missing is the number of clusters that never got the version. Both are
	// measured in scenarios with a restart during the update.
	Aborts  int
	Missing int
	// Events is the number of repetitions. All other figures are about a single one.
	Events int

	// Works is the number of works that had to be written, and Writes is the number of times their generations changed.
	Works  int
	Writes int
	// CPU is the controller's CPU time in seconds, user and system, until it is idle.
	CPU float64
	// FirstWrite and the next two fields are the seconds from the trigger to the first and the last written work, and until the status reports
	// the end.
	FirstWrite float64
	LastWrite  float64
	Complete   float64
	// Requests counts the controller's requests, without watches.
	Requests map[string]int
	// PeakMemory is the peak memory of the process in bytes, at the end of the scenario. LiveHeap is the growth of its heap, after a garbage
	// collection, since there was no work.
	PeakMemory float64
	LiveHeap   float64
	// ServerMemory and BrokerMemory are the peak memory of the API server and of the broker, and EtcdSize is the size of etcd's database. All
	// are in bytes, at the end of the scenario.
	ServerMemory float64
	BrokerMemory float64
	EtcdSize     float64
}

// Run holds all measurements on one machine.
type Run struct {
	// Began is the time when the run began.
	Began time.Time
	// Machine describes the processors and the memory.
	Machine string
	// Command is the command that repeats the run.
	Command string
	// Settle is --success-settle of this project's hub: how long a success must be seen before it counts.
	Settle float64
	// Delay is the time after which an agent reports.
	Delay float64
	// Broker describes the transport of the works; empty for the API server.
	Broker  string
	Figures []Figures
}
