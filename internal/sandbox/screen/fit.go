package screen

import (
	"strings"
	"unicode/utf8"
)

// fit makes a line fit a terminal's width, because one that wraps by itself can't be redrawn in place. Sentences
// go on in the next line; what is in columns is shortened.
func fit(l line, width int) []line {
	if l.key != "why" && l.key != "message" {
		return []line{{l.key, clip(l.text, width)}}
	}
	indent := l.text[:len(l.text)-len(strings.TrimLeft(l.text, " "))]
	var lines []line
	current := indent
	for _, word := range strings.Fields(l.text) {
		if current != indent && utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line{l.key, clip(current, width)})
			current = indent
		}
		if current != indent {
			current += " "
		}
		current += word
	}
	return append(lines, line{l.key, clip(current, width)})
}

// clip shortens text to a width; colour codes don't count.
func clip(text string, width int) string {
	var b strings.Builder
	for used := 0; text != ""; {
		if strings.HasPrefix(text, "\033[") {
			end := strings.IndexByte(text, 'm') + 1
			b.WriteString(text[:end])
			text = text[end:]
			continue
		}
		_, size := utf8.DecodeRuneInString(text)
		if used < width {
			b.WriteString(text[:size])
		}
		used++
		text = text[size:]
	}
	return b.String()
}
