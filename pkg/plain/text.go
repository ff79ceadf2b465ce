package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hostile reports whether a terminal interprets a character or does not show it: control characters, characters that
// change the direction of text, and characters without a width. A line break and a tab are not hostile: Line replaces
// them.
func hostile(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t':
		return false
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Text returns a text without hostile characters. Each is replaced with an escape, as in a Go string, so that different
// texts look different.
func Text(text string) string {
	if !strings.ContainsFunc(text, hostile) && utf8.ValidString(text) {
		return text
	}
	return string(appendText(make([]byte, 0, len(text)+16), []byte(text)))
}

// appendText appends the text as Text returns it.
func appendText(out, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		out = appendRune(out, r, text[:size])
		text = text[size:]
	}
	return out
}

// appendRune appends one character of a text. raw has its bytes.
func appendRune(out []byte, r rune, raw []byte) []byte {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		const digits = "0123456789abcdef"
		return append(out, '\\', 'x', digits[raw[0]>>4], digits[raw[0]&0xf])
	case hostile(r):
		quoted := strconv.AppendQuoteRuneToASCII(nil, r)
		return append(out, quoted[1:len(quoted)-1]...)
	}
	return append(out, raw...)
}

// Line returns a text on one line, without hostile characters, and with one space between words.
func Line(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

// JSON returns a JSON text whose strings do not have hostile characters after decoding.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == '\\' {
			r, size = escaped(text)
		}
		if hostile(r) {
			out = append(out, '\\') // The escape of the backslash that begins the visible one.
			out = appendRune(out, r, nil)
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// escaped returns the character that an escape in JSON stands for, and the length of the escape.
func escaped(text []byte) (rune, int) {
	short := map[byte]rune{'b': '\b', 'f': '\f', 'r': '\r'}
	switch {
	case len(text) < 2:
		return ' ', len(text)
	case text[1] == 'u' && len(text) >= 6:
		if code, err := strconv.ParseUint(string(text[2:6]), 16, 16); err == nil {
			return rune(code), 6
		}
	case short[text[1]] != 0:
		return short[text[1]], 2
	}
	return ' ', 2
}
