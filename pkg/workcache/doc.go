// Package workcache is the informer cache of ManifestWorks: the transform that trims a work to the data that is read,
// the digest that replaces its spec, the index by owner, and the events that lead to a pass.
//
// It imports client-go's cache and the pure packages. It must not import a client or package controller, because it
// does not read or write objects.
package workcache
