// Package controller reconciles ManifestWorkReplicaSets.
//
// A pass over one of them takes these steps, in this order:
//
//	observe   the informers' caches become one view of the object               (observe.go)
//	finalize  its works are deleted with it, and a finalizer waits for that      (finalize.go)
//	revision  package revision/plan decides which revision the template has,
//	          step by step, and each step is performed                           (revisions.go)
//	rollout   what later writes depend on is persisted before the rollout goes on (revisions.go)
//	deploy    package rollout decides; the decision is persisted and carried out (deploy.go)
//	status    package status makes the conditions and counts, in one write       (report.go)
//	prune     revisions over the limit are deleted                               (prune.go)
//
// Write-ahead: a step that persists a decision ends the pass. The next pass begins when every cache shows that write
// (internal/memory/expectations.go, R15). A process that is killed after any write leaves behind what its successor needs.
//
// The controller holds no client of its own. Package internal/workwriter writes ManifestWorks, internal/ledger writes ControllerRevisions,
// and replicaset patches the object. What is written into a work comes from package workpatch.
//
// Passes over several objects run at the same time. Passes that carry out an abort have workers and write slots of their own, and within
// each of the two lanes namespaces take turns (package internal/queue). A pass writes for a bounded time, and leaves the rest to the next
// one.
//
// What a process remembers from one pass to the next is in package internal/memory. Its successor never needs it. What is known of an
// object is dropped when the object is gone (informers.go).
package controller
