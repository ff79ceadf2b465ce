// Package irreversible finds the effects of a template change that can't be undone: objects whose deletion loses data, schemas that lose
// fields, and changes that the API server of a cluster rejects. It is pure, and does not know which objects the clusters have.
package irreversible
