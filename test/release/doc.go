// Package release tests the files that a release publishes: it builds a snapshot as `make snapshot` does and checks everything in it, with
// independent code. It needs neither a network nor GitHub.
package release
