// Package controller reconciles ManifestWorkReplicaSets.
//
// A pass over an object takes these steps, in this order:
//
//	finalize  if the object is being deleted, its works are deleted, and a
//	          finalizer keeps the object until they are gone                     (finalize.go)
//	decide    the informers' caches become one view of the object (observe.go);
//	          package lifecycle decides about its revision and its rollout,
//	          and requests the facts that it needs first                         (decide.go)
//	deploy    if the ledger changed, it is persisted (ledger.go), and the pass
//	          ends; otherwise the plan of package rollout is carried out         (deploy.go)
//	status    package status builds the conditions and counts, in one write      (report.go)
//	prune     revisions over the limit are deleted                               (prune.go)
//
// A pass either persists a decision or executes one, never both (R42). The next pass begins when every cache shows the
// writes of the last one (internal/memory/expectations.go, R15). If a process is killed after any write, its successor
// finds everything that it needs in the ledger.
//
// The controller holds no client of its own. Package internal/workwriter writes ManifestWorks, internal/revisionwriter writes
// ControllerRevisions, and replicaset patches the object. Package workpatch builds the content of each write of a work.
//
// Passes over different objects run concurrently. Passes that perform an abort have their own workers and write slots.
// Within each of the two lanes, namespaces take turns (package internal/queue). A pass writes for a bounded time, and
// leaves the remaining writes to the next pass.
//
// Package internal/memory holds the state that a process keeps from one pass to the next. Its successor never needs that state. The state
// of an object is dropped by the first pass that no longer finds the object (pass.go).
package controller
