// Package rollout decides: from one snapshot of a ManifestWorkReplicaSet, its revisions, the clusters
// that its Placements select and its ManifestWorks, it decides which works to write and to delete, whether
// to abort, whether the rollout is complete or stalled, and when to look again.
//
// It is pure: no client, no lister, no logger, and time is an argument. Decide, in decide.go, takes these
// steps. The larger files begin with their algorithms. The update revision is that of the template. The current
// revision is the stable one: the last whose rollout was complete, to which an abort returns.
//
//	Which placementRef does a cluster belong to?     owners.go, placementstate.go
//	Which phase is it in, and what follows?          phase.go: one table; package work reads the conditions
//	When has it failed, and its placementRef?        failed.go; records.go: for how long that holds
//	Which gates must be open before it succeeds?     gates.go
//	When is the rollout aborted? What goes back?     abort.go
//	Which clusters are next?                         next.go; rings.go: the order of listed groups
//	When do kept objects go?                         trim.go; handover.go: which objects a write keeps
//	Which works are labelled, which are deleted?     adopt.go, relabel.go, remove.go
//	When is it complete, when stalled?               complete.go
//	What does a pause hold back?                     pause.go
//	Why does a cluster wait, and until when?         explain.go
//
// The input is a Snapshot (snapshot.go), and the output is a Plan (plan.go). Package work has the ManifestWorks and revisions in it,
// package placement has the placementRefs and their strategies, and package adoption reads the rollouts of another hub. Package lifecycle
// decides what is recorded first, and pkg/controller/deploy.go carries out the Plan.
package rollout
