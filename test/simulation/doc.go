// Package simulation runs the real controller on an in-memory API server, with simulated agents, a clock that jumps, caches that lag, and a
// process that can be killed at any write. A whole story takes milliseconds, so thousands of generated stories can be checked for the
// properties P1 to P7.
//
// In one of three generated stories, the works travel over a broker (Network): the hub has the driver of pkg/cloudevents, stepped by hand,
// and the agents keep the works that they receive in sdk-go's store. Messages are lost, duplicated, delayed and reordered until the end of
// the story. Faults of the network alone lead to no abort, and do not change the end of the story.
package simulation
