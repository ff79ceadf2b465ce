// Package connectivity knows what the hub can hear, and since when: the API server through the transports of its clients, each collection
// that an informer lists and watches, a broker, and the machine itself, which may have been suspended. While the hub hears nothing, the
// agents' reports do not reach it, and no deadline fires (R11). Difference compares the machine's clock with the API server's.
//
// It may import client-go's transport and configuration. It holds no client, reads and writes no object, and imports no other package of
// this project. Its clock is an argument.
package connectivity
