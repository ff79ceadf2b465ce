package validate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits bound a check.
type Limits struct {
	// ManifestBytes is how many bytes the manifests of one object may have in all.
	ManifestBytes int
	// LongNames allows names with which the ManifestWorks have no label LabelReplicaSet.
	LongNames bool
}

// Verdict is the answer of the webhook. Both lists are bounded: they name a few problems, and the number of the others.
type Verdict struct {
	// Errors refuse the request.
	Errors field.ErrorList
	// Warnings are shown to the user whose request is admitted.
	Warnings []string
}

// problem is something wrong with an object.
type problem struct {
	*field.Error
	// key reports whether two versions of an object have the same problem. It changes when the value does that is at fault, and not when
	// entries of a list move. It is found only if there are two versions.
	key func() string
}

// inField is a problem of a field whose path holds no index.
func inField(err *field.Error) problem { return at(err.Field, err) }

// at is a problem of a place that has a name which stays.
func at(place string, err *field.Error) problem {
	return problem{Error: err, key: func() string { return keyOf(place, err) }}
}

// named is a problem that has a name by itself.
func named(name string, err *field.Error) problem {
	return problem{Error: err, key: func() string { return name }}
}

func keyOf(place string, err *field.Error) string {
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s", place, err.Type, err.BadValue, err.Detail)
}

// invalid leaves the value to the words of the detail.
func invalid(path *field.Path, detail string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// ratchet splits the problems that an object has now into those that it did not have before and those that it had.
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
