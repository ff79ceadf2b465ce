// Package preflight finds the issues that an administrator has to settle before a change of the hub. Leaving checks for a change to OCM's
// own hub. It works on objects that List has listed; neither writes anything.
package preflight
