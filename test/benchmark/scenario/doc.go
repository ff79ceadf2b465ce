// Package scenario plays scenarios on a hub, once with each controller, and measures them.
package scenario
