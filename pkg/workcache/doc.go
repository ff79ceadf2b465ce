// Package workcache is the informer cache of ManifestWorks: the transform that trims a work to what is read of it, the digest that takes
// the place of its spec, the index by owner, and the events that lead to a pass.
//
// It imports client-go's cache and the pure packages. It must not import a client, nor package controller: it reads and writes no object.
package workcache
