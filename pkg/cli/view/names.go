package view

import (
	"cmp"
	"fmt"
	"strings"
)

// number returns the number of a revision, or its hash if the number is unknown.
func (o *Objects) number(hash string) string { return cmp.Or(Prepared(o).known.numbers[hash], hash) }

// CurrentNumber returns the number of the current revision.
func CurrentNumber(o *Objects) string { return o.number(o.ReplicaSet.Status.CurrentRevision) }

// numbered replaces the names of revisions in a message from the hub with their numbers: "revision web-6dd7d9cc88" becomes "revision 2".
func (o *Objects) numbered(text string) string {
	words := strings.Split(text, " ")
	for i := 1; i < len(words); i++ {
		name := strings.TrimRight(words[i], `.,;:)"`)
		for _, r := range Revisions(o) {
			if r.Name == name && strings.HasSuffix(words[i-1], "revision") {
				words[i] = o.number(r.Hash) + words[i][len(name):]
				break
			}
		}
	}
	return strings.Join(words, " ")
}

// FirstOf returns the first of some names, and the number of the others.
func FirstOf(names []string, shown int, separator string) string {
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], separator), len(names)-shown)
	}
	return strings.Join(names, separator)
}
