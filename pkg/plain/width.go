package plain

import (
	"iter"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Characters returns the characters of a text as a reader sees them, each with the number of cells that a terminal needs for it. An accent
// belongs to its letter, and the two code points of a flag are one character.
func Characters(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for len(text) > 0 {
			character, width := text[:1], 1
			if text[0] < ' ' || text[0] > '~' || len(text) > 1 && text[1] >= utf8.RuneSelf { // Others need no table.
				character, _, width, _ = uniseg.FirstGraphemeClusterInString(text, -1)
			}
			if !yield(character, width) {
				return
			}
			text = text[len(character):]
		}
	}
}

// Width returns the number of cells that a terminal needs for a text.
func Width(text string) int {
	cells := 0
	for _, width := range Characters(text) {
		cells += width
	}
	return cells
}
