// Package image tests `make image` as far as that goes without an engine that builds images.
package image
