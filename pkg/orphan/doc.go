// Package orphan decides how the objects of a ManifestWork stay on its cluster when the ManifestWork is deleted.
//
// An agent deletes the objects that its AppliedManifestWork owns. It releases an object only while it applies a ManifestWork whose
// deleteOption is Orphan, and it does not apply a ManifestWork that is being deleted. So the deletion must wait until the agent has
// confirmed that it released every object. The steps:
//
//	DropCompletion  agents do not apply what ran to completion, so the condition rules and the completion are removed first
//	Release         deleteOption Orphan, and CreateOnly for every object: the agent removes its ownerReference and changes nothing else
//	Delete          once every object is released, or if nothing was ever applied
//
// If the object of a completed manifest has been deleted, the agent never removes the completion. In that case, the other objects get a
// rule that makes them, and therefore the ManifestWork, incomplete.
//
// Each step depends only on a live ManifestWork, so if a process is killed after any write, its successor can continue.
//
// The package contains only pure functions. It must not import a client, a cache, a logger or a clock; the linter enforces this. The
// package controller/internal/workwriter performs the writes.
package orphan
