// Package fleet plays many managed clusters on a hub: their namespaces, the Placement that selects them, and their work
// agents. It notes when each work was written and answered.
package fleet
