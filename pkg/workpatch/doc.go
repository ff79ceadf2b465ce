// Package workpatch makes the content of the hub's writes: new ManifestWorks, patches of existing ones, and the differences between two
// specs.
//
// Everything in it is a pure function. It imports packages rollout and revision, and types and functions of objects. It must not import a
// client, a cache, a logger or a clock. The linter has the list. Package controller sends the results.
package workpatch
