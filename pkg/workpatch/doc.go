// Package workpatch makes what the hub writes of ManifestWorks: new ones, patches of existing ones, and what differs between two specs.
//
// Everything in it is a pure function. It imports packages rollout and revision, types and functions of objects; it must not import a
// client, a cache, a logger or a clock. The linter has the list. What sends the result is package controller.
package workpatch
