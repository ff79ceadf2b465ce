// Package worklist reads all ManifestWorks of an owner, and keeps the parts that a view reads.
//
// A list of 10,000 ManifestWorks is about 250 MB of JSON, and most of it is their manifests. So worklist decodes only parts of it:
//
//	How are parts found without decoding the rest?   scan.go
//	What is kept of a ManifestWork?                  work.go
//	How do pages follow each other?                  pages.go
package worklist
