package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits bound a check.
type Limits struct {
	// ManifestBytes is the maximum total size of the manifests of one object, in bytes.
	ManifestBytes int
	// LongNames is true if names are allowed for which the ManifestWorks do not get the label LabelReplicaSet.
	LongNames bool
}

// Verdict is the answer from the webhook. Both lists are bounded: they name a few problems, and the number of the
// others.
type Verdict struct {
	// Errors refuse the request.
	Errors field.ErrorList
	// Warnings are shown to the user whose request is admitted.
	Warnings []string
}

// problem is something wrong with an object.
type problem struct {
	*field.Error
	// key identifies the problem in two versions of an object. It changes if the bad value changes, but not if entries
	// in a list move. It is computed only if there are two versions.
	key func() string
}

// inField returns a problem of a field whose path does not contain an index.
func inField(err *field.Error) problem { return at(err.Field, err) }

// at returns a problem of a place that is identified by a stable name.
func at(place string, err *field.Error) problem {
	return problem{Error: err, key: func() string { return keyOf(place, err) }}
}

// named returns a problem that is identified by its own name.
func named(name string, err *field.Error) problem {
	return problem{Error: err, key: func() string { return name }}
}

func keyOf(place string, err *field.Error) string {
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s", place, err.Type, err.BadValue, err.Detail)
}

// invalid returns an error without the value. The detail describes the value if necessary.
func invalid(path *field.Path, detail string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// ratchet splits the problems with an object into new problems and problems that it already had.
func ratchet(now, before []problem) (brought, kept []problem) {
	if len(before) == 0 {
		return now, nil
	}
	had := map[string]int{}
	for _, p := range before {
		had[p.key()]++
	}
	for _, p := range now {
		if key := p.key(); had[key] > 0 {
			had[key]--
			kept = append(kept, p)
		} else {
			brought = append(brought, p)
		}
	}
	return brought, kept
}
