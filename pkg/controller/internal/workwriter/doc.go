// Package workwriter writes ManifestWorks, and reads them live. No other package of the controller has a client that may write them.
// Package workpatch makes the content, and package rollout decides when to write it.
package workwriter
