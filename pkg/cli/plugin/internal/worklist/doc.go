// Package worklist reads the ManifestWorks of an owner, and keeps the parts that a view reads. A list of 10,000 ManifestWorks is about
// 250 MB of JSON, and most of it is their manifests. So no more than a few of them are in memory at a time.
//
//	How do the requests for a list follow each other?   pages.go
//	How are works decoded while a list arrives?         list.go
//	What is kept of a ManifestWork?                     work.go
//	How are a few works of a large fleet read?          few.go
package worklist
