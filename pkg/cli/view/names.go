package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// numbers returns the numbers of the revisions, by hash.
func (o *Objects) numbers() map[string]int64 {
	numbers := map[string]int64{}
	for _, rev := range Revisions(o) {
		numbers[rev.Hash] = rev.Number
	}
	return numbers
}

func numberOf(numbers map[string]int64, hash string) string {
	if number, known := numbers[hash]; known && number != 0 {
		return strconv.FormatInt(number, 10)
	}
	return hash
}

// CurrentNumber returns the number of the current revision.
func CurrentNumber(o *Objects) string {
	return numberOf(o.numbers(), o.ReplicaSet.Status.CurrentRevision)
}

// numbered replaces the names of revisions in a message of the hub by their numbers: "revision web-6dd7d9cc88" becomes "revision 2".
func (o *Objects) numbered(text string) string {
	const word = "revision "
	revisions := Revisions(o)
	slices.SortFunc(revisions, func(a, b Revision) int { return cmp.Compare(len(b.Name), len(a.Name)) })
	var out strings.Builder
	for {
		at := strings.Index(text, word)
		if at < 0 {
			return out.String() + text
		}
		out.WriteString(text[:at+len(word)])
		text = text[at+len(word):]
		for i := range revisions {
			rest, found := strings.CutPrefix(text, revisions[i].Name)
			if found && revisions[i].Number != 0 && ends(rest) {
				out.WriteString(strconv.FormatInt(revisions[i].Number, 10))
				text = rest
				break
			}
		}
	}
}

// ends reports whether a name ends before the rest of a text.
func ends(rest string) bool {
	for _, next := range rest {
		return next != '-' && !unicode.IsLetter(next) && !unicode.IsDigit(next)
	}
	return true
}
