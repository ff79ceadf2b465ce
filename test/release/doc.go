// Package release tests what a release publishes: it builds a snapshot as `make snapshot` does and reads everything in it, with other code
// than that which wrote it. It needs neither a network nor GitHub.
package release
