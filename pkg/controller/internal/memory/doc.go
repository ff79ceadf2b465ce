// Package memory is what a process keeps from one pass to the next, and what its successor never needs: what it saw and said, its own
// writes until the caches show them, what is costly to find again, and when a pass may be made again. A process that loses all of it waits
// a little longer, asks again what it was refused, and repeats a few notes (R8, R10).
//
// It imports the pure packages, package workcache and client-go's cache. It must not import a client: it reads and writes no object, and
// the time is an argument.
package memory
