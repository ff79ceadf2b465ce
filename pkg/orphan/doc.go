// Package orphan decides how the objects of a ManifestWork stay on its cluster when the ManifestWork is deleted.
//
// An agent deletes what its AppliedManifestWork owns. It gives an object up only while it applies a ManifestWork whose deleteOption is
// Orphan, and it applies nothing of a ManifestWork that is being deleted. So the deletion has to wait until the agent confirmed that it has
// given up every object. The steps:
//
//	DropCompletion  the agent applies nothing of what ran to completion: the condition rules go first, and the completion with them
//	Release         deleteOption Orphan, and CreateOnly for every object: the agent removes its ownerReference and changes nothing else
//	Delete          once every object is given up, or if nothing was ever applied
//
// Where the object of a completed manifest is gone, the agent never drops the completion: the other objects get a rule by which they are
// incomplete, and with them the ManifestWork.
//
// A live ManifestWork is all that a step is decided on. A process that is killed after any write leaves behind what its successor needs.
//
// Everything in it is a pure function. It imports types and functions of objects; it must not import a client, a cache, a logger or a
// clock. The linter has the list. What writes is package controller/internal/workwriter.
package orphan
