// Package measure reads what a process and an API server tell of themselves: CPU time, memory, allocations, requests.
package measure
