package status

import "strings"

// maxNote is the maximum length of an event's note in bytes, without the mark of a cut. The API server accepts 1024, and rejects an event
// with a longer note.
const maxNote = 1000

// EventNote returns a text that the API server accepts as the note of an event.
func EventNote(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + " …"
}
