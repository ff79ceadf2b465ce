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

// The controllers, and the loops that stand for what no controller can beat.
const (
	Ours     = "ours"
	Upstream = "upstream"
	// Floor is a loop of patches; Figures.Workers says by how many workers.
	Floor = "floor"
)

// Figures are what was measured of one controller in one scenario.
type Figures struct {
	Scenario   string `json:"scenario"`
	Controller string `json:"controller"`
	// Clusters is N; Sets is how many ManifestWorkReplicaSets select them.
	Clusters int `json:"clusters"`
	Sets     int `json:"sets"`
	// Workers is how many writers a floor had.
	Workers int `json:"workers,omitempty"`
	// Driver is what works travel by, where that is no API server.
	Driver string `json:"driver,omitempty"`
	// Messages are the events over a broker that brought works to agents, and reports to the hub.
	Messages int `json:"messages,omitempty"`
	// Aborts is how often a rollout was aborted that had no failure, and Missing how many clusters never got the version. Both are measured
	// where something is restarted in the middle.
	Aborts  int `json:"aborts,omitempty"`
	Missing int `json:"missing,omitempty"`
	// Events is how many times it was done; all else is of one of them.
	Events int `json:"events,omitempty"`

	// Works is how many works had to be written, and Writes how often their generation changed.
	Works  int `json:"works"`
	Writes int `json:"writes"`
	// CPU seconds of the controller, user and system, until it rests.
	CPU float64 `json:"cpuSeconds"`
	// AllocatedBytes and AllocatedObjects are what it allocated.
	AllocatedBytes   float64 `json:"allocatedBytes"`
	AllocatedObjects float64 `json:"allocatedObjects"`
	// Seconds from what set it off to the first and the last work that was written, and until the status says that it is over.
	FirstWrite float64 `json:"firstWriteSeconds"`
	LastWrite  float64 `json:"lastWriteSeconds"`
	Complete   float64 `json:"completeSeconds"`
	// Others is how long a small read of somebody else took meanwhile: all but one of a hundred took no longer.
	Others float64 `json:"othersSeconds,omitempty"`
	// Requests of the controller by what they are about, watches aside.
	Requests map[string]int `json:"requests,omitempty"`
	// PeakMemory is the most that the process ever had, in bytes, at the end of the scenario; LiveHeap is what its heap holds after a
	// garbage collection, beyond what it held when there was no work yet.
	PeakMemory float64 `json:"peakMemoryBytes,omitempty"`
	LiveHeap   float64 `json:"liveHeapBytes,omitempty"`
	// ServerMemory and BrokerMemory are the most that the API server and the broker ever had in memory, and EtcdSize is the size of etcd's
	// database, all at the end of the scenario and in bytes.
	ServerMemory float64 `json:"serverMemoryBytes,omitempty"`
	BrokerMemory float64 `json:"brokerMemoryBytes,omitempty"`
	EtcdSize     float64 `json:"etcdBytes,omitempty"`
}

// Run is all that was measured on one machine, one after the other.
type Run struct {
	// Began is when.
	Began time.Time `json:"began"`
	// Machine describes the processors and the memory.
	Machine string `json:"machine"`
	// Command repeats it.
	Command string `json:"command"`
	// Settle is our --success-settle: how long a success is seen before it counts.
	Settle float64 `json:"settleSeconds"`
	// Delay is after what time an agent answers.
	Delay float64 `json:"agentDelaySeconds"`
	// Broker is what works travel over; empty for the API server.
	Broker string `json:"broker,omitempty"`
	// Baselines are what a run over a broker is compared with.
	Baselines []Baseline `json:"baselines,omitempty"`
	Figures   []Figures  `json:"figures"`
}
