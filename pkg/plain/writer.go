package plain

import (
	"bytes"
	"io"
	"os"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Writer writes texts to a terminal, a pipe or a file, as Text returns them. Several goroutines may use it.
type Writer struct {
	to io.Writer
	mu sync.Mutex
	// inert is true if the output may be the log of a CI system. See Inert.
	inert bool
	// rest is the beginning of a character whose other bytes have not been written yet.
	rest []byte
	// margin is true until a line has a character that is not a space. marks counts the number signs before the next character.
	margin bool
	marks  int
}

// pipelines are the environment variables of the CI systems that obey lines in a log.
var pipelines = []string{"GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"}

// For returns a Writer to an output, or the output itself if it is one.
func For(to io.Writer) *Writer {
	if w, ok := to.(*Writer); ok {
		return w
	}
	w := &Writer{to: to, margin: true}
	for _, name := range pipelines {
		w.inert = w.inert || os.Getenv(name) != ""
	}
	return w
}

// Inert makes the Writer break the commands that a CI system obeys: lines that begin with ::, as in ::error, and ##[, as in ##[error].
func (w *Writer) Inert() *Writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inert = true
	return w
}

// Inert returns a text on one line as an inert Writer writes it, for a format that other programs parse before they
// print the text.
func Inert(text string) string {
	var out bytes.Buffer
	w := For(&out).Inert()
	_, _ = w.Write([]byte(Line(text))) // A buffer takes everything, and a line has no beginning of a character at its end.
	return out.String()
}

// Raw returns the output of a Writer, and any other output unchanged. It is for JSON and YAML, whose readers need the
// original texts, and for the program's own control sequences.
func Raw(to io.Writer) io.Writer {
	if w, ok := to.(*Writer); ok {
		return w.to
	}
	return to
}

// Write implements io.Writer.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := append(w.rest, text...)
	out := make([]byte, 0, len(left)+16)
	for len(left) > 0 && utf8.FullRune(left) {
		r, size := utf8.DecodeRune(left)
		if w.inert && w.commands(r) {
			out = append(out, '\\')
		}
		out = appendRune(out, r, left[:size])
		left = left[size:]
	}
	w.rest = append([]byte(nil), left...)
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close writes the bytes of an incomplete character. It does not close the output.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 {
		return nil
	}
	out := appendText(nil, w.rest)
	w.rest = nil
	_, err := w.to.Write(out)
	return err
}

// commands reports whether a CI system would execute a command that begins at this character.
func (w *Writer) commands(r rune) bool {
	begins := w.margin && r == ':' || w.marks >= 2 && r == '['
	switch {
	case r == '#':
		w.marks++
	case w.marks < 2 || !unicode.IsLetter(r): // Letters as in ##vso[ or ##teamcity[.
		w.marks = 0
	}
	w.margin = r == '\n' || w.margin && unicode.IsSpace(r)
	return begins
}
