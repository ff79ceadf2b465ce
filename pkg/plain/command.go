package plain

import (
	"strings"
	"unicode"
)

// Command returns a command line for a POSIX shell. A shell passes each argument to the command as it is.
func Command(arguments ...string) string {
	words := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		if argument == "" || strings.ContainsFunc(argument, special) {
			argument = "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
		}
		words = append(words, argument)
	}
	return strings.Join(words, " ")
}

// special reports whether a character may have a special meaning in a shell.
func special(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=,@%+", r)
}
