// Package workwriter writes ManifestWorks, and reads them from the API server. No other package of the controller has a
// client that may write ManifestWorks. Package workpatch builds the content, and package rollout decides when to write
// it.
package workwriter
