package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxNamed is the maximum number of problems that are named for one object. The cost of combining errors is
	// quadratic in their number.
	maxNamed = 10
	// maxQuoted is the maximum number of characters quoted from a user's value.
	maxQuoted = 300
	// maxDetail is the maximum length of the detail of one problem in characters, including the quoted value.
	maxDetail = 600
)

// refusals returns errors that name the first problems, and an error with the number of the others.
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

// reminders returns warnings about problems that an update leaves unchanged.
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

// fewWarnings returns the first warnings, and the number of the others.
func fewWarnings(warnings []string) []string {
	if len(warnings) <= maxNamed {
		return warnings
	}
	return append(warnings[:maxNamed:maxNamed], fmt.Sprintf("%d more warnings are not listed here", len(warnings)-maxNamed))
}

// bounded returns an error that quotes only a limited part of the user's value.
func bounded(err *field.Error) *field.Error {
	short := *err
	short.Detail = cut(err.Detail, maxDetail)
	if value := fmt.Sprint(err.BadValue); len(value) > maxQuoted {
		short.BadValue = shorten(value)
	}
	return &short
}

func shorten(text string) string { return cut(text, maxQuoted) }

// cut returns the first characters of a text.
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
