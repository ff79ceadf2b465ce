// Package connectivity tracks the last gap: a period in which the agents' reports do not reach the hub, and no deadline fires. In a
// gap, the hub can't hear the API server, a collection that an informer lists and watches, or a broker. The transports of the hub's clients
// notice this. A gap also occurs if the process does not run, or its machine is suspended. Difference compares the machine's clock with the
// API server's.
//
// It may import client-go's transport and configuration. It holds no client, does not read or write objects, and imports no other package
// of this project. Its clock is an argument.
package connectivity
