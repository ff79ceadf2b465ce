// Package irreversible finds what can't be taken back when a template changes: objects whose deletion loses data, schemas that lose fields,
// and changes that the API server of a cluster rejects. It is pure, and knows nothing of the objects that the clusters have.
package irreversible
