package status

// maxNote is the maximum length of an event's note in bytes. The API server rejects an event whose note is longer than 1024 bytes.
const maxNote = 1000

// EventNote returns a text that the API server accepts as the note of an event.
func EventNote(text string) string { return bounded(text, maxNote) }
