// Package simulation runs the real controller over an in-memory API server, with played agents, a clock that jumps, caches that
// lag and a process that dies at any write. A whole story takes milliseconds, so that thousands of generated ones can be checked
// for the properties P1 to P7.
package simulation
