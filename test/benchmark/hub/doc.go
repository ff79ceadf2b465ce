// Package hub starts what is measured: a hub's API server, and a work manager as a process of its own.
package hub
