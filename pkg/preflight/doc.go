// Package preflight finds the issues that an administrator must resolve before a change of the hub. Leaving checks for
// a change to OCM's own hub. It works on the objects that List returns. Neither writes anything.
package preflight
