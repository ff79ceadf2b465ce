package report

import (
	"slices"
	"strings"
)

// requests returns the number of a controller's requests with some verbs to a resource, such as "manifestworks" or "manifestworks/status".
func (f *Figures) requests(resource string, verbs ...string) int {
	n := 0
	for what, count := range f.Requests {
		verb, of, _ := strings.Cut(what, " ")
		if of == resource && slices.Contains(verbs, verb) {
			n += count
		}
	}
	return n
}

// workWrites returns the number of requests that write works.
func (f *Figures) workWrites() int {
	return f.requests("manifestworks", "POST", "PUT", "PATCH", "DELETE")
}

// statusWrites returns the number of requests that write the status of ManifestWorkReplicaSets.
func (f *Figures) statusWrites() int {
	return f.requests("manifestworkreplicasets/status", "PUT", "PATCH")
}

// otherRequests returns the number of all other requests.
func (f *Figures) otherRequests() int {
	n := 0
	for _, count := range f.Requests {
		n += count
	}
	return n - f.workWrites() - f.statusWrites()
}
