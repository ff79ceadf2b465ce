// Package scenario plays what happens to a hub, once with each controller, and measures it.
package scenario
