// Package measure reads the measurements of a process and of an API server: CPU time, memory, allocations, requests.
package measure
