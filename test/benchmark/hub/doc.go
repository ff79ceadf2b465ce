// Package hub starts the measured components: a hub's API server, and a work manager as a separate process.
package hub
