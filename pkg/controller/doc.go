// Package controller is all that reads and writes for ManifestWorkReplicaSets.
//
// A pass over one of them goes this way:
//
//	observe   the informers' caches become one view of it                    (observe.go, placements.go)
//	finalize  deletion, and the finalizer that makes it wait                 (finalize.go)
//	revision  package revision/plan decides, step by step, and a step is done (revisions.go, perform.go)
//	rollout   what decides is persisted before the rollout goes on            (rollouts.go, perform.go)
//	deploy    decide (package rollout), persist what decides, act            (deploy.go, act.go)
//	status    the conditions and counts (package status), in one write       (report.go)
//	cleanup   revisions over the limit                                       (cleanup.go)
//
// Write-ahead: a step that persists something that decides ends the pass, and the next pass begins when every
// cache has caught up with the write (internal/memory/expectations.go, R15). So a process that is killed after any write leaves behind
// what its successor needs.
//
// Passes over several objects are made at once. Those that carry out an abort have workers and write slots of their own, and within each of
// the two lanes namespaces take turns (package internal/queue, turn.go). A pass writes for a bounded time, and leaves the rest to the next one.
//
// What a process keeps from one pass to the next is never needed by its successor (package internal/memory, specs.go). What is known of an
// object goes away with it (forget.go). What is written of works is made in package workpatch, and package workcache is the cache of them.
package controller
