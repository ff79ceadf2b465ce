// Package connectivity knows when the hub last heard nothing: of the API server, by the transports of its clients, of a collection that an
// informer lists and watches, or of a broker; or because the process did not run, or its machine was suspended. In such a gap the agents'
// reports do not reach the hub, and no deadline fires (R11). Difference compares the machine's clock with the API server's.
//
// It may import client-go's transport and configuration. It holds no client, reads and writes no object, and imports no other package of
// this project. Its clock is an argument.
package connectivity
