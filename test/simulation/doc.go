// Package simulation runs the real controller over an in-memory API server, with played agents, a clock that jumps, caches that
// lag and a process that dies at any write. A whole story takes milliseconds, so that thousands of generated ones can be checked
// for the properties P1 to P7.
//
// In one of three generated stories the works travel over a broker (Network): the hub has the driver of pkg/cloudevents, stepped by hand, and the
// agents keep what they receive in sdk-go's store. Messages are lost, doubled, late and out of order, until the story comes to its end. What the
// network does alone leads to no abort, and to no other end.
package simulation
