// Package hub assembles the work hub: flags, clients, informers, drivers and controllers. It accepts the flags of
// upstream's `work manager`, with the same meaning, and its own flags.
package hub
