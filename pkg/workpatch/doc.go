// Package workpatch builds the content of the hub's writes: new ManifestWorks, patches of existing ones, and the
// differences between two specs.
//
// All of its functions are pure. It imports packages rollout and revision, and packages with API types and their
// helpers. It must not import a client, a cache, a logger or a clock. The linter enforces this. Package controller
// sends the results.
package workpatch
