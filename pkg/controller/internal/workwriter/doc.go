// Package workwriter writes ManifestWorks, and reads them live. No other package of the controller has a client that may write them. What
// is written comes from package workpatch, and when it is written from package rollout.
package workwriter
