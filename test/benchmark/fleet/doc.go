// Package fleet simulates many managed clusters on a hub: their namespaces, the Placement that selects them, and their work agents. It
// records when each work was written and reported.
package fleet
