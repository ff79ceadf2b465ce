package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxNamed is how many problems of one object are named. What puts errors together costs the square of their number.
	maxNamed = 10
	// maxQuoted is how many characters are kept of what the user wrote.
	maxQuoted = 300
	// maxDetail is how many characters the detail of one problem may have: what the user wrote, and what is said about it.
	maxDetail = 600
)

// refusals are the errors that name the first problems, and one that counts the others.
func refusals(problems []problem) field.ErrorList {
	var errs field.ErrorList
	for i, p := range problems {
		if i == maxNamed {
			return append(errs, invalid(specPath, fmt.Sprintf("%d more problems are not listed here: fix these first", len(problems)-maxNamed)))
		}
		errs = append(errs, bounded(p.Error))
	}
	return errs
}

// reminders say what was wrong before an update and still is.
func reminders(kept []problem) []string {
	var out []string
	for i, p := range kept {
		if i == maxNamed {
			return append(out, fmt.Sprintf("%d more problems existed before this update", len(kept)-maxNamed))
		}
		out = append(out, "already invalid before this update: "+bounded(p.Error).Error())
	}
	return out
}

// fewWarnings keeps the first warnings, and says how many more there are.
func fewWarnings(warnings []string) []string {
	if len(warnings) <= maxNamed {
		return warnings
	}
	return append(warnings[:maxNamed:maxNamed], fmt.Sprintf("%d more warnings are not listed here", len(warnings)-maxNamed))
}

// bounded is an error that quotes no more than a little of what the user wrote.
func bounded(err *field.Error) *field.Error {
	short := *err
	short.Detail = cut(err.Detail, maxDetail)
	if value := fmt.Sprint(err.BadValue); len(value) > maxQuoted {
		short.BadValue = shorten(value)
	}
	return &short
}

func shorten(text string) string { return cut(text, maxQuoted) }

// cut keeps the first characters of a text.
func cut(text string, length int) string {
	if len(text) <= length {
		return text
	}
	characters := 0
	for i := range text {
		if characters == length {
			return text[:i] + "…"
		}
		characters++
	}
	return text
}
