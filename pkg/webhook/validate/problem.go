package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Verdict is what the webhook answers.
type Verdict struct {
	// Errors refuse the request.
	Errors field.ErrorList
	// Warnings are shown to whoever made a request that is let through.
	Warnings []string
}

// problem is something wrong with an object.
type problem struct {
	*field.Error
	// key tells whether two versions of an object have the same problem. It changes when the value does that is at fault, and
	// not when entries of a list move.
	key string
}

// inField is a problem of a field whose path holds no index.
func inField(err *field.Error) problem { return at(err.Field, err) }

// at is a problem of a place that has a name which stays.
func at(place string, err *field.Error) problem {
	return problem{Error: err, key: fmt.Sprintf("%s\x00%s\x00%v\x00%s", place, err.Type, err.BadValue, err.Detail)}
}

// invalid leaves the value to the words of the detail.
func invalid(path *field.Path, detail string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// ratchet splits the problems that an object has now into those that it did not have before and those that it had.
func ratchet(now, before []problem) (brought field.ErrorList, kept []problem) {
	had := map[string]int{}
	for _, p := range before {
		had[p.key]++
	}
	for _, p := range now {
		if had[p.key] > 0 {
			had[p.key]--
			kept = append(kept, p)
		} else {
			brought = append(brought, p.Error)
		}
	}
	return brought, kept
}

// reminders say what was wrong before an update and still is.
func reminders(kept []problem) []string {
	var out []string
	for _, p := range kept {
		out = append(out, "was so before this update and still is: "+p.Error.Error())
	}
	return out
}

// maxQuoted is how much is kept of an error that quotes what the user wrote.
const maxQuoted = 300

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxQuoted {
		return string(runes[:maxQuoted]) + "…"
	}
	return text
}
